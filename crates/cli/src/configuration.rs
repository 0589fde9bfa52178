//! The settings file of `serow run`.
//!
//! | step | file |
//! | --- | --- |
//! | the text | `file.rs` |
//! | a tree, which knows where in the text each part stands | `document.rs`, `place.rs` |
//! | the tree as types, by serde: those of the options, and a few more | `values.rs`, `tables.rs`; `root.rs`, `sites.rs`, `handlers.rs` |
//! | what the types mean together | `meaning.rs`, `paths.rs`, `account.rs`, `routing.rs`, `../settings.rs` |
//! | what is wrong is noted with its place, and all shown at the end | `problem.rs`, `names.rs`, `kinds.rs`, `excerpt.rs`, `error.rs` |
//!
//! Each key that is an option of `serow files` too is read into the same type, so its name, its values, its default and
//! its explanation stand once, in `arguments/`.

mod account;
mod document;
mod error;
mod excerpt;
mod file;
mod handlers;
mod kinds;
mod meaning;
mod names;
mod paths;
mod place;
mod problem;
mod root;
mod route_handler;
mod routing;
mod sites;
mod status;
mod tables;
mod values;

use std::{path::Path, time::Duration};

use serow_router::Router;

pub(crate) use self::{account::Account, error::ConfigurationError, route_handler::RouteHandler};
use self::{
    document::Document,
    place::Place,
    problem::{Fault, Problems},
    root::RootTable,
    tables::TableReading,
};
use crate::settings::ServerSettings;

/// What a settings file says.
pub(crate) struct Configuration {
    /// How the server serves.
    pub(crate) server: ServerSettings,
    /// What it serves. [`Encryption::around`](crate::encryption::Encryption::around) puts around it what TLS needs.
    pub(crate) router: Router<RouteHandler>,
    /// How many sites the router has.
    pub(crate) sites: usize,
    /// How many routes the sites have together.
    pub(crate) routes: usize,
    /// As whom, once the sockets are open and the files are read; as who started it, if nothing is said.
    pub(crate) account: Option<Account>,
    /// How long what runs may take in a generation that was replaced.
    pub(crate) reload_grace: Duration,
}

/// Reads a settings file and finds out what it means. Folders and certificates are opened.
pub(crate) fn read(path: &Path) -> Result<Configuration, ConfigurationError> {
    of_text(path, file::read(path).map_err(ConfigurationError::Unreadable)?)
}

/// Finds out what the bytes of a settings file mean, which was at this path when it was read.
pub(crate) fn of_bytes(path: &Path, bytes: Vec<u8>) -> Result<Configuration, ConfigurationError> {
    of_text(path, file::text_of(path, bytes).map_err(ConfigurationError::Unreadable)?)
}

fn of_text(path: &Path, text: String) -> Result<Configuration, ConfigurationError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let name = path.display().to_string();
    understand(&text, folder).map_err(|faults| ConfigurationError::of_faults(&name, &text, &faults))
}

/// Finds out what a text means.
fn understand(text: &str, folder: &Path) -> Result<Configuration, Vec<Fault>> {
    let document = Document::parse(text).map_err(|errors| errors.into_iter().map(Fault::from).collect::<Vec<_>>())?;
    let problems = Problems::default();
    let written: Option<RootTable> = TableReading::new(document.root(), Place::default(), &problems).read();
    let meant = written.filter(|_| problems.is_empty()).and_then(|written| meaning::of(written, folder, &problems));
    match meant {
        Some(configuration) if problems.is_empty() => Ok(configuration),
        _ => Err(problems.faults(&document)),
    }
}

/// The file that is read where none is named.
pub(crate) const DEFAULT_FILE: &str = "serow.toml";
