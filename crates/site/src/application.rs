//! An application, whatever runs it.

use serow_apps::ApplicationReport;
use serow_processes::{StartCancellation, StartError, Workers};
use serow_programs::{commands::CommandApplication, fpm::FpmApplication};
use serow_proxy::Upstream;

use crate::Content;

/// An application, whatever runs it. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub enum Application {
    /// An interpreter that calls it.
    Bridged(serow_apps::Application),
    /// It is a program that serves HTTP.
    Program(CommandApplication),
    /// php-fpm runs its scripts.
    Php(FpmApplication),
}

impl Application {
    /// How it is called in logs.
    pub fn name(&self) -> &str {
        match self {
            Self::Bridged(application) => &application.settings().run.name,
            Self::Program(program) => &program.settings().run.name,
            Self::Php(fpm) => &fpm.settings().run.name,
        }
    }

    /// Its description in the first line of output.
    pub fn description(&self) -> String {
        match self {
            Self::Bridged(application) => {
                let program = &application.settings().program;
                format!("{} ({}) with {}", program.application, program.interface.name(), program.interpreter)
            }
            Self::Program(program) => {
                let words: Vec<_> = program.settings().command.iter().map(|word| word.to_string_lossy()).collect();
                words.join(" ")
            }
            Self::Php(fpm) => {
                let settings = fpm.settings();
                let program = settings.executable().map(|executable| executable.path().display().to_string());
                let program = program.unwrap_or_else(|_| "php-fpm".to_owned());
                format!("{} in {} with {program}", settings.title, settings.run.folder.display())
            }
        }
    }

    /// The interpreter that runs it, the reason for that one, and its version; of a program, its path. The error says
    /// why it cannot be run, and what to do.
    pub fn interpreter(&self) -> Result<String, String> {
        match self {
            Self::Bridged(application) => {
                let settings = application.settings();
                let version = settings.interpreter_version()?;
                Ok(format!("{}, {version}", settings.program.interpreter))
            }
            Self::Program(program) => {
                let settings = program.settings();
                let path = settings.executable().ok_or_else(|| {
                    let name = settings.command.first().map(|word| word.to_string_lossy()).unwrap_or_default();
                    format!("there is no program {name}: install it, or write its path")
                })?;
                Ok(path.display().to_string())
            }
            Self::Php(fpm) => {
                let executable = fpm.settings().executable().map_err(|error| error.to_string())?;
                Ok(format!("{}, {}", executable.path().display(), executable.version()?))
            }
        }
    }

    /// Loads it and waits until it can answer, or says why it cannot.
    pub fn run(&self) -> Result<Workers, StartError> {
        self.run_unless(&StartCancellation::default())
    }

    /// The same, until it is cancelled.
    pub fn run_unless(&self, cancellation: &StartCancellation) -> Result<Workers, StartError> {
        match self {
            Self::Bridged(application) => application.run_unless(cancellation).map_err(|why| {
                // A module that is not installed for this interpreter may be there for another one.
                let mut text = format!("{why}\n(loaded by {})", application.settings().program.interpreter);
                if text.contains("ModuleNotFoundError") {
                    text.push_str(
                        "\nIf the module is in a virtual environment, put that into the folder of the application as .venv, or \
                         name its Python with `interpreter` (--interpreter)",
                    );
                }
                text.into()
            }),
            Self::Program(program) => program.run_unless(cancellation),
            Self::Php(fpm) => fpm.run_unless(cancellation),
        }
    }

    /// The handler of its requests; nothing of php-fpm, where the folder of the scripts handles them.
    pub fn content(&self) -> Option<Content> {
        match self {
            Self::Bridged(application) => Some(Content::App(application.handler())),
            Self::Program(program) => Some(Content::Proxy(program.handler())),
            Self::Php(_) => None,
        }
    }

    /// Closes WebSockets that would keep a server that stops; those to a program are the program's.
    pub fn close_websockets(&self) {
        if let Self::Bridged(application) = self {
            application.close_websockets();
        }
    }

    /// How its workers are doing; nothing of a program, whose copies are servers.
    pub fn report(&self) -> Option<ApplicationReport> {
        match self {
            Self::Bridged(application) => Some(application.report()),
            Self::Program(_) | Self::Php(_) => None,
        }
    }

    /// The servers that it is, where it is some.
    pub fn upstream(&self) -> Option<&Upstream> {
        match self {
            Self::Bridged(_) => None,
            Self::Program(program) => Some(program.upstream()),
            Self::Php(fpm) => Some(fpm.upstream()),
        }
    }
}
