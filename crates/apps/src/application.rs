//! An application, and the workers that run it.

use std::sync::{Arc, OnceLock};

use serow_processes::{StartCancellation, StartError, Workers};

use crate::{
    bridged_generation::BridgedGeneration, handler::ApplicationHandler, pool::WorkerCounts, report::ApplicationReport,
    settings::ApplicationSettings, shared_state::ApplicationState,
};

/// An application. Requests wait until it [runs](Self::run).
#[derive(Clone, Debug)]
pub struct Application {
    state: Arc<ApplicationByInterface>,
}

/// An application by its configured interface, and by the detected one.
#[derive(Debug)]
pub(crate) struct ApplicationByInterface {
    said: Arc<ApplicationState>,
    found: OnceLock<Arc<ApplicationState>>,
    threads: usize,
}

impl ApplicationByInterface {
    /// As it is called.
    pub(crate) fn shared(&self) -> &Arc<ApplicationState> {
        self.found.get().unwrap_or(&self.said)
    }
}

impl Application {
    /// An application for this number of threads.
    #[must_use]
    pub fn new(settings: ApplicationSettings, threads: usize) -> Self {
        let said = Arc::new(ApplicationState::new(settings, threads));
        Self { state: Arc::new(ApplicationByInterface { said, found: OnceLock::new(), threads }) }
    }

    fn shared(&self) -> &Arc<ApplicationState> {
        self.state.shared()
    }

    /// Loads it and waits until its workers can answer. It blocks the thread meanwhile: in an async function, call it before
    /// the server takes requests, or by `spawn_blocking`.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded, with the error of the application if there is one.
    pub fn run(&self) -> Result<Workers, StartError> {
        self.run_unless(&StartCancellation::default())
    }

    /// The same, until it is cancelled.
    ///
    /// # Errors
    ///
    /// As [`Self::run`], and if it is cancelled.
    pub fn run_unless(&self, cancellation: &StartCancellation) -> Result<Workers, StartError> {
        let start = || serow_processes::start::<BridgedGeneration>(Arc::clone(self.shared()), cancellation);
        let mut workers = start().or_else(|why| match self.shared().settings.for_asgi(&why.to_string()) {
            Some(settings) => {
                self.state.found.get_or_init(|| Arc::new(ApplicationState::new(settings, self.state.threads)));
                start()
            }
            None => Err(why),
        })?;
        let settings = self.settings();
        if settings.development {
            workers.reload_on_changes(&settings.run)?;
        }
        Ok(workers)
    }

    /// The handler for requests to this application.
    #[must_use]
    pub fn handler(&self) -> ApplicationHandler {
        ApplicationHandler::new(Arc::clone(&self.state))
    }

    /// Closes its WebSockets, current and future ones, with 1012 (Service Restart): a server that stops would otherwise
    /// wait for them until its grace period ends.
    pub fn close_websockets(&self) {
        self.shared().stop();
    }

    /// Its settings.
    #[must_use]
    pub fn settings(&self) -> &ApplicationSettings {
        &self.shared().settings
    }

    /// How it is doing.
    #[must_use]
    pub fn report(&self) -> ApplicationReport {
        ApplicationReport::of(self.shared())
    }

    /// The numbers of workers, of busy workers and of waiting requests.
    #[must_use]
    pub fn counts(&self) -> WorkerCounts {
        self.shared().counts()
    }
}
