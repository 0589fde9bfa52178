//! A thread beside the one that writes, which may be blocked: it receives SIGUSR1, and reports lost lines. Workers cannot
//! report them: if the error log has the same destination as the access log, they would block.

use std::{sync::Arc, thread};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
};

use super::{
    AccessLogError,
    queue::{Loss, Queue},
};

/// The receiver of SIGUSR1.
pub(super) struct Watch {
    runtime: Runtime,
    reopen: Signal,
}

impl Watch {
    /// SIGUSR1 ends no process from here on.
    pub(super) fn new() -> Result<Self, AccessLogError> {
        let runtime = Builder::new_current_thread().enable_io().build().map_err(AccessLogError::System)?;
        let reopen = {
            let _context = runtime.enter();
            signal(SignalKind::user_defined1()).map_err(AccessLogError::System)?
        };
        Ok(Self { runtime, reopen })
    }

    /// Watches over this queue, on a thread that ends with the process.
    pub(super) fn begin(self, queue: Arc<Queue>) -> Result<(), AccessLogError> {
        let Self { runtime, mut reopen } = self;
        let watch = move || {
            runtime.block_on(async {
                loop {
                    tokio::select! {
                        Some(()) = reopen.recv() => queue.reopen(),
                        () = queue.losses_changed() => queue.losses().for_each(say),
                    }
                }
            });
        };
        let thread = thread::Builder::new().name("serow-log-watch".to_owned()).spawn(watch);
        thread.map(drop).map_err(AccessLogError::System)
    }
}

fn say(loss: Loss) {
    match loss {
        Loss::Began => tracing::warn!("lines of the access log are lost: it is not written as fast as they come"),
        Loss::Over(lines) => tracing::warn!(lines, "the access log has caught up; lines were lost"),
    }
}
