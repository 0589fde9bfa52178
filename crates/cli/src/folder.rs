//! `serow files`: serves a folder until it is told to stop.

use std::path::Path;

use serow_files::{Files, FilesSettings, Listing};
use serow_net::process::forbid_tracing;

use crate::{
    error_log,
    failure::Failure,
    readable::ServedFolder,
    serving::{Served, Serving},
    settings::FolderSettings,
};

/// Serves a folder until TERM or INT.
pub(crate) fn serve(settings: FolderSettings) -> Result<(), Failure> {
    let FolderSettings { folder, files, server } = settings;
    error_log::begin(server.level);
    forbid_tracing().map_err(Failure::System)?;
    let handler = Files::with_settings(&folder, files.clone())?;
    require_pages(&folder, &files)?;
    let served = ServedFolder { path: folder.clone(), is_listed: files.listing != Listing::Off };
    if let Some(unreadable) = served.unreadable() {
        tracing::warn!("{unreadable}");
    }
    let shown = folder.canonicalize().unwrap_or(folder);
    let name = shown.display().to_string();
    Serving::bind(server)?.serve(handler, Served { name: &name, ..Served::default() })
}

/// A page for what is missing has to be there: without it, each client that misses something gets a plain 404.
fn require_pages(folder: &Path, files: &FilesSettings) -> Result<(), Failure> {
    for (option, page) in [("--spa", &files.fallback), ("--not-found", &files.not_found)] {
        let Some(page) = page else { continue };
        if !folder.join(page.trim_start_matches('/')).is_file() {
            let folder = folder.display();
            let line = format!("{option} {page:?}: there is no such file in {folder}: create it, or name another one");
            return Err(Failure::NotStarted(line));
        }
    }
    Ok(())
}
