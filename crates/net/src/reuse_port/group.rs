//! This process's sockets in a reuseport group.

use std::{
    io,
    net::SocketAddr,
    os::fd::{AsFd, OwnedFd},
};

use rustix::fs::fstat;
use tokio::time::Instant;

use crate::{PortLock, socket_filter};

use crate::reuse_port::{
    layout::Layout,
    probe,
    program::{self, Dropped},
    table,
};

/// This process's sockets on an address that other processes may share. Dropping it closes them in an order in which no
/// connection is directed to one of them, and restores the group.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) address: SocketAddr,
    sockets: Vec<OwnedFd>,
    /// Their numbers, while connections are redirected to the others.
    layout: Option<Layout>,
    /// Held until they are closed.
    lock: Option<PortLock>,
}

impl Group {
    /// A group without sockets yet.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, sockets: Vec::new(), layout: None, lock: None }
    }

    /// Adds a socket, unless it is a duplicate of another; the kernel closes it when this and all other duplicates are
    /// closed.
    ///
    /// # Errors
    ///
    /// When the process cannot open more descriptors.
    pub(crate) fn add(&mut self, socket: impl AsFd) -> io::Result<()> {
        let number = fstat(&socket)?.st_ino;
        if !self.sockets.iter().any(|known| fstat(known).is_ok_and(|known| known.st_ino == number)) {
            self.sockets.push(socket.as_fd().try_clone_to_owned()?);
        }
        Ok(())
    }

    /// How many sockets other processes have in the group.
    ///
    /// # Errors
    ///
    /// When the kernel's table cannot be read.
    pub(crate) fn count_others(&self) -> io::Result<usize> {
        Ok(table::count_listeners(self.address)?.saturating_sub(self.sockets.len()))
    }

    /// Waits until no other process drains this address, or the deadline.
    pub(crate) async fn acquire_lock(&mut self, deadline: Instant) {
        self.lock = PortLock::acquire(self.address, deadline).await;
    }

    /// Whether connections are redirected to the others.
    pub(crate) fn is_redirected(&self) -> bool {
        self.layout.is_some()
    }

    /// Redirects new connections to the others. If that fails, the kernel distributes them as before.
    pub(crate) fn redirect(&mut self) {
        self.layout = None;
        for _ in 0..TRIES {
            match self.try_redirect() {
                Ok(Some(layout)) => {
                    self.layout = Some(layout);
                    return;
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(address = %self.address, %error, "cannot redirect new connections");
                    break;
                }
            }
        }
        self.detach();
    }

    fn try_redirect(&self) -> io::Result<Option<Layout>> {
        let size = table::count_listeners(self.address)?;
        let Some(layout) = probe::find(&self.sockets, self.address, size)? else { return Ok(None) };
        if let Some(socket) = self.sockets.first() {
            program::redirect(socket, &layout.others())?;
        }
        Ok(Some(layout))
    }

    /// From now on the kernel drops SYNs to these sockets; clients retransmit them a second later, to another socket.
    pub(crate) fn drop_new_connections(&self) {
        for socket in &self.sockets {
            if let Err(error) = program::drop_packets(socket, Dropped::NewConnections) {
                tracing::debug!(address = %self.address, %error, "the last connections may be lost");
            }
        }
    }

    /// Lets the kernel distribute connections among all sockets again.
    fn detach(&self) {
        if let Some(error) =
            self.sockets.first().and_then(|socket| socket_filter::detach_reuseport_program(socket).err())
        {
            tracing::debug!(address = %self.address, %error, "a program that selects sockets may remain attached");
        }
    }

    /// Closes one socket after the other, while new connections are directed to sockets whose numbers do not change.
    /// Only with the last one the group is without a program for an instant.
    fn close_in_order(&mut self) {
        let Some(mut layout) = self.layout.take() else { return };
        let mut sockets: Vec<_> = std::mem::take(&mut self.sockets).into_iter().map(Some).collect();
        while let Some(number) = layout.next_to_close() {
            let (is_last, stable_others) = (layout.count_ours() == 1, layout.stable_others());
            let Some(socket) = layout.close(number).and_then(|which| sockets.get_mut(which)?.take()) else { return };
            let prepared = if is_last {
                socket_filter::detach_reuseport_program(&socket)
            } else {
                program::redirect(&socket, &stable_others)
            };
            if let Err(error) = prepared {
                tracing::debug!(address = %self.address, %error, "the last connections may be delayed");
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.close_in_order();
    }
}

/// A contradictory layout means that another process joined or left in the same millisecond.
const TRIES: usize = 3;
