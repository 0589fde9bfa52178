//! Our part of the sockets that share an address.

use std::{
    io,
    net::SocketAddr,
    os::fd::{AsFd, OwnedFd},
};

use rustix::fs::fstat;
use tokio::time::Instant;

use serow_net::{PortLock, socket_filter};

use crate::{
    layout::Layout,
    probe,
    program::{self, Dropped},
    table,
};

/// Our sockets at an address where other processes may have some too. They are closed when it is dropped, so that nobody
/// is led to one of them meanwhile, and nothing stays behind.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) address: SocketAddr,
    sockets: Vec<OwnedFd>,
    /// Where they are, while connections are led to the others.
    layout: Option<Layout>,
    /// Kept until they are closed.
    lock: Option<PortLock>,
}

impl Group {
    /// None of ours yet.
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self { address, sockets: Vec::new(), layout: None, lock: None }
    }

    /// One more of ours, if it is not a duplicate of another; it is closed when this and all other duplicates are.
    ///
    /// # Errors
    ///
    /// When the process may open no more descriptors.
    pub(crate) fn add(&mut self, socket: impl AsFd) -> io::Result<()> {
        let number = fstat(&socket)?.st_ino;
        if !self.sockets.iter().any(|known| fstat(known).is_ok_and(|known| known.st_ino == number)) {
            self.sockets.push(socket.as_fd().try_clone_to_owned()?);
        }
        Ok(())
    }

    /// How many sockets of others there are.
    ///
    /// # Errors
    ///
    /// When the kernel does not tell.
    pub(crate) fn count_others(&self) -> io::Result<usize> {
        Ok(table::count_listeners(self.address)?.saturating_sub(self.sockets.len()))
    }

    /// Waits until no other process leaves this address, or the deadline.
    pub(crate) async fn take_turn(&mut self, deadline: Instant) {
        self.lock = PortLock::acquire(self.address, deadline).await;
    }

    /// Whether connections are led to the others.
    pub(crate) fn is_steered(&self) -> bool {
        self.layout.is_some()
    }

    /// Leads new connections to the others. Where that cannot be done, it is as it was before.
    pub(crate) fn steer(&mut self) {
        self.layout = None;
        for _ in 0..TRIES {
            match self.try_steer() {
                Ok(Some(layout)) => {
                    self.layout = Some(layout);
                    return;
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::debug!(address = %self.address, %error, "new connections cannot be led to others");
                    break;
                }
            }
        }
        self.let_go();
    }

    fn try_steer(&self) -> io::Result<Option<Layout>> {
        let size = table::count_listeners(self.address)?;
        let Some(layout) = probe::find(&self.sockets, self.address, size)? else { return Ok(None) };
        if let Some(socket) = self.sockets.first() {
            program::steer(socket, &layout.others())?;
        }
        Ok(Some(layout))
    }

    /// From now on connections that begin at one of our sockets begin again, a second later and at another's.
    pub(crate) fn turn_away(&self) {
        for socket in &self.sockets {
            if let Err(error) = program::drop_packets(socket, Dropped::Newcomers) {
                tracing::debug!(address = %self.address, %error, "the last connections may be lost");
            }
        }
    }

    /// The kernel chooses among all again.
    fn let_go(&self) {
        if let Some(error) =
            self.sockets.first().and_then(|socket| socket_filter::detach_reuseport_program(socket).err())
        {
            tracing::debug!(address = %self.address, %error, "a program may stay behind that chooses sockets");
        }
    }

    /// Closes one after the other, each while new connections are led to where no other one moves. Only with the last it
    /// is for an instant as without a program.
    fn close_in_order(&mut self) {
        let Some(mut layout) = self.layout.take() else { return };
        let mut sockets: Vec<_> = std::mem::take(&mut self.sockets).into_iter().map(Some).collect();
        while let Some(number) = layout.next_to_close() {
            let (is_last, lasting) = (layout.count_ours() == 1, layout.lasting());
            let Some(socket) = layout.close(number).and_then(|which| sockets.get_mut(which)?.take()) else { return };
            let prepared = if is_last {
                socket_filter::detach_reuseport_program(&socket)
            } else {
                program::steer(&socket, &lasting)
            };
            if let Err(error) = prepared {
                tracing::debug!(address = %self.address, %error, "the last connections may be late");
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.close_in_order();
    }
}

/// What does not fit together comes of somebody who joins or leaves in the same millisecond.
const TRIES: usize = 3;
