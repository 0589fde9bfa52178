//! TERM and INT, which stop a server.

use std::{
    future::{Future, pending},
    io,
};

use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
};

use crate::Stopper;

/// The signals received since this was made; they no longer end the process.
pub(crate) struct Signals {
    runtime: OwnRuntime,
    /// TERM and INT, if they stop the server.
    stopping: Option<[Signal; 2]>,
}

impl Signals {
    /// Without `stopping`, signals keep their disposition.
    pub(crate) fn listen(stopping: bool) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build()?;
        let context = runtime.enter();
        let stopping = match stopping {
            true => Some([signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?]),
            false => None,
        };
        drop(context);
        Ok(Self { runtime: OwnRuntime(Some(runtime)), stopping })
    }

    /// Stops the server at each signal, since a second one means at once, until it has ended. `draining` runs
    /// concurrently.
    pub(crate) fn stop_until(mut self, stopper: &Stopper, draining: impl Future<Output = ()>, ended: impl Future) {
        let stop = async {
            let Some([terminate, interrupt]) = &mut self.stopping else { return pending().await };
            loop {
                tokio::select! {
                    _ = terminate.recv() => {}
                    _ = interrupt.recv() => {}
                }
                stopper.stop();
            }
        };
        let Some(runtime) = &self.runtime.0 else { return };
        runtime.block_on(async {
            let aside = async { tokio::join!(stop, draining) };
            tokio::select! {
                ((), ()) = aside => {}
                _ = ended => {}
            }
        });
    }
}

/// A runtime that may also be dropped in an async function: dropping it does not wait.
struct OwnRuntime(Option<Runtime>);

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
