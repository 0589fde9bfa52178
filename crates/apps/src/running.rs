//! An application that runs.

use std::{sync::Arc, thread::JoinHandle, time::Duration};

use crate::{
    application::Shared,
    handler::ApplicationHandler,
    keeper::{self, KeeperHandle},
    pool::Census,
    settings::ApplicationSettings,
};

/// An application that runs, until this is dropped.
#[derive(Debug)]
pub struct Application {
    shared: Arc<Shared>,
    keeper: KeeperHandle,
    thread: Option<JoinHandle<()>>,
}

impl Application {
    /// Loads an application and waits until its workers can answer; as many threads may ask it.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded, in its own words where it has some.
    pub fn start(settings: ApplicationSettings, threads: usize) -> Result<Self, String> {
        let shared = Arc::new(Shared::new(settings, threads));
        let (keeper, thread) = keeper::start(Arc::clone(&shared))?;
        Ok(Self { shared, keeper, thread: Some(thread) })
    }

    /// What answers requests.
    #[must_use]
    pub fn handler(&self) -> ApplicationHandler {
        ApplicationHandler::new(Arc::clone(&self.shared))
    }

    /// How many workers take requests, how many of them are at work, and how many requests wait.
    #[must_use]
    pub fn census(&self) -> Census {
        self.shared.census()
    }

    /// Loads the application anew. New workers take over when they are ready; where they cannot be, the old ones stay.
    ///
    /// # Errors
    ///
    /// Why it cannot be loaded.
    pub fn reload(&self) -> Result<(), String> {
        self.keeper.reload().blocking_recv().unwrap_or_else(|_| Err("the application has ended".to_owned()))
    }
}

impl Drop for Application {
    fn drop(&mut self) {
        self.keeper.stop(LAST_PATIENCE);
        if let Some(thread) = self.thread.take() {
            // What it panicked with is in the log.
            let _ = thread.join();
        }
    }
}

/// How long workers may take to end, when all requests are answered.
const LAST_PATIENCE: Duration = Duration::from_secs(5);
