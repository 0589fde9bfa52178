//! The processes of an application while they run, and their reload.

use std::{thread::JoinHandle, time::Duration};

use crate::{file_watcher::FileWatcher, handle::ManagerHandle, settings::RunSettings, start_error::StartError};

/// The workers of an application, until this is dropped.
#[derive(Debug)]
pub struct Workers {
    manager: ManagerHandle,
    thread: Option<JoinHandle<()>>,
    /// In development.
    file_watcher: Option<FileWatcher>,
}

/// Reloads an application.
#[derive(Clone, Debug)]
pub struct Reloader {
    manager: ManagerHandle,
}

impl Workers {
    /// The workers of this worker manager, which runs in this thread.
    pub(crate) fn new(manager: ManagerHandle, thread: JoinHandle<()>) -> Self {
        Self { manager, thread: Some(thread), file_watcher: None }
    }

    /// Reloads the application when a file in its folder changes: in development.
    ///
    /// # Errors
    ///
    /// The thread for that cannot be started.
    pub fn reload_on_changes(&mut self, settings: &RunSettings) -> Result<(), StartError> {
        self.file_watcher = Some(FileWatcher::start(settings, self.reloader())?);
        Ok(())
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
