//! A folder of PHP scripts as a handler: scripts run in php-fpm, all other files are sent.
//!
//! The server alone decides which script a request runs. php-fpm gets the path of a file that exists, ends in `.php`, lies
//! beneath the root and may be run; source code is never sent as a file.
//!
//! # Life of a request
//!
//! | step | file |
//! | --- | --- |
//! | a known application is recognised by its files | `php/preset.rs` |
//! | the path is decoded name by name, and refused where no honest client sends it | crate `serow-gateway` |
//! | the first name that is a script ends SCRIPT_NAME; PATH_INFO is the rest | `php/script_search.rs` |
//! | one that was found a moment ago is known | `php/known_scripts.rs` |
//! | without a script: a file of the folder, the index of a folder, or the front controller | `php/folder.rs` |
//! | the script is put into the request, which the proxy passes on by FastCGI | `php/folder.rs`, crate `serow-proxy` |

mod folder;
mod known_scripts;
mod preset;
mod script_search;
mod settings;

pub use self::{
    folder::{Destination, PhpFolder},
    preset::Preset,
    settings::{CaselessPatterns, FrontController, PhpSettings},
};
