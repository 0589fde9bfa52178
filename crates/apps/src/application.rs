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
    worker_manager::{self, BridgedGeneration, WorkerManagerHandle},
};

/// An application. Requests wait until it [runs](Self::run).
#[derive(Clone, Debug)]
pub struct Application {
    state: Arc<State>,
}

/// An application by the interface that it was said to have, and by the one that it was found to have.
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
    keeper: WorkerManagerHandle,
    thread: Option<JoinHandle<()>>,
    /// In development.
    watching: Option<FileWatcher>,
}

/// Loads an application anew, wherever it runs.
#[derive(Clone, Debug)]
pub struct Reloader {
    keeper: WorkerManagerHandle,
}

impl Application {
    /// An application that so many threads may ask.
    #[must_use]
    pub fn new(settings: ApplicationSettings, threads: usize) -> Self {
        let said = Arc::new(Shared::new(settings, threads));
        Self { state: Arc::new(State { said, found: OnceLock::new(), threads }) }
    }

    fn shared(&self) -> &Arc<Shared> {
        self.state.shared()
    }

    /// Loads it and waits until its workers can answer.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded, in its own words where it has some.
    pub fn run(&self) -> Result<Workers, String> {
        let start = || worker_manager::start::<BridgedGeneration>(Arc::clone(self.shared()));
        let (keeper, thread) = start().or_else(|why| match self.shared().settings.for_asgi(&why) {
            Some(settings) => {
                self.state.found.get_or_init(|| Arc::new(Shared::new(settings, self.state.threads)));
                start()
            }
            None => Err(why),
        })?;
        let mut workers = Workers::new(keeper, thread);
        let settings = self.settings();
        if settings.development {
            workers.watching = Some(FileWatcher::start(&settings.run, workers.reloader())?);
        }
        Ok(workers)
    }

    /// What answers requests.
    #[must_use]
    pub fn handler(&self) -> ApplicationHandler {
        ApplicationHandler::new(Arc::clone(&self.state))
    }

    /// Closes its WebSockets, those that come from now on as well, with 1012 (Service Restart): the server stops, and would wait
    /// for them as long as it may.
    pub fn close_websockets(&self) {
        self.shared().stop();
    }

    /// What it is.
    #[must_use]
    pub fn settings(&self) -> &ApplicationSettings {
        &self.shared().settings
    }

    /// How it is doing.
    #[must_use]
    pub fn report(&self) -> ApplicationReport {
        ApplicationReport::of(self.shared())
    }

    /// How many workers take requests, how many of them are at work, and how many requests wait.
    #[must_use]
    pub fn counts(&self) -> WorkerCounts {
        self.shared().counts()
    }
}

impl Workers {
    /// The workers of this keeper, who has this thread.
    pub(crate) fn new(keeper: WorkerManagerHandle, thread: JoinHandle<()>) -> Self {
        Self { keeper, thread: Some(thread), watching: None }
    }

    /// What loads the application anew.
    #[must_use]
    pub fn reloader(&self) -> Reloader {
        Reloader { keeper: self.keeper.clone() }
    }
}

impl Reloader {
    /// Loads the application anew. New workers take over when all of them are ready; where they cannot be, the old ones stay.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded, in its own words where it has some.
    pub async fn reload(&self) -> Result<(), String> {
        self.keeper.reload().await.unwrap_or_else(|_| Err(ENDED.to_owned()))
    }

    /// The same, for a thread without a runtime.
    pub(crate) fn reload_now(&self) -> Result<(), String> {
        self.keeper.reload().blocking_recv().unwrap_or_else(|_| Err(ENDED.to_owned()))
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        drop(self.watching.take());
        self.keeper.stop(LAST_GRACE);
        if let Some(thread) = self.thread.take() {
            // What it panicked with is in the log.
            let _ = thread.join();
        }
    }
}

const ENDED: &str = "the application has stopped";

/// How long workers may take to end, when all requests are answered.
const LAST_GRACE: Duration = Duration::from_secs(5);
