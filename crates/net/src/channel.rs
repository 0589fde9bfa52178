//! Messages and descriptors between two processes of one machine.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd},
};

use rustix::{
    cmsg_space,
    io::{Errno, fcntl_dupfd_cloexec, retry_on_intr},
    net::{
        AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
        SendFlags, SocketFlags, SocketType, recv, recvmsg, send, sendmsg, socketpair,
    },
};
use tokio::io::{Interest, unix::AsyncFd};

/// One end of a pair of connected unix sockets (SOCK_SEQPACKET): what is sent arrives whole, in order, with the
/// descriptors that were sent along.
///
/// ```
/// # use std::os::fd::AsFd;
/// use serow_net::channel::Channel;
///
/// let (one, other) = Channel::pair()?;
/// one.send(b"my standard input", &[std::io::stdin().as_fd()])?;
/// let message = other.receive()?.expect("the other end is open");
/// assert_eq!((&*message.bytes, message.descriptors.len()), (&b"my standard input"[..], 1));
/// drop(one);
/// assert!(other.receive()?.is_none());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct Channel {
    socket: OwnedFd,
}

/// A received message.
#[derive(Debug)]
pub struct Message {
    /// The bytes; never empty.
    pub bytes: Vec<u8>,
    /// The descriptors. Programs that are executed do not inherit them.
    pub descriptors: Vec<OwnedFd>,
}

impl Channel {
    /// Both ends of a new channel. Programs that are executed do not inherit them.
    ///
    /// # Errors
    ///
    /// Those of socketpair(2).
    pub fn pair() -> io::Result<(Self, Self)> {
        let (one, other) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self { socket: one }, Self { socket: other }))
    }

    /// The end that the parent process gave this one in the place of a descriptor, such as its standard input. The
    /// descriptor stays as it is; it may be closed.
    ///
    /// # Errors
    ///
    /// Those of fcntl(2).
    pub fn inherited(descriptor: impl AsFd) -> io::Result<Self> {
        Ok(Self { socket: fcntl_dupfd_cloexec(descriptor, LOWEST_DESCRIPTOR)? })
    }

    /// Sends a message, which must not be empty, with up to [`MAX_DESCRIPTORS`] descriptors.
    ///
    /// # Errors
    ///
    /// `EAGAIN` if the other end has not received earlier messages: this never blocks. `EPIPE` where it is closed,
    /// `EMSGSIZE` where the message is longer than the socket's buffer (some 200 KB).
    pub fn send(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        if message.is_empty() || descriptors.len() > MAX_DESCRIPTORS {
            return Err(Errno::INVAL.into());
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        if descriptors.is_empty() {
            // Costs the kernel less than sendmsg(2).
            retry_on_intr(|| send(&self.socket, message, flags))?;
            return Ok(());
        }
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(Errno::INVAL.into());
        }
        retry_on_intr(|| sendmsg(&self.socket, &[IoSlice::new(message)], &mut ancillary, flags))?;
        Ok(())
    }

    /// Waits for the next message; none once the other end is closed and all messages have been received.
    ///
    /// # Errors
    ///
    /// Those of recvmsg(2).
    pub fn receive(&self) -> io::Result<Option<Message>> {
        self.receive_with(RecvFlags::empty())
    }

    /// As [`Self::receive`], without waiting: `EAGAIN` if there is no message yet.
    ///
    /// # Errors
    ///
    /// Those of recvmsg(2).
    pub fn try_receive(&self) -> io::Result<Option<Message>> {
        self.receive_with(RecvFlags::DONTWAIT)
    }

    /// Receives the next message into this buffer and returns its length; 0 once the other end is closed and all
    /// messages have been received. A single system call, for callers that know the length of messages; closes
    /// descriptors that come along. Never blocks: `EAGAIN` if there is no message yet.
    ///
    /// # Errors
    ///
    /// Those of recv(2); `EMSGSIZE` where the message is longer than the buffer: it is lost.
    pub fn try_receive_into(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let flags = RecvFlags::DONTWAIT | RecvFlags::TRUNC;
        let room = buffer.len();
        let (_, length) = retry_on_intr(|| recv(&self.socket, &mut *buffer, flags))?;
        if length > room { Err(Errno::MSGSIZE.into()) } else { Ok(length) }
    }

    /// Another descriptor of the same end.
    ///
    /// # Errors
    ///
    /// Those of fcntl(2).
    pub fn try_clone(&self) -> io::Result<Self> {
        Self::inherited(&self.socket)
    }

    /// Only messages that have already arrived are received from now on, even if the other end is still open.
    pub fn shut(&self) {
        // It may be shut already.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both);
    }

    fn receive_with(&self, flags: RecvFlags) -> io::Result<Option<Message>> {
        // With TRUNC the true length is given.
        let look = flags | RecvFlags::PEEK | RecvFlags::TRUNC;
        let (_, length) = retry_on_intr(|| recv(&self.socket, &mut [0_u8; 1][..], look))?;
        if length == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; length];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let flags = flags | RecvFlags::CMSG_CLOEXEC;
        let mut parts = [IoSliceMut::new(&mut bytes)];
        retry_on_intr(|| recvmsg(&self.socket, &mut parts, &mut ancillary, flags))?;
        let mut descriptors = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptors.extend(received);
            }
        }
        Ok(Some(Message { bytes, descriptors }))
    }
}

