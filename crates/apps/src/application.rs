//! An application, and the workers that run it.

use std::{
    sync::{Arc, OnceLock},
    thread::JoinHandle,
    time::Duration,
};

use crate::{
    file_watcher::FileWatcher,
    handler::ApplicationHandler,
    pool::WorkerCounts,
    report::ApplicationReport,
    settings::ApplicationSettings,
    shared_state::Shared,
    start_cancellation::StartCancellation,
    start_error::StartError,
    worker_manager::{self, BridgedGeneration, WorkerManagerHandle},
};

/// An application. Requests wait until it [runs](Self::run).
#[derive(Clone, Debug)]
pub struct Application {
    state: Arc<State>,
}

/// An application by its configured interface, and by the detected one.
#[derive(Debug)]
pub(crate) struct State {
    said: Arc<Shared>,
    found: OnceLock<Arc<Shared>>,
    threads: usize,
}

impl State {
    /// As it is called.
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        self.found.get().unwrap_or(&self.said)
    }
}

/// The workers of an application, until this is dropped.
#[derive(Debug)]
pub struct Workers {
    manager: WorkerManagerHandle,
    thread: Option<JoinHandle<()>>,
    /// In development.
    file_watcher: Option<FileWatcher>,
}

/// Reloads an application.
#[derive(Clone, Debug)]
pub struct Reloader {
    manager: WorkerManagerHandle,
}

impl Application {
    /// An application for this number of threads.
    #[must_use]
    pub fn new(settings: ApplicationSettings, threads: usize) -> Self {
        let said = Arc::new(Shared::new(settings, threads));
        Self { state: Arc::new(State { said, found: OnceLock::new(), threads }) }
    }

    fn shared(&self) -> &Arc<Shared> {
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
        let start = || worker_manager::start::<BridgedGeneration>(Arc::clone(self.shared()), cancellation);
        let (manager, thread) = start().or_else(|why| match self.shared().settings.for_asgi(&why) {
            Some(settings) => {
                self.state.found.get_or_init(|| Arc::new(Shared::new(settings, self.state.threads)));
                start()
            }
            None => Err(why),
        })?;
        let mut workers = Workers::new(manager, thread);
        let settings = self.settings();
        if settings.development {
            workers.file_watcher = Some(FileWatcher::start(&settings.run, workers.reloader())?);
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

impl Workers {
    /// The workers of this worker manager, which runs in this thread.
    pub(crate) fn new(manager: WorkerManagerHandle, thread: JoinHandle<()>) -> Self {
        Self { manager, thread: Some(thread), file_watcher: None }
    }

    /// The handle that reloads the application.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        Reloader { manager: self.manager.clone() }
    }
}

impl Reloader {
    /// Reloads the application. New workers take over when all of them are ready; if the application cannot be loaded,
    /// the old ones stay.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded, with the error of the application if there is one.
    pub async fn reload(&self) -> Result<(), StartError> {
        self.manager.reload().await.unwrap_or_else(|_| Err(ENDED.to_owned())).map_err(StartError::from)
    }

    /// The same, for a thread without a runtime.
    pub(crate) fn reload_now(&self) -> Result<(), String> {
        self.manager.reload().blocking_recv().unwrap_or_else(|_| Err(ENDED.to_owned()))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        drop(self.file_watcher.take());
        self.manager.stop(LAST_GRACE);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is in the log.
            let _ = thread.join();
        }
    }
}

const ENDED: &str = "the application has stopped";

/// How long workers may take to exit when all requests are answered.
const LAST_GRACE: Duration = Duration::from_secs(5);
