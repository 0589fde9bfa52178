//! The interpreter of an application, determined by the files in its folder.

use std::{
    borrow::Cow,
    env,
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{locale, program::Interface, settings::ApplicationSettings};
use serow_processes::RunSettings;

/// The interpreter of an application, and the reason for this choice.
///
/// ```
/// use serow_apps::{Interface, Interpreter};
///
/// let interpreter = Interpreter::of(Interface::Psgi, std::path::Path::new("/nowhere"));
/// assert_eq!(interpreter.to_string(), "perl (as found in PATH)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    command: Vec<OsString>,
    reason: Reason,
}

/// The reason for the choice.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reason {
    /// It is configured.
    Configured,
    /// By default: the one in PATH, which may be a shim of rbenv, plenv or pyenv.
    Path,
    /// These files are in the folder.
    Files(&'static str),
    /// This variable is set.
    Variable(&'static str),
}

impl Interpreter {
    /// That of an application in this folder: with the libraries that Bundler, Carton or a virtual environment of
    /// Python keeps for it, where there are such.
    #[must_use]
    pub fn of(interface: Interface, folder: &Path) -> Self {
        Self::in_environment(interface, folder, env::var_os(VIRTUAL_ENV).filter(|path| !path.is_empty()))
    }

    /// This configured command: the interpreter, perhaps with a prefix as in `bundle exec ruby`.
    #[must_use]
    pub fn from_command(command: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        Self { command: command.into_iter().map(Into::into).collect(), reason: Reason::Configured }
    }

    fn in_environment(interface: Interface, folder: &Path, active: Option<OsString>) -> Self {
        let has = |name: &str| folder.join(name).exists();
        let found = match interface {
            Interface::Rack => {
                let file = ["Gemfile", "gems.rb"].into_iter().find(|name| has(name));
                file.map(|file| (words(&["bundle", "exec", "ruby"]), Reason::Files(file)))
            }
            Interface::Psgi => (has("cpanfile.snapshot") && has("local"))
                .then(|| (words(&["carton", "exec", "perl"]), Reason::Files("cpanfile.snapshot and local"))),
            Interface::Wsgi | Interface::Asgi => {
                let inside = ENVIRONMENTS.into_iter().find(|name| has(&format!("{name}/{PYTHON}")));
                let inside = inside.map(|name| (folder.join(name), Reason::Files(name)));
                let active = active.map(|path| (PathBuf::from(path), Reason::Variable(VIRTUAL_ENV)));
                inside.or(active).map(|(path, reason)| (vec![python_of(&path)], reason))
            }
            Interface::PhpWorker => None,
        };
        let (command, reason) = found.unwrap_or_else(|| (words(&[interface.interpreter()]), Reason::Path));
        Self { command, reason }
    }

    /// The first part of its command.
    pub(crate) fn name(&self) -> Cow<'_, str> {
        self.command.first().map(|word| word.to_string_lossy()).unwrap_or_default()
    }

    /// The command without further arguments.
    fn command(&self) -> Command {
        let mut words = self.command.iter();
        // That of nothing is refused by the system.
        let mut command = Command::new(words.next().map_or(OsStr::new(""), OsString::as_os_str));
        command.args(words);
        command
    }
}

impl ApplicationSettings {
    /// The command that starts the interpreter in the environment of workers.
    pub(crate) fn interpreter_command(&self) -> Command {
        let RunSettings { folder, environment, .. } = &self.run;
        let mut command = self.program.interpreter.command();
        command.current_dir(folder).envs(environment.iter().cloned());
        command.envs(locale::variable(self.program.interface, environment));
        command
    }

    /// Runs the interpreter in the environment of workers to get its version, such as `ruby 3.1.2 with Rack 2.2.6`.
    ///
    /// # Errors
    ///
    /// Why it cannot be started, and the remedy; with the error of the interpreter if there is one.
    pub fn interpreter_version(&self) -> Result<String, String> {
        let interpreter = &self.program.interpreter;
        let mut command = self.interpreter_command();
        let output = command.args(self.program.interface.version_arguments()).stdin(Stdio::null()).output();
        let output = output.map_err(|error| {
            let name = interpreter.name();
            match name.rsplit('/').next() == Some("bundle") {
                true => format!(
                    "{name} cannot be started: {error}; install Bundler (gem install bundler, or apt install ruby-bundler), \
                     or set another `interpreter`"
                ),
                false => format!("{name} cannot be started: {error}; install it or set another `interpreter`"),
            }
        })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => {
                Err(format!("{interpreter} cannot run the application ({}):\n{}", output.status, text(&output.stderr)))
            }
        }
    }
}

impl fmt::Display for Interpreter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command: Vec<_> = self.command.iter().map(|word| word.to_string_lossy()).collect();
        write!(formatter, "{} (", command.join(" "))?;
        match self.reason {
            Reason::Configured => formatter.write_str("as configured)"),
            Reason::Path => formatter.write_str("as found in PATH)"),
            Reason::Files(files) => write!(formatter, "{files} in the folder)"),
            Reason::Variable(name) => write!(formatter, "{name} is set)"),
        }
    }
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// The path is not resolved: by its name the interpreter knows its environment.
fn python_of(environment: &Path) -> OsString {
    let path = environment.join(PYTHON);
    // The interpreter runs in the application's folder, so the path must be absolute.
    std::path::absolute(&path).unwrap_or(path).into()
}

/// Where virtual environments are in the folders of projects.
const ENVIRONMENTS: [&str; 2] = [".venv", "venv"];
/// The interpreter in a virtual environment.
const PYTHON: &str = "bin/python";
/// Set by `activate` of virtual environments.
const VIRTUAL_ENV: &str = "VIRTUAL_ENV";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_in_the_folder_select_the_interpreter() {
        let cases: [(Interface, &[&str], Option<&str>, &str); 10] = [
            (Interface::Rack, &[], None, "ruby (as found in PATH)"),
            (Interface::Rack, &["Gemfile"], None, "bundle exec ruby (Gemfile in the folder)"),
            (Interface::Rack, &["gems.rb"], None, "bundle exec ruby (gems.rb in the folder)"),
            (Interface::Psgi, &["cpanfile", "local/x"], None, "perl (as found in PATH)"),
            (
                Interface::Psgi,
                &["cpanfile.snapshot", "local/x"],
                None,
                "carton exec perl (cpanfile.snapshot and local in the folder)",
            ),
            (Interface::Wsgi, &[], None, "python3 (as found in PATH)"),
            (
                Interface::Wsgi,
                &[".venv/bin/python", "venv/bin/python"],
                None,
                "HERE/.venv/bin/python (.venv in the folder)",
            ),
            (Interface::Asgi, &["venv/bin/python"], Some("/else"), "HERE/venv/bin/python (venv in the folder)"),
            (Interface::Asgi, &["venv/x"], Some("/else"), "/else/bin/python (VIRTUAL_ENV is set)"),
            (Interface::Rack, &["venv/bin/python"], Some("/else"), "ruby (as found in PATH)"),
        ];
        for (interface, files, active, expected) in cases {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                let path = folder.path().join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            let found = Interpreter::in_environment(interface, folder.path(), active.map(OsString::from));
            assert_eq!(found.to_string(), expected.replace("HERE", folder.path().to_str().unwrap()));
        }
    }
}
