//! The thread for requests to providers.

use std::{io, rc::Rc, thread};

use serow_net::thread_runtime;
use tokio::{sync::oneshot, task::spawn_local};

use super::worker::Worker;
use crate::login::Login;

/// A thread that asks the providers of logins, until this is dropped.
#[derive(Debug)]
pub struct ProviderThread {
    end: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl ProviderThread {
    /// Asks the providers of these logins; without any, there is no thread.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn start(logins: Vec<Login>) -> io::Result<Self> {
        if logins.is_empty() {
            return Ok(Self { end: None, thread: None });
        }
        let (end, ended) = oneshot::channel::<()>();
        let (started, outcome) = std::sync::mpsc::channel();
        let thread = thread::Builder::new().name("serow-login".to_owned()).spawn(move || {
            let runtime = match thread_runtime() {
                Ok(runtime) => runtime,
                Err(error) => return drop(started.send(Err(error))),
            };
            runtime.block_on(async move {
                // The caller waits for it.
                let _ = started.send(Ok(()));
                for login in logins {
                    let worker = Rc::new(Worker::new(login));
                    spawn_local(Rc::clone(&worker).maintain());
                    spawn_local(worker.work());
                }
                // The other end is dropped.
                let _ = ended.await;
            });
        })?;
        outcome.recv().map_err(|_| io::Error::other("the thread of logins has ended"))??;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for ProviderThread {
    fn drop(&mut self) {
        self.end.take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread is in the log.
            let _ = thread.join();
        }
    }
}
