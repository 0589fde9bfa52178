//! `serow files`: serves a folder until it is told to stop.

use std::path::Path;

use serow_files::{Files, FilesSettings};
use serow_net::process::forbid_tracing;

use crate::{
    error_log,
    failure::Failure,
    serving::{Served, Serving},
    settings::FolderSettings,
};

/// Serves a folder until TERM or INT.
pub(crate) fn serve(settings: FolderSettings) -> Result<(), Failure> {
    let FolderSettings { folder, files, server } = settings;
    error_log::begin(server.level);
    forbid_tracing().map_err(Failure::System)?;
    let handler = Files::with_settings(&folder, files.clone())?;
    warn_of_missing_pages(&folder, &files);
    let shown = folder.canonicalize().unwrap_or(folder);
    let name = shown.display().to_string();
    Serving::bind(server)?.serve(handler, Served { name: &name, ..Served::default() })
}

/// A page that is not there yet may come later, so this is no reason not to begin.
fn warn_of_missing_pages(folder: &Path, files: &FilesSettings) {
    for (option, page) in [("--spa", &files.fallback), ("--not-found", &files.not_found)] {
        let Some(page) = page else { continue };
        if !folder.join(page.trim_start_matches('/')).is_file() {
            tracing::warn!("{option} {page}: there is no such file in {}", folder.display());
        }
    }
}
