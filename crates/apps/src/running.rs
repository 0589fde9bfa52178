//! An application, and the workers that run it.

use std::{sync::Arc, thread::JoinHandle, time::Duration};

use crate::{
    application::Shared,
    handler::ApplicationHandler,
    keeper::{self, BridgedCrew, KeeperHandle},
    pool::Census,
    report::ApplicationReport,
    settings::ApplicationSettings,
    watching::Watching,
};

/// An application. Requests wait until it [runs](Self::run).
#[derive(Clone, Debug)]
pub struct Application {
    shared: Arc<Shared>,
}

/// The workers of an application, until this is dropped.
#[derive(Debug)]
pub struct Workers {
    keeper: KeeperHandle,
    thread: Option<JoinHandle<()>>,
    /// In development.
    watching: Option<Watching>,
}

/// Loads an application anew, wherever it runs.
#[derive(Clone, Debug)]
pub struct Reloader {
    keeper: KeeperHandle,
}

impl Application {
    /// An application that so many threads may ask.
    #[must_use]
    pub fn new(settings: ApplicationSettings, threads: usize) -> Self {
        Self { shared: Arc::new(Shared::new(settings, threads)) }
    }

    /// Loads it and waits until its workers can answer.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded, in its own words where it has some.
    pub fn run(&self) -> Result<Workers, String> {
        let (keeper, thread) = keeper::start::<BridgedCrew>(Arc::clone(&self.shared))?;
        let mut workers = Workers::new(keeper, thread);
        if self.shared.settings.development {
            workers.watching = Some(Watching::start(&self.shared.settings.run, workers.reloader())?);
        }
        Ok(workers)
    }

    /// What answers requests.
    #[must_use]
    pub fn handler(&self) -> ApplicationHandler {
        ApplicationHandler::new(Arc::clone(&self.shared))
    }

    /// Closes its WebSockets, those that come from now on as well, with 1012 (Service Restart): the server stops, and would wait
    /// for them as long as it may.
    pub fn close_websockets(&self) {
        self.shared.stop();
    }

    /// What it is.
    #[must_use]
    pub fn settings(&self) -> &ApplicationSettings {
        &self.shared.settings
    }

    /// How it is doing.
    #[must_use]
    pub fn report(&self) -> ApplicationReport {
        ApplicationReport::of(&self.shared)
    }

    /// How many workers take requests, how many of them are at work, and how many requests wait.
    #[must_use]
    pub fn census(&self) -> Census {
        self.shared.census()
    }
}

impl Workers {
    /// The workers of this keeper, who has this thread.
    pub(crate) fn new(keeper: KeeperHandle, thread: JoinHandle<()>) -> Self {
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
        self.keeper.stop(LAST_PATIENCE);
        if let Some(thread) = self.thread.take() {
            // What it panicked with is in the log.
            let _ = thread.join();
        }
    }
}

const ENDED: &str = "the application has ended";

/// How long workers may take to end, when all requests are answered.
const LAST_PATIENCE: Duration = Duration::from_secs(5);
