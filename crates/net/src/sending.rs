//! How TCP sockets send.

use std::os::fd::AsFd;

use rustix::{io::Errno, net::sockopt};

/// Sets how a connection sends, or those that a listening socket accepts.
///
/// Nagle's algorithm is off: it would hold back the last part of a message until the peer has acknowledged the part
/// before. And the kernel queues no more than [`MAX_UNSENT`](serow_pacing::MAX_UNSENT) that the peer has no room for.
/// Without a bound it takes up to 4 MB for each peer that does not read: a thousand of them cost 4 GB and three seconds of
/// processor time, and were cut off at four times the time for bodies, since the queue kept moving. With this one they
/// cost 0.4 s and are cut off in time, and 64 clients that fetch 1 MB each cost a quarter less. Half of it saves nothing
/// more and takes wake-ups from clients that fetch 100 MB. Towards servers it shows early that one is slow, so that the
/// window of a client that uploads over HTTP/2 does not grow.
pub(crate) fn send_without_delay(socket: &impl AsFd) -> Result<(), Errno> {
    sockopt::set_tcp_nodelay(socket, true)?;
    #[cfg(target_os = "linux")]
    // A kernel that does not know it queues more.
    let _ = socket2::SockRef::from(socket).set_tcp_notsent_lowat(serow_pacing::MAX_UNSENT);
    Ok(())
}
