//! A server whose workers serve.

use std::{
    convert::Infallible,
    mem,
    sync::mpsc::{self, Receiver},
    thread::{self, JoinHandle},
    time::Duration,
};

use serow_net::reuse_port::PortDrain;

use crate::{Error, Stopper, shared_ports::leave, signals::Signals, status::Status, stop_warning};

/// A server whose workers serve, each on a thread of its own: [`BoundServer::start`](crate::BoundServer::start) returns
/// it, and [`Self::wait`] waits for its end. A server that is dropped before goes on until the process ends, or
/// [`Stopper::stop`].
#[must_use]
pub struct RunningServer {
    pub(crate) workers: Vec<JoinHandle<Result<(), Error>>>,
    /// Disconnected when no worker accepts connections any more.
    pub(crate) is_accepting: Receiver<Infallible>,
    pub(crate) port_drain: PortDrain,
    pub(crate) signals: Signals,
    pub(crate) stopper: Stopper,
    pub(crate) status: Status,
    /// How long requests in progress may take.
    pub(crate) grace: Duration,
}

/// The end of accepting connections; see [`RunningServer::end_of_accepting`].
#[derive(Debug)]
pub struct EndOfAccepting(Receiver<Infallible>);

impl EndOfAccepting {
    /// Blocks until no worker accepts connections any more: those that clients open from then on are for other processes
    /// with the same sockets.
    pub fn wait(self) {
        // Nothing is ever sent: an error means that all workers have dropped their senders.
        let _ = self.0.recv();
    }
}

impl RunningServer {
    /// Waits, on another thread, until the server accepts no more connections after [`Stopper::stop`] and the like.
    /// Meanwhile it may still be finishing requests. Only the first call returns something that waits.
    pub fn end_of_accepting(&mut self) -> EndOfAccepting {
        EndOfAccepting(mem::replace(&mut self.is_accepting, mpsc::channel().1))
    }

    /// Waits until TERM or INT, unless the server ignores them, or [`Stopper::stop`], and until all workers have ended.
    /// Handles signals and drains shared ports meanwhile.
    ///
    /// # Errors
    ///
    /// If a worker has failed, or the system refuses a thread.
    pub fn wait(self) -> Result<(), Error> {
        let Self { workers, is_accepting: _, port_drain, signals, stopper, status, grace } = self;
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
