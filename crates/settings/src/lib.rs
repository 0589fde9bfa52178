//! The settings of [Serow](serow) that the command line and the settings file share: groups of options, and what they
//! mean for the parts of the server.
//!
//! | step | file |
//! | --- | --- |
//! | a group of options, read by clap from a command line and by serde from a table of the settings file | `options.rs`, `options/` |
//! | the values in them | the crate [`values`] |
//! | what they mean: the settings of the parts, checked | `server.rs` for the root, `listeners.rs`, `tls.rs`, `acme.rs`; `folder.rs`, `upstream.rs`, `proxy.rs`, `bridged.rs` and `program.rs` for handlers |
//! | the keys of a group as a JSON schema | `shape.rs` |
//!
//! A setting has one name, one default, one explanation and one set of values, which stand in `options/`.
#![forbid(unsafe_code)]

mod acme;
pub mod admin_token;
mod application;
mod bridged;
mod check;
pub mod descriptor_shares;
mod folder;
mod listeners;
pub mod options;
mod php;
mod process;
mod program;
mod proxy;
mod running;
mod script_fetch;
mod server;
mod setting_error;
mod shape;
mod tls;
mod upstream;

/// The values of options and settings.
pub use serow_values as values;

pub use self::{
    acme::{AcmePlan, Reachable},
    application::Application,
    bridged::{application, is_module},
    folder::folder_settings,
    listeners::{ListenerSettings, Purpose, overlap},
    php::{PhpPlace, php_fpm},
    process::ApplicationHost,
    program::program,
    proxy::{forwarding_settings, reads_attempts},
    script_fetch::ScriptServers,
    server::{ServerSettings, shares},
    setting_error::{SettingError, in_options},
    shape::Shape,
    tls::{DevelopmentCertificate, Encryption, renewed_files, unusable_files},
    upstream::upstream_settings,
};
