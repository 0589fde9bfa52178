//! A connected socket, TCP or unix, with the few system calls the server needs.

mod event_source;

use std::{
    cell::Cell,
    fs::File,
    io::{self, IoSlice},
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::BytesMut;
use rustix::{
    event::{PollFd, PollFlags, Timespec},
    io::Errno,
    net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown},
};
use serow_pacing::TcpInfo;

use self::event_source::EventSource;
use crate::{More, PeerCredentials, Readable, tcp_info};

/// A connected socket in a tokio runtime.
///
/// Receiving waits for readiness first and sending tries first: a request and its small response cost one call each.
///
/// The event loop gets to know a socket when it is first waited for. A connection of one request, whose bytes have come by
/// the time it is accepted, ends before that, and costs neither of the two calls of epoll_ctl(2).
#[derive(Debug)]
pub struct Socket {
    descriptor: EventSource,
    /// Whether the first receiving is still to come, which tries before it waits.
    is_fresh: Cell<bool>,
}

impl Socket {
    /// Registers a connected, non-blocking socket with the tokio runtime of this thread.
    ///
    /// # Errors
    ///
    /// When epoll takes no more descriptors (epoll_ctl(2)).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O enabled.
    pub fn new(descriptor: OwnedFd) -> io::Result<Self> {
        let socket = Self { descriptor: EventSource::new(descriptor), is_fresh: Cell::new(false) };
        socket.descriptor.registered()?;
        Ok(socket)
    }

    /// A connected, non-blocking socket that was just accepted: the peer's first bytes may be there already. It is
    /// registered with the tokio runtime of the thread that first waits for it.
    #[must_use]
    pub fn accepted(descriptor: OwnedFd) -> Self {
        Self { descriptor: EventSource::new(descriptor), is_fresh: Cell::new(true) }
    }

