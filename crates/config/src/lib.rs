//! The settings file of [Serow](serow): reading and checking it, its diagnostics, JSON schema and reference.
//!
//! | step | file |
//! | --- | --- |
//! | the text, those of included files, and a tree that knows the place of each part in the text | the crate [`serow_document`], `format.rs` |
//! | the tree as types, by serde: tables and their keys, many of which are options, too | `tables.rs`, `tables/`; the crate [`serow_settings`] |
//! | what the types mean together | `meaning.rs`, `meaning/` |
//! | the schema for editors, and the reference | `schema.rs`, `schema/` |
//! | the file without comments and defaults | `explanation.rs` |
//! | the admin endpoint of a file that may have errors | `admin_settings.rs` |
//!
//! A key that is also an option is read into the same type, so its name, its values, its default and its explanation
//! stand once, in [`serow_settings::options`].
#![forbid(unsafe_code)]
#![allow(rustdoc::bare_urls, reason = "explanations of keys are texts of the reference, with URLs as users write them")]

mod admin_settings;
mod explanation;
mod foreign;
mod format;
pub mod markdown;
mod meaning;
#[cfg(test)]
mod mutations;
mod schema;
mod served_folder;
mod tables;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::Value;
use serow_access_log::LogRules;
use serow_document::{Disk, Document, Fault, Files, Place, Problems, Sources, bundle, file, include};
use serow_proxy::Upstream;
use serow_settings::{Application, ApplicationHost, ServerSettings};
use serow_site::{CacheStore, Mirror, Site};

/// Errors of a settings file as they are shown, its source, and texts that are printed on one line.
pub use serow_document::{
    ConfigurationError,
    file::{DEFAULT_FILE, Source, bytes},
    printable,
};
/// The values of options and settings.
pub use serow_settings::values;
/// Which variables a text may name.
pub use serow_variables::Scope;

pub use self::{
    admin_settings::AdminSettings,
    meaning::{access::AccessControl, account::Account, route_numbers::CountedRoute},
    served_folder::{ServedFolder, UnreadableFolder, open_to_changes},
    tables::root::SandboxChoice,
};
use self::{
    format::FORMAT,
    tables::{TableReading, root::RootTable},
};

/// A settings file, read and checked.
pub struct Configuration {
    /// The settings of the server as a whole.
    pub server: ServerSettings,
    /// The access logs.
    pub logs: LogRules,
    /// The handler: sites and routes. The TLS settings around it are in [`ServerSettings::encryption`].
    pub site: Site,
    /// The routes whose requests are counted, by their numbers, if any are.
    pub counted_routes: Option<Vec<CountedRoute>>,
    /// Its upstreams.
    pub upstreams: Vec<Upstream>,
    /// Its applications.
    pub applications: Vec<Application>,
    /// Whether requests run CGI programs.
    pub has_cgi: bool,
    /// The mirrors, which copy requests.
    pub mirrors: Vec<Mirror>,
    /// Where responses are stored, if any are.
    pub cache: Option<CacheStore>,
    /// How many sites there are.
    pub sites: usize,
    /// How many routes the sites have together.
    pub routes: usize,
    /// The user that the server becomes once the sockets are open and the files are read; `None` keeps the user that
    /// started it.
    pub account: Option<Account>,
    /// The served folders.
    pub folders: Vec<ServedFolder>,
    /// The parts of access control that the server needs while it runs.
    pub access: AccessControl,
    /// The files of certificates and of access control, which are read again when they change.
    pub renewed_files: Vec<PathBuf>,
    /// Whether the server is restricted to the files that it needs.
    pub sandbox: SandboxChoice,
    /// How long requests in flight may take in a generation that a reload replaced.
    pub reload_grace: Duration,
    /// Settings that are valid and probably not meant, with their places: a line for each.
    pub notes: Vec<String>,
}

/// Reads and checks a settings file. Folders and certificates are opened.
///
/// # Errors
///
/// The file cannot be read, or it has errors; all of them are reported.
pub fn read(path: &Path, host: &ApplicationHost) -> Result<Configuration, ConfigurationError> {
    of_text(path, file::read(path).map_err(ConfigurationError::Unreadable)?, &mut Disk, host)
}

