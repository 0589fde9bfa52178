//! Which process connected to a unix socket, as the kernel noted it (SO_PEERCRED, unix(7)).

use std::{
    io, mem,
    num::NonZeroU32,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
};

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
    #[cfg_attr(feature = "simulation", expect(dead_code, reason = "no socket of the simulation is a unix socket"))]
    pub(crate) fn of(descriptor: BorrowedFd<'_>) -> io::Result<Self> {
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
            // The kernel's value for a socket that connect(2) or socketpair(2) did not connect.
            return Err(io::ErrorKind::NotConnected.into());
        }
        Ok(Self { process: u32::try_from(raw.pid).ok().and_then(NonZeroU32::new), user: raw.uid })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of(_: BorrowedFd<'_>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Has the kernel note with each datagram which process sent it, for [`receive_from_process`] (SO_PASSCRED, unix(7)).
///
/// # Errors
///
/// Those of setsockopt(2).
#[cfg(target_os = "linux")]
pub fn note_senders(socket: impl AsFd) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_passcred(socket, true)?)
}

/// Receives a datagram of a unix socket without waiting; gives its length, and which process sent it, where that was
/// noted.
///
/// # Errors
///
/// Those of recvmsg(2): `EAGAIN` where there is nothing yet.
#[cfg(target_os = "linux")]
pub fn receive_from_process(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, Option<PeerCredentials>)> {
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut control = Control([0; CONTROL_LENGTH]);
    // SAFETY: all fields of the structure are integers and pointers, for which zeros are valid.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_LENGTH as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
    // SAFETY: the message points to `buffer` and `control`, which live through the call, with their lengths.
    let length = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, flags) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has filled in the message, whose control buffer is still there, and aligned as its headers
    // are.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    if header.is_null() {
        return Ok((length, None));
    }
    // SAFETY: the header is not null, so it is a whole one within the control buffer.
    let kind = unsafe { ((*header).cmsg_level, (*header).cmsg_type) };
    if kind != (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) {
        return Ok((length, None));
    }
    // SAFETY: what follows a header of this type is a `ucred`; any bytes are valid integers in it.
    let raw = unsafe { libc::CMSG_DATA(header).cast::<libc::ucred>().read_unaligned() };
    let process = u32::try_from(raw.pid).ok().and_then(NonZeroU32::new);
    Ok((length, Some(PeerCredentials { process, user: raw.uid })))
}

/// Room for the credentials and no descriptors: those that somebody sends along are closed by the kernel.
#[cfg(target_os = "linux")]
#[repr(C, align(8))]
struct Control([u8; CONTROL_LENGTH]);

/// CMSG_SPACE of a `ucred`: a header of 16 bytes, and 12 bytes that are filled up to 16.
#[cfg(target_os = "linux")]
const CONTROL_LENGTH: usize = 32;

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        net::{TcpListener, TcpStream},
        os::unix::net::{UnixDatagram, UnixStream},
        process,
    };

    use super::*;

    #[test]
    fn the_peer_of_a_unix_socket_is_this_process() {
        let (socket, _other) = UnixStream::pair().unwrap();
        let credentials = PeerCredentials::of(socket.as_fd()).unwrap();
        assert_eq!(credentials.process, NonZeroU32::new(process::id()));
        assert_eq!(credentials.user, rustix::process::geteuid().as_raw());
    }

    #[test]
    fn the_sender_of_a_datagram_is_this_process() {
        let (receiver, sender) = UnixDatagram::pair().unwrap();
        let mut buffer = [0; 8];
        assert_eq!(receive_from_process(&receiver, &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        sender.send(b"before").unwrap();
        assert_eq!(receive_from_process(&receiver, &mut buffer).unwrap(), (6, None));
        note_senders(&receiver).unwrap();
        sender.send(b"READY=1").unwrap();
        let (length, credentials) = receive_from_process(&receiver, &mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"READY=1");
        let expected =
            PeerCredentials { process: NonZeroU32::new(process::id()), user: rustix::process::getuid().as_raw() };
        assert_eq!(credentials, Some(expected));
    }

    #[test]
    fn a_tcp_socket_has_no_credentials() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        assert!(PeerCredentials::of(socket.as_fd()).is_err());
    }
}
