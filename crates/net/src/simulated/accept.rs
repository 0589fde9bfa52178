//! Accepting connections in memory, with the names of `accept.rs`.

use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use crate::{
    AcceptError, Address, Listener, Peer, Socket,
    simulated::{self, Queue},
};

/// A [`Listener`], which accepts the connections of this thread.
#[derive(Debug)]
pub struct Acceptor {
    listener: Listener,
    port: u16,
    queue: Arc<Mutex<Queue>>,
}

/// A new connection.
#[derive(Debug)]
pub struct Accepted {
    /// The socket.
    pub socket: Socket,
    /// The peer.
    pub peer: Peer,
    /// The address to which the peer connected.
    pub local: Option<SocketAddr>,
}

impl Acceptor {
    /// Has connections to the listener's port arrive here.
    ///
    /// # Errors
    ///
    /// It is a unix socket, or the thread is not one of the simulation.
    pub fn new(listener: Listener) -> io::Result<Self> {
        simulated::require()?;
        let Address::Tcp(address) = *listener.local_address() else { return Err(io::ErrorKind::Unsupported.into()) };
        Ok(Self { listener, port: address.port(), queue: simulated::listen(address.port()) })
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    ///
    /// See [`AcceptError`].
    pub async fn accept(&mut self) -> Result<Accepted, AcceptError> {
        poll_fn(|context| self.poll_accept(context)).await
    }

    /// [`accept`](Self::accept) as a poll function.
    ///
    /// # Errors
    ///
    /// See [`AcceptError`].
    pub fn poll_accept(&mut self, context: &mut Context<'_>) -> Poll<Result<Accepted, AcceptError>> {
        ready!(self.poll_waiting(context))?;
        simulated::require_descriptor().map_err(AcceptError::Exhausted)?;
        match self.lock().waiting.pop_front() {
            Some((socket, peer)) => {
                let local = socket.local_address();
                Poll::Ready(Ok(Accepted { socket, peer: Peer::Tcp(peer), local }))
            }
            None => Poll::Pending,
        }
    }

    /// Ready when a connection waits to be accepted.
    ///
    /// # Errors
    ///
    /// None.
    pub fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<Result<(), AcceptError>> {
        self.lock().poll_waiting(context).map(Ok)
    }

    /// The listener inside.
    pub fn listener(&self) -> &Listener {
        &self.listener
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        simulated::close(self.port);
    }
}
