//! The settings of Serow as a language: texts become typed and checked tables, and errors have a line, a column and
//! a suggestion. Nothing here runs a server or opens a socket.
//!
//! | step | file |
//! | --- | --- |
//! | the text, those of included files, and a tree that knows the place of each part in the text | the crate [`serow_document`], `format.rs`, `reading.rs` |
//! | the tree as types, by serde: tables and their keys | `tables.rs`, `tables/` |
//! | groups of keys that are options of the command line, too: read by clap and by serde | the crate [`serow_options`] |
//! | the values of keys: addresses, sizes, times, names and rules | [`values`] |
//! | paths are relative to the folder of the file | `paths.rs` |
//! | settings that mean nothing, alone or together | `checks.rs`, `checks/`, `setting_error.rs` |
//! | sites and routes as the router needs them | `routing.rs`, `routing/` |
//! | the texts of sites, and the settings with some of the sites only | `site_texts.rs` |
//! | listeners of the root, and addresses of single sites | `listeners.rs`, `site_addresses.rs` |
//! | the schema for editors, and the reference | [`Shape`], `schema.rs`, `schema/reference.rs` |
//! | the file without comments and defaults | `explanation.rs` |
//! | the admin endpoint of a file that may have errors | `admin_settings.rs` |
//!
//! A key that is also an option is read into the same type, so its name, its values, its default and its explanation
//! stand once, in [`options`]. The crate `serow-assembly` makes the running parts from the tables.
#![forbid(unsafe_code)]
#![allow(rustdoc::bare_urls, reason = "explanations of keys are texts of the reference, with URLs as users write them")]

mod admin_settings;
pub mod checks;
mod explanation;
mod foreign;
mod format;
pub mod listeners;
pub mod paths;
mod reading;
pub mod routing;
mod schema;
mod setting_error;
pub mod site_addresses;
pub mod site_texts;
pub mod tables;

/// Errors of a settings file as they are shown, its source, and texts that are printed on one line.
pub use serow_document::{
    ConfigurationError,
    added_file_name::{AddedFileName, AddedFileNameError, CONTAINER_PREFIX},
    bundle::AddedFiles,
    file::{DEFAULT_FILE, Source, bytes},
    printable,
};
/// The keys of tables as a JSON schema, and the values of options and settings.
pub use serow_document::{Shape, markdown, values};
/// Groups of keys that are options of the command line, too.
pub use serow_options as options;
/// Which variables a text may name.
pub use serow_variables::Scope;

pub use self::{
    admin_settings::AdminSettings,
    explanation::of as explanation,
    reading::{bundle, container_files, gather, gather_bundle, root_table, with_tables},
    schema::{LabelKeys, label_keys, reference::text as reference, schema},
    setting_error::{SettingError, in_options},
    tables::root::SandboxChoice,
};

use std::path::Path;

use serow_document::{Disk, file};

/// Rewrites a settings file without comments and defaults, each value in its shortest form, with the tables of the files
/// that it includes.
///
/// # Errors
///
/// The file cannot be read, or has errors.
pub fn explain(path: &Path) -> Result<String, ConfigurationError> {
    let text = file::read(path).map_err(ConfigurationError::Unreadable)?;
    let sources = gather(path, text, &mut Disk)?;
    let table = root_table(&sources).map_err(|faults| ConfigurationError::of_faults(&sources, &faults))?;
    Ok(explanation::of(&table))
}

/// The admin endpoint of a settings file. Other errors in the file do not matter.
///
/// # Errors
///
/// The file cannot be read.
pub fn admin_settings(path: &Path) -> Result<AdminSettings, ConfigurationError> {
    let text = file::read(path).map_err(ConfigurationError::Unreadable)?;
    Ok(admin_settings::of(&text, path.parent().unwrap_or(Path::new(""))))
}
