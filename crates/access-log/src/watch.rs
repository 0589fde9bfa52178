//! A thread beside the one that writes, which may be blocked: it receives SIGUSR1, and reports lost lines. Workers cannot
//! report them: if the error log has the same destination as the access log, they would block.

use std::{sync::Arc, thread};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
};

use super::{
    AccessLogError,
    name::LogName,
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

    /// Watches over these queues, on a thread that ends with the process.
    pub(super) fn begin(self, queues: Vec<(LogName, Arc<Queue>)>) -> Result<(), AccessLogError> {
        let Self { runtime, mut reopen } = self;
        let watch = move || {
            for (name, queue) in &queues {
                let (name, queue) = (name.clone(), Arc::clone(queue));
                runtime.spawn(async move {
                    loop {
                        queue.losses_changed().await;
                        queue.losses().for_each(|loss| say(&name, loss));
                    }
                });
            }
            runtime.block_on(async {
                while reopen.recv().await.is_some() {
                    queues.iter().for_each(|(_, queue)| queue.reopen());
                }
            });
        };
        let thread = thread::Builder::new().name("serow-log-watch".to_owned()).spawn(watch);
        thread.map(drop).map_err(AccessLogError::System)
    }
}

fn say(name: &LogName, loss: Loss) {
    match loss {
        Loss::Began => tracing::warn!("lines of {name} are lost: it is not written as fast as they come"),
        Loss::Over(lines) => tracing::warn!(lines, "{name} has caught up; lines were lost"),
    }
}
