//! A thread for tasks beside requests.

use std::{io, thread};

use tokio::sync::oneshot;

use crate::thread_runtime;

/// A thread with a runtime of its own, for tasks beside requests, until this is dropped.
#[derive(Debug)]
pub struct BackgroundThread {
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl BackgroundThread {
    /// Starts the thread, on which `begin` spawns the tasks. They end when this is dropped, which waits for the thread.
    ///
    /// # Errors
    ///
    /// The system refuses the thread or its runtime.
    pub fn start(name: &str, begin: impl FnOnce() + Send + 'static) -> io::Result<Self> {
        let (end, ended) = oneshot::channel::<()>();
        let (started, outcome) = std::sync::mpsc::channel();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            let runtime = match thread_runtime() {
                Ok(runtime) => runtime,
                Err(error) => return drop(started.send(Err(error))),
            };
            runtime.block_on(async move {
                // The caller waits for it.
                let _ = started.send(Ok(()));
                begin();
                // The other end is dropped.
                let _ = ended.await;
            });
        })?;
        outcome.recv().map_err(|_| io::Error::other(format!("the thread {name} has ended")))??;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for BackgroundThread {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is in the log.
            let _ = thread.join();
        }
    }
}