/// A channel in a tokio runtime.
#[derive(Debug)]
pub struct AsyncChannel {
    channel: AsyncFd<Channel>,
}

impl AsyncChannel {
    /// Registers a channel with the runtime of this thread.
    ///
    /// # Errors
    ///
    /// Those of epoll_ctl(2).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O enabled.
    pub fn new(channel: Channel) -> io::Result<Self> {
        // SAFETY: the descriptor is a private field of `Channel` that nothing ever replaces, so it is the same one,
        // open, for as long as the `AsyncFd` lives, which owns it.
        let channel = unsafe { AsyncFd::register_with_interest(channel, Interest::READABLE) }?;
        Ok(Self { channel })
    }

    /// Registers a channel that waits only for room to send.
    ///
    /// # Errors
    ///
    /// Those of epoll_ctl(2).
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O enabled.
    pub fn for_sending(channel: Channel) -> io::Result<Self> {
        // SAFETY: as in `new`.
        let channel = unsafe { AsyncFd::register_with_interest(channel, Interest::WRITABLE) }?;
        Ok(Self { channel })
    }

    /// Deregisters the channel.
    pub fn into_channel(self) -> Channel {
        self.channel.into_inner()
    }

    /// Waits until there is room, and calls this closure to send; calls it again after `EAGAIN`. For channels that were
    /// registered [for sending](Self::for_sending).
    ///
    /// # Errors
    ///
    /// The closure's.
    pub async fn send_with<R>(&self, send: impl FnMut(&Channel) -> io::Result<R>) -> io::Result<R> {
        self.channel.async_io(Interest::WRITABLE, send).await
    }

    /// As [`Channel::send`]: never waits.
    ///
    /// # Errors
    ///
    /// Those of [`Channel::send`].
    pub fn send(&self, message: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.channel.get_ref().send(message, descriptors)
    }

    /// Waits for the next message; none once the other end is closed and all messages have been received.
    ///
    /// # Errors
    ///
    /// Those of recvmsg(2).
    pub async fn receive(&self) -> io::Result<Option<Message>> {
        self.channel.async_io(Interest::READABLE, Channel::try_receive).await
    }

    /// Waits until a message has come, and calls this closure to receive it; calls it again after `EAGAIN`.
    ///
    /// # Errors
    ///
    /// The closure's.
    pub async fn receive_with<R>(&self, receive: impl FnMut(&Channel) -> io::Result<R>) -> io::Result<R> {
        self.channel.async_io(Interest::READABLE, receive).await
    }

    /// As [`Channel::try_receive`].
    ///
    /// # Errors
    ///
    /// Those of [`Channel::try_receive`].
    pub fn try_receive(&self) -> io::Result<Option<Message>> {
        self.channel.get_ref().try_receive()
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Channel {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

impl From<Channel> for OwnedFd {
    fn from(channel: Channel) -> Self {
        channel.socket
    }
}

/// How many descriptors go along with one message; the kernel takes 253 (SCM_MAX_FD of unix(7)).
pub const MAX_DESCRIPTORS: usize = 128;

/// Clear of standard input, output and error.
const LOWEST_DESCRIPTOR: RawFd = 3;

#[cfg(test)]
mod tests;
