//! The contents of a folder that a server can answer requests with.

use std::path::Path;

use super::{
    applications::{FoundApplication, Start, applications},
    settings_text,
    sources::{FoundSources, sources},
    static_folder::static_folder,
};

/// The contents of a folder: one handler that was chosen, and others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderContents {
    pub(super) chosen: Handler,
    pub(super) others: Vec<Handler>,
    /// A folder with the files of the chosen application: pictures, scripts, styles.
    pub(super) assets: Option<&'static str>,
}

/// A part of a folder that can answer requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Handler {
    Application(FoundApplication),
    /// A static site in this folder.
    Site(&'static str),
    /// This folder, which has no index file.
    Folder,
}

impl FolderContents {
    /// The contents of this folder.
    ///
    /// # Errors
    ///
    /// All that could be served is source code.
    pub fn of(folder: &Path) -> Result<Self, FoundSources> {
        let contents = Self::found(folder);
        match contents.chosen {
            Handler::Site(".") | Handler::Folder => sources(folder).map_or(Ok(contents), Err),
            Handler::Application(_) | Handler::Site(_) => Ok(contents),
        }
    }

    /// The text of a settings file for them.
    #[must_use]
    pub fn settings(&self) -> String {
        settings_text::of(self)
    }

    fn found(folder: &Path) -> Self {
        let mut handlers: Vec<_> = applications(folder).into_iter().map(Handler::Application).collect();
        let site = static_folder(folder);
        // The folder `public` of an application has its files, and no site of its own.
        let has_application = handlers.iter().any(|handler| !handler.is_for_development() && !handler.is_php());
        let assets = ["public", "static"].into_iter().find(|name| has_application && folder.join(name).is_dir());
        handlers.extend(site.filter(|site| Some(*site) != assets).map(Handler::Site));
        // A server for development is the last resort.
        handlers.sort_by_key(Handler::is_for_development);
        let mut handlers = handlers.into_iter();
        match handlers.next() {
            Some(chosen) => Self { chosen, others: handlers.collect(), assets },
            None => Self { chosen: Handler::Folder, others: Vec::new(), assets: None },
        }
    }

    /// The handlers that were found and chosen, for the terminal.
    #[must_use]
    pub fn summary(&self) -> String {
        let found = |handler: &Handler| match handler {
            Handler::Application(application) => format!("{} ({})", application.kind, application.file),
            Handler::Site(".") => "a static site (index.html)".to_owned(),
            Handler::Site(folder) => format!("a static site ({folder}/index.html)"),
            Handler::Folder => "the files of this folder, which has no index file".to_owned(),
        };
        let others: Vec<_> = self.others.iter().map(found).collect();
        let others = match others.is_empty() {
            true => String::new(),
            false => format!("; commented out: {}", others.join(", ")),
        };
        format!("{}{others}", found(&self.chosen))
    }
}

impl Handler {
    /// The files beside its scripts are sent anyway.
    fn is_php(&self) -> bool {
        matches!(self, Self::Application(application) if matches!(application.start, Start::Php(_)))
    }

    fn is_for_development(&self) -> bool {
        matches!(self, Self::Application(application) if application.is_for_development)
    }
}