/// As [`read`], for the bytes of a file that was at this path, or what [`bundle()`] made of it.
///
/// # Errors
///
/// As for [`read`].
pub fn of_bytes(path: &Path, bytes: Vec<u8>, host: &ApplicationHost) -> Result<Configuration, ConfigurationError> {
    match bundle::read(path, bytes).map_err(ConfigurationError::Unreadable)? {
        (text, Some(mut bundle)) => of_text(path, text, &mut bundle, host),
        (text, None) => of_text(path, text, &mut Disk, host),
    }
}

/// The bytes of a settings file with those of the files that it includes, for [`of_bytes`] in another process.
#[must_use]
pub fn bundle(path: &Path, bytes: Vec<u8>) -> Vec<u8> {
    bundle::write(path, bytes)
}

fn of_text(
    path: &Path,
    text: String,
    files: &mut impl Files,
    host: &ApplicationHost,
) -> Result<Configuration, ConfigurationError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let sources = sources(path, text, files)?;
    understand(&sources, folder, host).map_err(|faults| ConfigurationError::of_faults(&sources, &faults))
}

/// The texts of a settings file and those that it includes.
fn sources(path: &Path, text: String, files: &mut impl Files) -> Result<Sources, ConfigurationError> {
    let (sources, faults) = include::gather(path, text, files);
    if faults.is_empty() { Ok(sources) } else { Err(ConfigurationError::of_faults(&sources, &faults)) }
}

/// Rewrites a settings file without comments and defaults, each value in its shortest form, with the tables of the files
/// that it includes.
///
/// # Errors
///
/// As for [`read`].
pub fn explain(path: &Path) -> Result<String, ConfigurationError> {
    let text = file::read(path).map_err(ConfigurationError::Unreadable)?;
    let sources = sources(path, text, &mut Disk)?;
    let table = root_table(&sources).map_err(|faults| ConfigurationError::of_faults(&sources, &faults))?;
    Ok(explanation::of(&table))
}

/// The admin endpoint of a settings file. Other errors in the file do not matter.
pub fn admin_settings(path: &Path) -> Result<AdminSettings, ConfigurationError> {
    let text = file::read(path).map_err(ConfigurationError::Unreadable)?;
    Ok(admin_settings::of(&text, path.parent().unwrap_or(Path::new(""))))
}

/// The reference of settings files, in Markdown.
pub fn reference() -> String {
    schema::reference::text()
}

/// The JSON schema of settings files.
pub fn schema() -> Value {
    schema::schema()
}

/// Finds out what a text means.
fn understand(sources: &Sources, folder: &Path, host: &ApplicationHost) -> Result<Configuration, Vec<Fault>> {
    with_document(sources, |document, problems| {
        let table = read_root(document, problems)?;
        // A table that is read only in part would seem to mean less than it does.
        if !problems.is_empty() {
            return None;
        }
        let notes = Problems::default();
        let configuration = meaning::of(table, folder, host, problems, &notes)?;
        let notes = notes.faults(document).iter().map(|fault| sources.line(fault)).collect();
        Some(Configuration { notes, ..configuration })
    })
}

/// Reads what a text says.
fn root_table(sources: &Sources) -> Result<RootTable, Vec<Fault>> {
    with_document(sources, read_root)
}

/// Takes a text apart and does something with it, unless there are problems.
fn with_document<T>(
    sources: &Sources,
    act: impl FnOnce(&Document<'_>, &Problems) -> Option<T>,
) -> Result<T, Vec<Fault>> {
    let document = Document::of(sources, &FORMAT).map_err(|faults| foreign::explained(sources, faults))?;
    let problems = Problems::default();
    match act(&document, &problems) {
        Some(result) if problems.is_empty() => Ok(result),
        _ => Err(problems.faults(&document)),
    }
}

/// Reads the root and all below it.
fn read_root(document: &Document<'_>, problems: &Problems) -> Option<RootTable> {
    TableReading::new(document.root(), Place::default(), problems).read()
}
