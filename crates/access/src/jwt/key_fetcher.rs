//! The thread that fetches key sets.

use std::{io, sync::Arc};

use serow_net::BackgroundThread;
use tokio::task::spawn_local;

use crate::jwt::remote_keys::RemoteKeys;

/// A thread that fetches key sets, until this is dropped.
#[derive(Debug)]
pub struct KeyFetcher {
    _thread: Option<BackgroundThread>,
}

impl KeyFetcher {
    /// Fetches these in a thread of their own; without any, there is no thread.
    ///
    /// # Errors
    ///
    /// The thread cannot be started.
    pub fn start(sets: Vec<Arc<RemoteKeys>>) -> io::Result<Self> {
        if sets.is_empty() {
            return Ok(Self { _thread: None });
        }
        let thread = BackgroundThread::start("serow-keys", move || {
            for set in sets {
                spawn_local(async move { set.maintain().await });
            }
        })?;
        Ok(Self { _thread: Some(thread) })
    }
}
