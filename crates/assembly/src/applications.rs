//! Applications, as they are written and what they mean.

use std::{
    cell::RefCell,
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serow_config::{
    SettingError, checks,
    paths::resolve_path,
    tables::{
        applications::{AppKind, AppSettings, AppTable},
        meant,
        php::{PhpProcessSettings, PhpRequestSettings},
    },
    values::NetworkRule,
};
use serow_document::{Place, Problems};
use serow_programs::fpm::FpmApplication;
use serow_site::Application;

use crate::{ApplicationHost, PhpPlace, application, is_module, php_fpm, program};

/// The applications of a file.
pub(crate) struct Applications<'a> {
    problems: &'a Problems,
    /// The folder of the file.
    folder: &'a Path,
    /// How many threads ask them.
    threads: usize,
    /// How long programs that leave may take.
    grace: Duration,
    /// The proxies that the root trusts.
    trust: &'a [NetworkRule],
    host: &'a ApplicationHost,
    found: RefCell<Vec<Arc<WrittenApplication>>>,
    /// Those that there are already.
    kept: &'a KeptApplications,
}

/// The applications of settings, for others that take their place: those that are written alike are the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptApplications(Arc<[Arc<WrittenApplication>]>);

/// An application, and how it is written.
#[derive(Debug)]
pub(crate) struct WrittenApplication {
    written: Written,
    application: Application,
}

/// An application as it is written. Those that are written alike are the same one.
#[derive(Debug, PartialEq)]
enum Written {
    App(AppTable),
    Php(OwnPhp),
}

/// A php-fpm that the server starts, as it is written.
#[derive(Debug, PartialEq)]
pub(crate) struct OwnPhp {
    /// The folder of its scripts.
    pub(crate) root: PathBuf,
    pub(crate) processes: PhpProcessSettings,
    pub(crate) requests: PhpRequestSettings,
}

impl<'a> Applications<'a> {
    pub(crate) fn new(
        folder: &'a Path,
        threads: usize,
        grace: Duration,
        trust: &'a [NetworkRule],
        (host, kept): (&'a ApplicationHost, &'a KeptApplications),
        problems: &'a Problems,
    ) -> Self {
        Self { problems, folder, threads, grace, trust, host, found: RefCell::default(), kept }
    }

    /// The resources of the process that runs them.
    pub(crate) fn host(&self) -> &ApplicationHost {
        self.host
    }

    /// The application that is written; nothing where something is wrong, which is noted. Its responses lead to internal
    /// routes, if its site has some and nothing else is written.
    pub(crate) fn application(&self, mut table: AppTable, has_internal: bool, place: &Place) -> Option<Application> {
        let folder = if self.folder.as_os_str().is_empty() { Path::new(".") } else { self.folder };
        let AppTable { settings: AppSettings { application, .. }, arguments } = &table;
        let is_module = application.as_ref().is_some_and(|application| is_module(application, arguments, folder));
        // A module is looked for where the settings file is, and a program runs there.
        match &mut table.arguments.chdir {
            Some(chdir) => resolve_path(chdir, folder),
            None if is_module || !table.settings.command.is_empty() => {
                table.arguments.chdir = Some(folder.to_owned());
            }
            None => {}
        }
        if !self.trust.is_empty() {
            table.arguments.trust.get_or_insert_with(|| self.trust.to_vec());
        }
        table.arguments.accel_redirect.get_or_insert(has_internal);
        let mut found = self.found.borrow_mut();
        let written = Written::App(table);
        if let Some(known) = self.known(&mut found, &written) {
            return Some(known);
        }
        let Written::App(table) = written else { return None };
        let names: BTreeSet<String> = found.iter().map(|other| other.application.name().to_owned()).collect();
        match self.meaning(&table, is_module, folder, &names) {
            Ok(application) => {
                let written = Written::App(table);
                found.push(Arc::new(WrittenApplication { written, application: application.clone() }));
                Some(application)
            }
            Err(problem) => {
                self.problems.add(checks::app_problem(problem, place));
                None
            }
        }
    }

