//! `serow files`: serves a folder until it is told to stop.

use std::{
    io::{self, Write},
    path::Path,
};

use serow::{Address, BoundServer};
use serow_files::{Files, FilesSettings};

use crate::{
    access_log::AccessLogWriter,
    error_log,
    failure::{Failure, on_one_line},
    settings::FolderSettings,
};

/// Serves a folder until TERM or INT.
pub(crate) fn serve(settings: FolderSettings) -> Result<(), Failure> {
    let FolderSettings { folder, files, mut server, access_log, level } = settings;
    error_log::begin(level);
    let handler = Files::with_settings(&folder, files.clone())?;
    let writer = AccessLogWriter::start(access_log)?;
    if let Some(log) = writer.log() {
        server = server.access_log(move || log.for_worker());
    }
    let server = server.bind()?;
    warn_of_missing_pages(&folder, &files);
    announce(&folder, &server);
    let outcome = server.run(handler);
    writer.finish();
    outcome.map_err(Failure::from)
}

/// One line with the folder and where it can be seen. On standard error: standard output is for the access log.
fn announce(folder: &Path, server: &BoundServer) {
    let shown = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let urls: Vec<_> = server.addresses().map(Address::url).collect();
    let line = format!("Serving {} at {}", shown.display(), urls.join(" and "));
    // It serves as well where nobody reads this.
    let _ = writeln!(io::stderr(), "{}", on_one_line(&line));
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
