//! TERM and INT, which stop a server.

use std::{future::Future, io};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
};

use crate::Stopper;

/// The signals that came since this was made; they end the process no more.
pub(crate) struct Signals {
    runtime: Runtime,
    /// TERM and INT, where they are listened to.
    stopping: Option<[Signal; 2]>,
}

impl Signals {
    /// Without `stopping`, signals are left alone.
    pub(crate) fn listen(stopping: bool) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let context = runtime.enter();
        let stopping = match stopping {
            true => Some([signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?]),
            false => None,
        };
        drop(context);
        Ok(Self { runtime, stopping })
    }

    /// Stops the server at each signal, since a second one means more haste, until it has ended.
    pub(crate) fn stop_until(mut self, stopper: &Stopper, ended: impl Future) {
        self.runtime.block_on(async {
            let Some([terminate, interrupt]) = &mut self.stopping else {
                ended.await;
                return;
            };
            let mut ended = std::pin::pin!(ended);
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                    _ = &mut ended => return,
                }
                stopper.stop();
            }
        });
    }
}
