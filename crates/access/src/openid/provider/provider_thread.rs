//! The thread for requests to providers.

use std::{io, rc::Rc};

use serow_net::BackgroundThread;
use tokio::task::spawn_local;

use super::worker::Worker;
use crate::openid::login::Login;

/// A thread that asks the providers of logins, until this is dropped.
#[derive(Debug)]
pub struct ProviderThread {
    _thread: Option<BackgroundThread>,
}

impl ProviderThread {
    /// Asks the providers of these logins; without any, there is no thread.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn start(logins: Vec<Login>) -> io::Result<Self> {
        if logins.is_empty() {
            return Ok(Self { _thread: None });
        }
        let thread = BackgroundThread::start("serow-login", move || {
            for login in logins {
                let worker = Rc::new(Worker::new(login));
                spawn_local(Rc::clone(&worker).maintain());
                spawn_local(worker.work());
            }
        })?;
        Ok(Self { _thread: Some(thread) })
    }
}
