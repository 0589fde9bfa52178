//! `serow files`: serves a folder until it is told to stop.

use std::path::Path;

use serow_files::{Files, FilesSettings};

use crate::{
    access_log::AccessLogWriter,
    admin::{Door, Subject},
    announcement::{self, announce},
    encryption, error_log,
    failure::Failure,
    settings::{FolderSettings, ServerSettings},
};

/// Serves a folder until TERM or INT.
pub(crate) fn serve(settings: FolderSettings) -> Result<(), Failure> {
    let FolderSettings { folder, files, server } = settings;
    let ServerSettings { listeners, server, encryption, admin, access_log, level, .. } = server;
    let mut server = listeners.iter().fold(server, |server, listener| listener.add_to(server));
    error_log::begin(level);
    let handler = Files::with_settings(&folder, files.clone())?;
    let writer = AccessLogWriter::start(access_log)?;
    if let Some(log) = writer.log() {
        server = server.access_log(move || log.for_worker());
    }
    let server = server.bind()?;
    let subject = || Subject::Server { status: server.status(), log: writer.counter(), stopper: server.stopper() };
    let door = admin.map(|address| Door::open(&address, subject())).transpose()?;
    warn_of_missing_pages(&folder, &files);
    let shown = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    announce(&announcement::line(&shown.display().to_string(), &server, encryption.as_ref()));
    serow_supervisor::tell_parent("READY=1");
    let outcome = encryption::run(encryption, server, handler);
    // What a server that stops still does can be asked until it is done.
    drop(door);
    writer.finish();
    outcome.map_err(Failure::from)
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