    /// The php-fpm that is written, for scripts in this place; nothing where something is wrong, which is noted.
    pub(crate) fn php(&self, own: OwnPhp, php_place: &PhpPlace, place: &Place) -> Option<FpmApplication> {
        let written = Written::Php(own);
        let mut found = self.found.borrow_mut();
        if let Some(Application::Php(fpm)) = self.known(&mut found, &written) {
            return Some(fpm);
        }
        let Written::Php(own) = &written else { return None };
        let names: BTreeSet<String> = found.iter().map(|other| other.application.name().to_owned()).collect();
        let name = own.root.file_name().map_or_else(|| PHP.into(), |name| name.to_string_lossy().into_owned());
        let mut options = own.processes.clone().into_options();
        options.app_timeout = own.requests.response_timeout.unwrap_or(options.app_timeout);
        options.app_transfer_timeout = own.requests.transfer_timeout;
        match php_fpm(free_name(&name, &names), php_place, options, self.grace, self.host) {
            Ok(fpm) => {
                found.push(Arc::new(WrittenApplication { written, application: Application::Php(fpm.clone()) }));
                Some(fpm)
            }
            Err(error) => {
                self.problems.add(error.problem(place));
                None
            }
        }
    }

    /// The application that is written so, if there is one already.
    fn known(&self, found: &mut Vec<Arc<WrittenApplication>>, written: &Written) -> Option<Application> {
        let is_it = |known: &&Arc<WrittenApplication>| known.written == *written;
        if let Some(known) = found.iter().find(is_it) {
            return Some(known.application.clone());
        }
        let kept = self.kept.0.iter().find(is_it)?;
        found.push(Arc::clone(kept));
        Some(kept.application.clone())
    }

    fn meaning(
        &self,
        table: &AppTable,
        is_module: bool,
        folder: &Path,
        names: &BTreeSet<String>,
    ) -> Result<Application, SettingError> {
        let arguments = &table.arguments;
        match table.kind()? {
            AppKind::Called(application) => {
                let file = match is_module {
                    true => application.into(),
                    false => folder.join(application).into_os_string(),
                };
                let name = free_name(application, names);
                self::application(name, &file, arguments.clone(), self.threads, self.grace, self.host)
            }
            AppKind::Program([only]) if only.trim().contains(char::is_whitespace) && !folder.join(only).is_file() => {
                let text = format!("`command`: no program is named {only:?}: write {:?}", meant::words(only));
                Err(SettingError::new("command", text))
            }
            AppKind::Program(command) => {
                let words = command.iter().map(Into::into).collect();
                program(free_name(&short_name(command), names), words, arguments.clone(), self.grace, self.host)
            }
        }
    }

    /// All of them.
    pub(crate) fn into_applications(self) -> KeptApplications {
        KeptApplications(self.found.into_inner().into())
    }
}

impl KeptApplications {
    /// All of them.
    pub(crate) fn all(&self) -> Vec<Application> {
        self.0.iter().map(|known| known.application.clone()).collect()
    }

    /// Whether they are the same ones as others, in any order.
    pub(crate) fn are_those_of(&self, others: &Self) -> bool {
        let is_there = |known| others.0.iter().any(|other| Arc::ptr_eq(other, known));
        self.0.len() == others.0.len() && self.0.iter().all(is_there)
    }
}

/// A program's name in logs: its file, and the words behind it up to the first option, as in `node server.js`. Each line that
/// it writes begins with it.
fn short_name(command: &[String]) -> String {
    let (program, words) = command.split_first().map_or(("", &[][..]), |(program, words)| (program, words));
    let file = Path::new(program).file_name().map_or(program.into(), |name| name.to_string_lossy());
    let words = words.iter().take_while(|word| !word.starts_with('-') && !word.contains(['{', '\n']));
    [&*file].into_iter().chain(words.map(String::as_str)).collect::<Vec<_>>().join(" ")
}

/// The name of an application in logs: as it is written, with a number where another application is written the same.
fn free_name(table: &str, names: &BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{table}#{number}"));
    std::iter::once(table.to_owned()).chain(numbered).find(|name| !names.contains(name)).unwrap_or_default()
}

/// The name of an application in the folder `/`.
const PHP: &str = "php";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_called_by_their_files_without_options() {
        for (command, name) in [
            (&["node", "server.js"][..], "node server.js"),
            (&["/opt/prometheus/prometheus", "--web.listen-address=127.0.0.1:{port}"], "prometheus"),
            (&["bundle", "exec", "puma", "-b", "tcp://127.0.0.1:{port}"], "bundle exec puma"),
            (&["app", "{port}", "x"], "app"),
            (&["./a"], "a"),
            (&["/"], "/"),
        ] {
            let words: Vec<_> = command.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(short_name(&words), name);
        }
    }
}
