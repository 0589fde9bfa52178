//! A listening socket that the parent process (a supervisor, systemd, a hot deploy) left open for this one.

use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketAddrAny, SocketAddrUnix, getsockname, sockopt};

use super::bind_error::Cause;
use super::{LOWEST_DESCRIPTOR, Listener};
use crate::{Address, sending::send_without_delay};

/// Makes descriptor `number` a listener.
///
/// The listener is a duplicate. The number itself stays open, so that it can be adopted again, but is no longer
/// inherited by programs this one executes, which would keep the port busy; closing it would not make the kernel refuse
/// clients, since the process that passed it on holds it too.
pub(super) fn adopt(number: RawFd) -> Result<Listener, Cause> {
    if number < 0 {
        return Err(Cause::DescriptorClosed);
    }
    // SAFETY: the borrow ends with this function and serves two calls: one duplicates the descriptor and says EBADF if
    // it is not open, the other sets close-on-exec, which Rust sets on every descriptor of its own. So should the
    // number belong to some other part of the program, nothing is closed, moved or read there.
    let given = unsafe { BorrowedFd::borrow_raw(number) };
    let socket = fcntl_dupfd_cloexec(given, LOWEST_DESCRIPTOR).map_err(cause)?;
    require_listening(&socket)?;
    fcntl_setfd(given, FdFlags::CLOEXEC).map_err(cause)?;
    listener(socket, number)
}

/// Makes a socket that another process opened and passed on a listener.
pub(super) fn take(socket: OwnedFd) -> Result<Listener, Cause> {
    let number = socket.as_raw_fd();
    require_listening(&socket)?;
    listener(socket, number)
}

fn require_listening(socket: &OwnedFd) -> Result<(), Cause> {
    match sockopt::socket_acceptconn(socket) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Cause::DescriptorNotListening),
        Err(errno) => Err(cause(errno)),
    }
}

fn listener(socket: OwnedFd, number: RawFd) -> Result<Listener, Cause> {
    ioctl_fionbio(&socket, true).map_err(Cause::kernel)?;
    let local = getsockname(&socket).map_err(Cause::kernel)?;
    if matches!(local.address_family(), AddressFamily::INET | AddressFamily::INET6) {
        send_without_delay(&socket).map_err(Cause::kernel)?;
    }
    Ok(Listener::new(address_of(local, number), None, socket))
}

/// The address; a socket without a name is identified by its number.
fn address_of(local: SocketAddrAny, number: RawFd) -> Address {
    if let Ok(address) = SocketAddr::try_from(local.clone()) {
        return Address::Tcp(address);
    }
    let Ok(address) = SocketAddrUnix::try_from(local) else {
        return Address::Descriptor(number);
    };
    match (address.path_bytes(), address.abstract_name()) {
        (Some(path), _) => Address::Unix(OsStr::from_bytes(path).into()),
        (_, Some(name)) => Address::Unix(OsString::from_vec([b"@", name].concat()).into()),
        (None, None) => Address::Descriptor(number),
    }
}

fn cause(errno: Errno) -> Cause {
    match errno {
        Errno::BADF => Cause::DescriptorClosed,
        Errno::NOTSOCK => Cause::DescriptorNotASocket,
        errno => Cause::kernel(errno),
    }
}