    /// Registers it with the tokio runtime of this thread, where that has not been done.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn register(&self) -> io::Result<()> {
        self.descriptor.registered().map(drop)
    }

    /// Receives into the free room of the buffer; 0 is the end of the input. `prepare` is called when there may be
    /// something to receive, and must make room.
    ///
    /// # Errors
    ///
    /// Those of recv(2).
    #[inline]
    pub fn poll_receive(
        &self,
        context: &mut Context<'_>,
        buffer: &mut BytesMut,
        prepare: impl Fn(&mut BytesMut),
    ) -> Poll<io::Result<usize>> {
        // Once only: a task that receives in a loop yields to others by waiting for readiness.
        if self.is_fresh.replace(false) {
            prepare(buffer);
            match receive(self.descriptor.descriptor(), buffer) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                received => return Poll::Ready(received.map_err(io::Error::from)),
            }
        }
        let registered = self.descriptor.registered()?;
        loop {
            let mut guard = ready!(registered.poll_read_ready(context))?;
            prepare(buffer);
            let room = buffer.capacity() - buffer.len();
            match receive(self.descriptor.descriptor(), buffer) {
                Ok(received) => {
                    // Less than there was room for: the kernel has no more, and epoll will tell when it has. Saves the
                    // call that would find out. (An end that came along stays noted: tokio keeps it as read-closed.)
                    if received < room {
                        guard.clear_ready();
                    }
                    return Poll::Ready(Ok(received));
                }
                Err(Errno::AGAIN) => guard.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    /// Sends as many bytes as the kernel takes at once, which may be none.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_send`].
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        match rustix::net::send(self.descriptor.descriptor(), bytes, More::Nothing.flags()) {
            Ok(sent) => Ok(sent),
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends as many bytes as the kernel takes.
    ///
    /// # Errors
    ///
    /// Those of send(2); a peer that is gone is `BrokenPipe` or `ConnectionReset`, never a signal.
    #[inline]
    pub fn poll_send(&self, context: &mut Context<'_>, bytes: &[u8], more: More) -> Poll<io::Result<usize>> {
        self.poll_write(context, |descriptor| rustix::net::send(descriptor, bytes, more.flags()))
    }

    /// Sends as many bytes of several pieces as the kernel takes, in one call.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_send`].
    pub fn poll_send_pieces(
        &self,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
        more: More,
    ) -> Poll<io::Result<usize>> {
        self.poll_write(context, |descriptor| {
            rustix::net::sendmsg(descriptor, pieces, &mut SendAncillaryBuffer::default(), more.flags())
        })
    }

    /// Sends as many bytes of a file as the kernel takes, without copying them, and moves the offset; 0 is the end of
    /// the file.
    ///
    /// # Errors
    ///
    /// Those of sendfile(2).
    pub fn poll_send_file(
        &self,
        context: &mut Context<'_>,
        file: &File,
        offset: &mut u64,
        length: u64,
    ) -> Poll<io::Result<usize>> {
        let count = usize::try_from(length).unwrap_or(usize::MAX).min(MAX_AT_ONCE);
        self.poll_write(context, |descriptor| rustix::fs::sendfile(descriptor, file, Some(&mut *offset), count))
    }

    /// Moves received bytes into an empty pipe, at most `most`, without copying them (splice(2)); 0 is the end of the
    /// input.
    ///
    /// # Errors
    ///
    /// Those of splice(2): not supported on systems other than Linux.
    pub fn poll_receive_piped(
        &self,
        context: &mut Context<'_>,
        pipe: BorrowedFd<'_>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let registered = self.descriptor.registered()?;
        loop {
            let mut guard = ready!(registered.poll_read_ready(context))?;
            match splice(self.descriptor.descriptor(), pipe, most) {
                Ok(received) => return Poll::Ready(Ok(received)),
                // The pipe is empty, so it is the socket that has nothing.
                Err(Errno::AGAIN) => guard.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    /// Sends as many bytes as the kernel takes of a pipe that has `length`, without copying them (splice(2)).
    ///
    /// # Errors
    ///
    /// As [`Self::poll_send`]. A peer that is gone must not send a signal (SIGPIPE, signal(7)): the process ignores it, as
    /// every program in Rust does.
    pub fn poll_send_piped(
        &self,
        context: &mut Context<'_>,
        pipe: BorrowedFd<'_>,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        self.poll_write(context, |descriptor| splice(pipe, descriptor, length))
    }

    /// The process at the other end of a unix socket.
    ///
    /// # Errors
    ///
    /// Those of getsockopt(2): not supported for TCP sockets, nor on systems other than Linux.
    pub fn peer_credentials(&self) -> io::Result<PeerCredentials> {
        PeerCredentials::of(self.descriptor.descriptor())
    }

    /// The state of the connection's path and queues (TCP_INFO, tcp(7)). Takes a microsecond.
    ///
    /// # Errors
    ///
    /// Those of getsockopt(2): not supported for unix sockets, nor on systems other than Linux.
    pub fn tcp_info(&self) -> io::Result<TcpInfo> {
        read_tcp_info(self.descriptor.descriptor())
    }

    /// From so many unsent bytes on the kernel takes no more, and it wakes the sender when they are fewer than half of
    /// that (TCP_NOTSENT_LOWAT, tcp(7)). One packet of up to 64 KiB may still go beyond.
    ///
    /// # Errors
    ///
    /// Those of setsockopt(2): not supported for unix sockets, nor on systems other than Linux.
    pub fn set_unsent_low_water(&self, bytes: u32) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        return socket2::SockRef::from(&self.descriptor.descriptor()).set_tcp_notsent_lowat(bytes);
        #[cfg(not(target_os = "linux"))]
        return Err(io::Error::new(io::ErrorKind::Unsupported, format!("cannot keep to {bytes} unsent bytes")));
    }

    /// Ready when fewer than half of [`set_unsent_low_water`](Self::set_unsent_low_water) are unsent.
    ///
    /// For a sender that stopped before the kernel refused anything: epoll tells of room only after a refused send or a
    /// poll(2) that found none, so this is one.
    ///
    /// # Errors
    ///
    /// Those of poll(2); `BrokenPipe` when the connection is gone, so that nothing drains any more.
    pub fn poll_drained(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let registered = self.descriptor.registered()?;
        let descriptor = self.descriptor.descriptor();
        loop {
            // Before the look: room that comes after it makes this readiness an old one, which clearing does not touch.
            let mut guard = ready!(registered.poll_write_ready(context))?;
            let mut polled = [PollFd::new(&descriptor, PollFlags::OUT)];
            match rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
                Ok(0) => guard.clear_ready(),
                // A connection that was reset also counts as writable.
                Ok(_) if polled[0].revents().intersects(PollFlags::ERR | PollFlags::HUP) => {
                    return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
                }
                Ok(_) => return Poll::Ready(Ok(())),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    /// Whether there is input now: asks the kernel, and receives nothing.
    #[must_use]
    pub fn readable(&self) -> Readable {
        // Most often there is nothing, and poll(2) says so without a lock.
        let descriptor = self.descriptor.descriptor();
        let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
        if let Ok(0) = rustix::event::poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            return Readable::Nothing;
        }
        let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
        match rustix::net::recv(descriptor, &mut [0_u8; 1], flags) {
            Err(Errno::AGAIN) => Readable::Nothing,
            Ok((_, 1..)) => Readable::Bytes,
            Ok(_) | Err(_) => Readable::End,
        }
    }

    /// Whether the event loop has noted something to receive, an end of the input included, that was not received yet. It
    /// notes what came until it last [waited for events](crate::event_loop_turn); this asks nobody.
    #[inline]
    #[must_use]
    pub fn is_noted_readable(&self) -> bool {
        self.descriptor.is_noted_readable()
    }

    /// Ready when a connection that is being opened (connect(2), EINPROGRESS) is open.
    ///
    /// # Errors
    ///
    /// Those of connect(2).
    pub fn poll_connected(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.descriptor.registered()?.poll_write_ready(context))?.retain_ready();
        let failure = rustix::net::sockopt::socket_error(self.descriptor.descriptor())?;
        Poll::Ready(failure.map_err(io::Error::from))
    }

    /// Ends the output (shutdown(2)); the peer may continue to send.
    ///
    /// # Errors
    ///
    /// Those of shutdown(2).
    pub fn shut_down(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(self.descriptor.descriptor(), Shutdown::Write)?)
    }

    /// Makes closing the socket reset the connection (SO_LINGER of 0, socket(7)), so that the peer notices the
    /// truncation. A unix socket has no resets and just closes.
    pub fn reset_on_close(&self) {
        // A socket that refuses this is gone already.
        let _ = rustix::net::sockopt::set_socket_linger(self.descriptor.descriptor(), Some(Duration::ZERO));
    }

    /// Makes the call, and again when the kernel has room.
    #[inline]
    fn poll_write(
        &self,
        context: &mut Context<'_>,
        mut call: impl FnMut(BorrowedFd<'_>) -> rustix::io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        match call(self.descriptor.descriptor()) {
            Ok(sent) => return Poll::Ready(Ok(sent)),
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => return Poll::Ready(Err(error.into())),
        }
        let registered = self.descriptor.registered()?;
        loop {
            let mut guard = ready!(registered.poll_write_ready(context))?;
            match call(self.descriptor.descriptor()) {
                Ok(sent) => return Poll::Ready(Ok(sent)),
                Err(Errno::AGAIN) => guard.clear_ready(),
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl More {
    fn flags(self) -> SendFlags {
        match self {
            Self::Follows => SendFlags::NOSIGNAL | SendFlags::MORE,
            Self::Nothing => SendFlags::NOSIGNAL,
        }
    }
}

/// Receives into the free room of the buffer, which must have some.
#[inline]
fn receive(descriptor: BorrowedFd<'_>, buffer: &mut BytesMut) -> rustix::io::Result<usize> {
    let (_, received) = rustix::net::recv(descriptor, buffer.spare_capacity_mut(), RecvFlags::empty())?;
    let length = buffer.len() + received;
    // SAFETY: recv has just written `received` bytes behind the buffer's length, within its capacity.
    unsafe { buffer.set_len(length) };
    Ok(received)
}

/// Moves bytes between a socket and a pipe, whichever is which.
#[cfg(target_os = "linux")]
fn splice(from: BorrowedFd<'_>, to: BorrowedFd<'_>, most: usize) -> rustix::io::Result<usize> {
    use rustix::pipe::SpliceFlags;
    rustix::pipe::splice(from, None, to, None, most, SpliceFlags::MOVE | SpliceFlags::NONBLOCK)
}

#[cfg(not(target_os = "linux"))]
fn splice(_: BorrowedFd<'_>, _: BorrowedFd<'_>, _: usize) -> rustix::io::Result<usize> {
    Err(Errno::NOSYS)
}

#[cfg(target_os = "linux")]
fn read_tcp_info(descriptor: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    let mut raw = [0_u8; tcp_info::LENGTH];
    let mut length = tcp_info::LENGTH as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, which is how many there are, and any bytes are a valid array.
    let result = unsafe {
        let (value, length) = (raw.as_mut_ptr().cast(), &raw mut length);
        libc::getsockopt(descriptor.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, value, length)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(tcp_info::parse(&raw[..tcp_info::LENGTH.min(length as usize)]))
}

#[cfg(not(target_os = "linux"))]
fn read_tcp_info(_: BorrowedFd<'_>) -> io::Result<TcpInfo> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The most bytes of a file in one call, during which the other connections of the thread wait. A megabyte takes a
/// tenth of a millisecond.
const MAX_AT_ONCE: usize = 1 << 20;

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests;
