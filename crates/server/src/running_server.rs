//! A server whose workers serve.

use std::{
    thread::{self, JoinHandle},
    time::Duration,
};

use serow_reuse_port::PortDrain;

use crate::{Error, Stopper, shared_ports::leave, signals::Signals, status::Status, stop_warning};

/// A server whose workers serve, each on a thread of its own: [`BoundServer::start`](crate::BoundServer::start) returns
/// it, and [`Self::wait`] waits for its end. A server that is dropped before goes on until the process ends, or
/// [`Stopper::stop`].
#[must_use]
pub struct RunningServer {
    pub(crate) workers: Vec<JoinHandle<Result<(), Error>>>,
    pub(crate) port_drain: PortDrain,
    pub(crate) signals: Signals,
    pub(crate) stopper: Stopper,
    pub(crate) status: Status,
    /// How long requests in progress may take.
    pub(crate) grace: Duration,
}

impl RunningServer {
    /// Waits until TERM or INT, unless the server ignores them, or [`Stopper::stop`], and until all workers have ended.
    /// Handles signals and drains shared ports meanwhile.
    ///
    /// # Errors
    ///
    /// If a worker has failed, or the system refuses a thread.
    pub fn wait(self) -> Result<(), Error> {
        let Self { workers, port_drain, signals, stopper, status, grace } = self;
        let draining = leave(port_drain, &stopper, &status, grace);
        let telling = stop_warning::tell(&stopper, &status, grace);
        let aside = async { _ = tokio::join!(draining, telling) };
        let (done, all_done) = tokio::sync::oneshot::channel();
        let joiner = thread::Builder::new().name("serow-join".into()).spawn(move || {
            let mut outcome = Ok(());
            for worker in workers {
                outcome = outcome.and(worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            let _ = done.send(());
            outcome
        })?;
        signals.stop_until(&stopper, aside, all_done);
        joiner.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
