//! `serow files`: serves a folder until it is stopped.

use std::{
    error::Error,
    fmt,
    path::{Path, PathBuf},
};

use serow_assembly::{
    ServedFolder, ServerSettings, folder_error, folder_settings, open_to_changes, shares, write_settings,
};
use serow_config::{options::WriteChoice, values::SizeLimit};
use serow_files::{Files, FilesError, FilesSettings, Listing};
use serow_net::process::forbid_tracing;
use serow_project::{FoundApplication, FoundSources};
use serow_proxy::TrustedProxies;
use serow_site::{Content, Sites};
use serow_webdav::{Dav, DavSite, WriteSettings};

use crate::{
    announcement::announce,
    arguments::FilesArguments,
    command_error::CommandError,
    descriptors, environment_port, error_log,
    script_option::OpenedScript,
    serving::{Served, Serving},
    usage,
};

/// The settings of `serow files`.
pub(crate) struct FolderSettings {
    /// The folder; the current one if none is named.
    pub(crate) folder: Option<PathBuf>,
    /// The settings for serving its files.
    pub(crate) files: FilesSettings,
    /// The settings for changes by clients, if clients may change files.
    pub(crate) write: Option<WriteSettings>,
    /// The proxies that may name the client and the host.
    pub(crate) trusted: TrustedProxies,
    /// The script that all requests pass first, if there is one.
    pub(crate) script: OpenedScript,
    /// The settings of the server as a whole.
    pub(crate) server: ServerSettings,
}

impl FolderSettings {
    /// Finds out what the options mean together.
    pub(crate) fn new(arguments: FilesArguments) -> Result<Self, CommandError> {
        let FilesArguments { dir, mut folder, script, mut general, upload, terminal } = arguments;
        environment_port::listen_there(&mut general)?;
        let shares = shares(&general.listening, folder.caching.cache_files.in_memory());
        if upload {
            folder.content.write = WriteChoice::Form;
        }
        let trusted: TrustedProxies = general.listening.trust.iter().map(|network| network.0).collect();
        let script = script.open(trusted.clone())?;
        let write = write_settings(&folder.content);
        if write.is_some() {
            // As in a settings file: files may be of any size, however they come.
            general.limits.max_body.get_or_insert(SizeLimit(u64::MAX));
        }
        let mut server = ServerSettings::new(general, shares)?;
        terminal.apply(&mut server);
        let files = folder_settings(folder, shares.cached_files)?;
        Ok(Self { folder: dir, files, write, trusted, script, server })
    }
}

/// Serves a folder until TERM or INT.
pub(crate) fn serve(settings: FolderSettings) -> Result<(), CommandError> {
    let FolderSettings { folder, files, write, trusted, script, server } = settings;
    error_log::begin(server.level);
    forbid_tracing().map_err(CommandError::system)?;
    descriptors::require(server.needed_descriptors())?;
    name_application(folder.as_deref(), &files)?;
    let folder = folder.unwrap_or_else(|| PathBuf::from("."));
    let handler = Files::with_settings(&folder, files.clone()).map_err(FolderError)?;
    require_pages(&folder, &files)?;
    let served = ServedFolder {
        path: folder.clone(),
        is_listed: files.listing != Listing::Off,
        is_written: write.is_some(),
        links_leave: false,
    };
    if let Some(unreadable) = served.unreadable() {
        tracing::warn!("{unreadable}");
    }
    if let Some(warning) = open_to_changes(&[served], &server.listeners) {
        tracing::warn!("{warning}");
    }
    let content = match write {
        Some(write) => {
            let site = DavSite { trusted, ..DavSite::default() };
            Content::Dav(Box::new(Dav::in_site(handler, write, b"", site)))
        }
        None => Content::Files(handler),
    };
    let shown = folder.canonicalize().unwrap_or(folder);
    let name = shown.display().to_string();
    Serving::bind(server)?
        .serve(script.around(Sites::Single(content.into())), Served { name: &name, ..Served::default() })
}

/// Names the command that runs the application in a folder without an index file. Its source code is served only if the
/// folder was named: who writes `serow` there probably wants the application. The same for source code that has to be
/// built, or that others run.
fn name_application(folder: Option<&Path>, files: &FilesSettings) -> Result<(), CommandError> {
    let path = folder.unwrap_or(Path::new("."));
    if serow_project::applications(path).is_empty()
        && folder.is_none()
        && let Some(FoundSources { file, kind, remedy }) = serow_project::sources(path)
    {
        return Err(CommandError::Usage(format!(
            "this folder contains {kind} ({file}): {remedy}; to serve the files of the folder, with the source code, write \
             serow ."
        )));
    }
    if files.fallback.is_some() || files.index.iter().any(|index| path.join(index).is_file()) {
        return Ok(());
    }
    let Some(application) = serow_project::applications(path).into_iter().next() else { return Ok(()) };
    let command = application.command(folder.filter(|folder| *folder != Path::new(".")));
    let FoundApplication { file, kind, .. } = application;
    if folder.is_none() {
        return Err(CommandError::Usage(format!(
            "this folder contains {kind} ({file}), and no index file: to run the application, write {command}; to serve \
             the files of the folder, with the source code, write serow ."
        )));
    }
    let place = match path == Path::new(".") {
        true => "this folder".to_owned(),
        false => path.display().to_string(),
    };
    announce(&format!("Hint: {place} contains {kind} ({file}); to run it, write {command}"));
    Ok(())
}

/// A page for what is missing has to be there: without it, each client that misses something gets a plain 404.
fn require_pages(folder: &Path, files: &FilesSettings) -> Result<(), CommandError> {
    for (option, page) in [("--spa", &files.fallback), ("--not-found", &files.not_found)] {
        let Some(page) = page else { continue };
        if !folder.join(page.trim_start_matches('/')).is_file() {
            let folder = folder.display();
            let line = format!("{option} {page:?}: there is no such file in {folder}: create it, or name another one");
            return Err(CommandError::report(line));
        }
    }
    Ok(())
}

/// The folder cannot be served, or its settings are wrong.
#[derive(Debug)]
struct FolderError(FilesError);

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(error) = self;
        if let Some(error) = folder_error(error) {
            return f.write_str(&error.in_options());
        }
        match error {
            FilesError::Missing(folder) => write!(f, "{error}{}", usage::hint_for_folder(folder).unwrap_or_default()),
            error => error.fmt(f),
        }
    }
}

impl Error for FolderError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl From<FolderError> for CommandError {
    fn from(error: FolderError) -> Self {
        Self::Failed(Box::new(error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_missing_folder_stays_on_one_line() {
        let error = CommandError::from(FolderError(FilesError::Missing("a\nb\x1b[31m é".into())));
        assert_eq!(error.message(), r"there is no folder a\nb\u{1b}[31m é: create it, or name another one");
    }
}
