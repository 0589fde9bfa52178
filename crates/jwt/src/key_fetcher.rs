//! The thread that fetches key sets.

use std::{io, sync::Arc, thread};

use serow_net::thread_runtime;
use tokio::{sync::oneshot, task::spawn_local};

use crate::remote_keys::RemoteKeys;

/// A thread that fetches key sets, until this is dropped.
#[derive(Debug)]
pub struct KeyFetcher {
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl KeyFetcher {
    /// Fetches these in a thread of their own; without any, there is no thread.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn start(sets: Vec<Arc<RemoteKeys>>) -> io::Result<Self> {
        if sets.is_empty() {
            return Ok(Self { end: None, thread: None });
        }
        let (end, ended) = oneshot::channel::<()>();
        let (started, outcome) = std::sync::mpsc::channel();
        let thread = thread::Builder::new().name("serow-keys".to_owned()).spawn(move || {
            let runtime = match thread_runtime() {
                Ok(runtime) => runtime,
                Err(error) => return drop(started.send(Err(error))),
            };
            runtime.block_on(async move {
                // The caller waits for it.
                let _ = started.send(Ok(()));
                for set in sets {
                    spawn_local(async move { set.maintain().await });
                }
                // The other end is dropped.
                let _ = ended.await;
            });
        })?;
        outcome.recv().map_err(|_| io::Error::other("the thread that fetches keys has ended"))??;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for KeyFetcher {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is in the log.
            let _ = thread.join();
        }
    }
}
