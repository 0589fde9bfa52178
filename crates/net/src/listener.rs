//! Listening sockets: TCP, unix, or inherited from the parent process.

mod bind_error;
mod drain;
mod inherited;
mod occupant;
mod tcp;
mod unix;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::io::fcntl_dupfd_cloexec;

use crate::Address;
pub use bind_error::BindError;
use bind_error::Cause;
pub use drain::{DrainMember, PortDrained};
use unix::SocketFile;

/// Socket options for listening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListenOptions {
    /// How many connections may wait to be accepted, for each socket. The kernel silently lowers it to the sysctl
    /// `net.core.somaxconn`. An inherited socket keeps the length that its opener chose.
    pub backlog: u32,
    /// Listen beside other processes that share the port (SO_REUSEPORT, same user), such as the version of this program
    /// that is about to be replaced; the kernel distributes the connections among all. Without it, a second start fails
    /// because the port is in use. It has no effect on unix sockets and descriptors. `reuse_port` drains such a
    /// port without losing a connection.
    pub share: bool,
    /// Permission bits of the unix socket's file, such as `0o660`; without it, what the umask leaves of `0o777`.
    /// Connecting takes permission to write.
    pub unix_mode: Option<u32>,
}

impl Default for ListenOptions {
    fn default() -> Self {
        Self { backlog: DEFAULT_BACKLOG, share: false, unix_mode: None }
    }
}

/// A listening socket: it does not block, and programs that are executed do not inherit it.
///
/// The file of a unix socket is removed when the last listener of that socket is dropped, unless another server has
/// replaced it by its own.
#[derive(Debug)]
pub struct Listener {
    address: Address,
    /// Stands before the socket because fields are dropped in order: while the socket is open, its file's inode number
    /// cannot go to another file.
    file: Option<Arc<SocketFile>>,
    socket: OwnedFd,
    /// Whether other processes may listen on the same address.
    shared: bool,
    /// For a drain that waits until this listener is dropped. Declared after the socket, which is closed by then.
    drain: Option<DrainMember>,
}

impl Listener {
    /// Listens on `address` with one socket.
    ///
    /// # Errors
    ///
    /// See [`BindError`].
    pub fn bind(address: &Address, options: &ListenOptions) -> Result<Self, BindError> {
        let mut listeners = Self::for_workers(address, options, 1)?;
        // `for_workers` returns as many as it was called with.
        Ok(listeners.swap_remove(0))
    }

    /// Listens on `address` with one listener for each of `workers` threads (at least one).
    ///
    /// TCP listeners are a group of sockets (SO_REUSEPORT): the kernel gives each connection to one of them, so that a
    /// connection wakes one worker only. Port 0 gives the whole group the same port.
    ///
    /// Listeners of a unix socket or a descriptor are duplicates of one socket. A connection may then wake every
    /// worker that is asleep, of which one gets it; the others have made one system call in vain, so this costs at most
    /// `workers` calls per connection, and nothing while all are busy.
    ///
    /// # Errors
    ///
    /// See [`BindError`]. Whether a port is in use shows when one socket binds it alone first, since the kernel lets a
    /// group share it with another group of the same user: two programs that start at the same moment may both succeed.
    pub fn for_workers(address: &Address, options: &ListenOptions, workers: usize) -> Result<Vec<Self>, BindError> {
        let workers = workers.max(1);
        match address {
            Address::Tcp(address) => tcp::listen(*address, options, workers),
            Address::Unix(path) => unix::listen(path, options).and_then(|listener| listener.duplicates(workers)),
            Address::Descriptor(number) => inherited::adopt(*number).and_then(|listener| listener.duplicates(workers)),
        }
        .map_err(|cause| BindError::new(address, cause))
    }

    /// Divides the sockets of one address, which another process opened and passed on, among `workers` threads (at
    /// least one): each socket belongs to a thread, and each thread has a socket.
    ///
    /// # Errors
    ///
    /// See [`BindError`].
    pub fn divide(sockets: Vec<OwnedFd>, workers: usize) -> Result<Vec<Vec<Self>>, BindError> {
        let described = |number, cause| BindError::new(&Address::Descriptor(number), cause);
        let mut divided: Vec<Vec<Self>> = (0..workers.max(1)).map(|_| Vec::new()).collect();
        let count = divided.len();
        let mut taken = Vec::with_capacity(sockets.len());
        for socket in sockets {
            let number = socket.as_raw_fd();
            taken.push(inherited::take(socket).map_err(|cause| described(number, cause))?);
        }
        for number in taken.len()..if taken.is_empty() { 0 } else { count } {
            let duplicate = taken[number % taken.len()].duplicate();
            taken.push(duplicate.map_err(|cause| described(taken[0].as_raw_fd(), cause))?);
        }
        for (number, listener) in taken.into_iter().enumerate() {
            divided[number % count].push(listener);
        }
        Ok(divided)
    }

    /// The address it listens on: the port the kernel chose instead of 0, and a descriptor's address instead of its
    /// number.
    pub fn local_address(&self) -> &Address {
        &self.address
    }

    /// Whether other processes may listen on the same address ([`ListenOptions::share`]).
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// Marks a listener whose opener shared the port with other processes ([`ListenOptions::share`]). It has no effect
    /// on a unix socket.
    #[must_use]
    pub fn shared_with_others(self) -> Self {
        Self { shared: matches!(self.address, Address::Tcp(_)), ..self }
    }

    fn new(address: Address, file: Option<Arc<SocketFile>>, socket: OwnedFd) -> Self {
        Self { address, file, socket, shared: false, drain: None }
    }

    /// This listener and as many duplicates as make `count` of them.
    fn duplicates(self, count: usize) -> Result<Vec<Self>, Cause> {
        let mut listeners = vec![self];
        while listeners.len() < count {
            let duplicate = listeners[0].duplicate()?;
            listeners.push(duplicate);
        }
        Ok(listeners)
    }

    fn duplicate(&self) -> Result<Self, Cause> {
        let Self { address, file, socket, .. } = self;
        let socket = fcntl_dupfd_cloexec(socket, LOWEST_DESCRIPTOR).map_err(Cause::kernel)?;
        Ok(Self::new(address.clone(), file.clone(), socket))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// The default of `net.core.somaxconn` since Linux 5.4. A burst that overflows the queue costs its clients a second,
/// the first retransmission of their SYN; an entry that is not used costs nothing.
const DEFAULT_BACKLOG: u32 = 4096;

/// Duplicates stay clear of standard input, output and error, even where one of those is closed.
const LOWEST_DESCRIPTOR: RawFd = 3;

/// The backlog as the kernel takes it, a signed number.
fn backlog(options: &ListenOptions) -> i32 {
    i32::try_from(options.backlog).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests;
