//! Applications, as they are written and what they mean.

use std::{cell::RefCell, collections::BTreeSet, path::Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow_apps::Application;

use super::{
    paths::resolve_path,
    place::Place,
    problem::{Problem, Problems},
    tables::{FromTable, TableReading},
};
use crate::{arguments::ApplicationArguments, settings::application_settings};

/// What an application answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct AppTable {
    pub(super) settings: AppSettings,
    pub(super) arguments: ApplicationArguments,
}

/// Which application answers.
#[derive(Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct AppSettings {
    /// config.ru, app.psgi, or for Python module:callable, as in project.wsgi:application.
    ///
    /// Routes that say the same of an application share its workers.
    pub(super) application: String,
}

impl FromTable for AppTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        let (settings, arguments) = (table.settings(), table.settings());
        Some(Self { settings: settings?, arguments: arguments? })
    }
}

/// The applications of a file.
pub(super) struct Applications<'a> {
    problems: &'a Problems,
    /// The folder of the file.
    folder: &'a Path,
    /// How many threads ask them.
    threads: usize,
    found: RefCell<Vec<(AppTable, Application)>>,
}

impl<'a> Applications<'a> {
    pub(super) fn new(folder: &'a Path, threads: usize, problems: &'a Problems) -> Self {
        Self { problems, folder, threads, found: RefCell::default() }
    }

    /// The application that is written; nothing where something is wrong, which is noted.
    pub(super) fn application(&self, mut written: AppTable, place: &Place) -> Option<Application> {
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { self.folder };
        let is_module = written.settings.application.contains(':');
        // A module is looked for where the settings file is.
        match &mut written.arguments.chdir {
            Some(chdir) => resolve_path(chdir, folder),
            None if is_module => written.arguments.chdir = Some(folder.to_owned()),
            None => {}
        }
        let mut found = self.found.borrow_mut();
        if let Some((_, application)) = found.iter().find(|(other, _)| *other == written) {
            return Some(application.clone());
        }
        let file = match is_module {
            true => written.settings.application.clone().into(),
            false => folder.join(&written.settings.application).into_os_string(),
        };
        let names: BTreeSet<String> = found.iter().map(|(_, other)| other.settings().name.clone()).collect();
        let name = free_name(&written.settings.application, &names);
        match application_settings(name, &file, written.arguments.clone(), self.threads) {
            Ok(settings) => {
                let application = Application::new(settings, self.threads);
                found.push((written, application.clone()));
                Some(application)
            }
            Err(problem) => {
                self.problems.add(Problem::of_contradiction(place, problem));
                None
            }
        }
    }

    /// All of them.
    pub(super) fn into_applications(self) -> Vec<Application> {
        self.found.into_inner().into_iter().map(|(_, application)| application).collect()
    }
}

/// What an application is called in logs: as it is written, with a number where another one is written so too.
fn free_name(written: &str, names: &BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{written}#{number}"));
    std::iter::once(written.to_owned()).chain(numbered).find(|name| !names.contains(name)).unwrap_or_default()
}
