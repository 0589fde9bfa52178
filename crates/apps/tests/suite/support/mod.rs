//! Applications that run behind a server, and clients of it.
#![allow(clippy::unwrap_used, dead_code, unreachable_pub, reason = "each test needs a part of this")]

mod answering;

use std::{num::NonZero, ops::Deref};

use serow_apps::{Application, ApplicationSettings, Interface, Interpreter, Program};
use serow_processes::Workers;
use tempfile::TempDir;

pub use self::answering::{Answering, at_rest, body, content, eventually, reload, request, wait_until};

/// An application that runs until this is dropped.
pub struct Running {
    // Before its workers, which answer until it has ended.
    answering: Answering,
    pub application: Application,
    workers: Workers,
    pub folder: TempDir,
}

/// The settings of an application of one file, with two workers, in a folder of its own.
pub fn settings(interface: Interface, file: &str, code: &str) -> (ApplicationSettings, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(file), code).unwrap();
    let application = match interface {
        Interface::Wsgi | Interface::Asgi => format!("{}:app", file.trim_end_matches(".py")),
        Interface::Rack | Interface::Psgi | Interface::PhpWorker => file.to_owned(),
    };
    let program = Program { interface, application, interpreter: Interpreter::from_command([interpreter(interface)]) };
    let mut settings = ApplicationSettings::new("test", program, folder.path().to_owned());
    settings.run.processes = NonZero::new(2).unwrap();
    (settings, folder)
}

/// Debian's own, which has the modules that the tests need.
fn interpreter(interface: Interface) -> &'static str {
    match interface {
        Interface::Wsgi | Interface::Asgi => "/usr/bin/python3",
        other => other.interpreter(),
    }
}

impl Running {
    /// Runs it on one thread, though it is created for more: some threads of a server may not have had a request yet.
    pub fn new((settings, folder): (ApplicationSettings, TempDir)) -> Self {
        let application = Application::new(settings, 3);
        let workers = application.run().unwrap_or_else(|error| panic!("{error}"));
        let answering = Answering::new(application.handler());
        Self { answering, application, workers, folder }
    }

    /// Reloads the application.
    pub fn reload(&self) -> Result<(), String> {
        reload(&self.workers)
    }
}

impl Deref for Running {
    type Target = Answering;

    fn deref(&self) -> &Answering {
        &self.answering
    }
}
