//! Listening on an IP address and port.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, ipproto, socket_with, sockopt};

use super::bind_error::Cause;
use super::{ListenOptions, Listener, backlog};
use crate::{port_lock::PortLock, sending::send_without_delay, socket_filter};

/// Opens `count` sockets that listen on `address`, in one group if it is more than one.
pub(super) fn listen(address: SocketAddr, options: &ListenOptions, count: usize) -> Result<Vec<Listener>, Cause> {
    let grouped = options.share || count > 1;
    if grouped && !options.share {
        // Bound alone, the port is refused while another socket listens on it; a port that the kernel chooses is unique
        // even in a group.
        open(address, false)?;
    }
    let mut address = address;
    let mut listeners = Vec::with_capacity(count);
    for _ in 0..count {
        let socket = open(address, grouped)?;
        rustix::net::listen(&socket, backlog(options)).map_err(|errno| cause(errno, address))?;
        // The port and the family of the first socket hold for all.
        address = getsockname(&socket).and_then(SocketAddr::try_from).map_err(Cause::kernel)?;
        listeners.push(Listener { shared: options.share, ..Listener::new(address.into(), None, socket) });
    }
    if let Some(listener) = listeners.first().filter(|_| options.share) {
        remove_stale_program(listener, address);
    }
    Ok(listeners)
}

/// Removes a program from the group that a crashed process has left behind, so that the kernel distributes connections.
fn remove_stale_program(listener: &Listener, address: SocketAddr) {
    // A process that drains the port right now removes its program when it is done.
    if !PortLock::is_held(address) {
        let _ = socket_filter::detach_reuseport_program(listener);
    }
}

/// A socket bound to `address`, not yet listening.
fn open(address: SocketAddr, grouped: bool) -> Result<OwnedFd, Cause> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = match socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP)) {
        // "All addresses" on a kernel without IPv6 are those of IPv4.
        Err(Errno::AFNOSUPPORT) if address.ip() == Ipv6Addr::UNSPECIFIED => {
            return open(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), address.port()), grouped);
        }
        result => result.map_err(|errno| cause(errno, address))?,
    };
    prepare(&socket, address, grouped).map_err(|errno| cause(errno, address))?;
    Ok(socket)
}

fn prepare(socket: &OwnedFd, address: SocketAddr, grouped: bool) -> Result<(), Errno> {
    // Otherwise a restart would have to wait for the last connections to leave TIME_WAIT, a minute.
    sockopt::set_socket_reuseaddr(socket, true)?;
    if grouped {
        sockopt::set_socket_reuseport(socket, true)?;
    }
    if address.ip() == Ipv6Addr::UNSPECIFIED {
        // [::] means IPv4 too, whatever net.ipv6.bindv6only says.
        sockopt::set_ipv6_v6only(socket, false)?;
    }
    // Linux copies the options to accepted sockets, so they cost no call per connection.
    send_without_delay(socket)?;
    bind(socket, &address)
}

fn cause(errno: Errno, address: SocketAddr) -> Cause {
    match errno {
        Errno::ADDRINUSE => Cause::InUse,
        Errno::ACCESS | Errno::PERM if address.port() < UNPRIVILEGED_PORTS_START => Cause::PrivilegedPort,
        Errno::ADDRNOTAVAIL => Cause::NotOurAddress,
        Errno::AFNOSUPPORT => Cause::NoSuchFamily,
        errno => Cause::Kernel(io::Error::from(errno)),
    }
}

/// The default of `net.ipv4.ip_unprivileged_port_start`; it only selects the error message.
const UNPRIVILEGED_PORTS_START: u16 = 1024;
