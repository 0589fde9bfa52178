//! Which process connected to a unix socket, as the kernel noted it (SO_PEERCRED, unix(7)).

use std::{io, num::NonZeroU32, os::fd::OwnedFd};

/// The process that called connect(2) for the other end, as it was at that moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCredentials {
    /// Its id; `None` where it is in a PID namespace that this process does not see.
    pub process: Option<NonZeroU32>,
    /// Its effective user id.
    pub user: u32,
}

impl PeerCredentials {
    /// Not rustix' `socket_peercred`: its `Pid` cannot be 0, which the kernel gives for a process of another namespace.
    #[cfg(target_os = "linux")]
    pub(crate) fn of(descriptor: &OwnedFd) -> io::Result<Self> {
        use std::os::fd::AsRawFd;

        let mut raw = libc::ucred { pid: 0, uid: u32::MAX, gid: u32::MAX };
        let mut length = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, which is the size of the structure, and any bytes are valid
        // integers in it.
        let result = unsafe {
            let (value, length) = ((&raw mut raw).cast(), &raw mut length);
            libc::getsockopt(descriptor.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, value, length)
        };
        if result != 0 {
            return Err(io::Error::last_os_error());
        }
        if raw.uid == u32::MAX {
            // What a socket has that nobody connected by connect(2) or socketpair(2).
            return Err(io::ErrorKind::NotConnected.into());
        }
        Ok(Self { process: u32::try_from(raw.pid).ok().and_then(NonZeroU32::new), user: raw.uid })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(_: &OwnedFd) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        net::{TcpListener, TcpStream},
        os::unix::net::UnixStream,
        process,
    };

    use super::*;

    #[test]
    fn the_peer_of_a_unix_socket_is_this_process() {
        let (socket, _other) = UnixStream::pair().unwrap();
        let credentials = PeerCredentials::of(&socket.into()).unwrap();
        assert_eq!(credentials.process, NonZeroU32::new(process::id()));
        assert_eq!(credentials.user, rustix::process::geteuid().as_raw());
    }

    #[test]
    fn a_tcp_socket_has_no_credentials() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(PeerCredentials::of(&socket.into()).is_err());
    }
}
