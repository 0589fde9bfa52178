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
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let context = runtime.enter();
        let terminate = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        drop(context);
        Ok(Self { runtime, terminate, interrupt })
    }

    /// Stops the server at each signal, since a second one means more haste, until it has ended.
    pub(crate) fn stop_until(mut self, stopper: &Stopper, ended: impl Future) {
        self.runtime.block_on(async {
            let mut ended = std::pin::pin!(ended);
            loop {
                tokio::select! {
                    _ = self.terminate.recv() => {}
                    _ = self.interrupt.recv() => {}
                    _ = &mut ended => return,
                }
                stopper.stop();
            }
        });
    }
}
