//! A connected socket in memory, with the names of `socket.rs`.

use std::{
    fs::File,
    io::{self, IoSlice},
    net::SocketAddr,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::fs::FileExt,
    },
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
use serow_pacing::TcpInfo;
use tokio::time::Sleep;

use crate::{
    More, PeerCredentials, Readable,
    simulated::{
        self,
        flow::{Arrival, End, Flow},
    },
    time::{monotonic, sleep_until},
};

/// A connected socket.
#[derive(Debug)]
pub struct Socket {
    incoming: Arc<Mutex<Flow>>,
    outgoing: Arc<Mutex<Flow>>,
    /// Boxed, so that a socket is not much larger than one of the kernel.
    local: Box<SocketAddr>,
    is_reset_on_close: std::cell::Cell<bool>,
    /// Rings when what is on its way arrives.
    arrival: std::cell::RefCell<Option<Pin<Box<Sleep>>>>,
}

impl Socket {
    pub(crate) fn of_flows(incoming: Arc<Mutex<Flow>>, outgoing: Arc<Mutex<Flow>>, local: SocketAddr) -> Self {
        simulated::note_socket(true);
        let local = Box::new(local);
        Self { incoming, outgoing, local, is_reset_on_close: Default::default(), arrival: Default::default() }
    }

    /// A socket that was just accepted.
    pub fn accepted(socket: Self) -> Self {
        socket
    }

    /// The socket of a connection.
    ///
    /// # Errors
    ///
    /// It is a socket of the kernel.
    pub fn new(socket: impl Connected) -> io::Result<Self> {
        socket.socket()
    }

    /// As [`Self::new`]; none is registered with anything.
    ///
    /// # Errors
    ///
    /// None.
    pub fn register(&self) -> io::Result<()> {
        Ok(())
    }

    /// Receives into the free room of the buffer; 0 is the end of the input. `prepare` must make room.
    ///
    /// # Errors
    ///
    /// The peer has reset the connection.
    pub fn poll_receive(
        &self,
        context: &mut Context<'_>,
        buffer: &mut BytesMut,
        prepare: impl Fn(&mut BytesMut),
    ) -> Poll<io::Result<usize>> {
        self.poll_receive_at_most(context, buffer, |buffer| {
            prepare(buffer);
            buffer.capacity() - buffer.len()
        })
    }

    fn poll_receive_at_most(
        &self,
        context: &mut Context<'_>,
        buffer: &mut BytesMut,
        room: impl Fn(&mut BytesMut) -> usize,
    ) -> Poll<io::Result<usize>> {
        let (mut flow, now) = (lock(&self.incoming), monotonic());
        match flow.arrival(now) {
            Arrival::Bytes if flow.hesitates() => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Arrival::Bytes => {
                let room = room(buffer);
                Poll::Ready(Ok(flow.pull(room, now, |bytes| buffer.extend_from_slice(bytes))))
            }
            Arrival::End(End::Finished) => Poll::Ready(Ok(0)),
            Arrival::End(End::Reset) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Arrival::At(moment) => {
                flow.receiver = Some(context.waker().clone());
                let mut timer = Box::pin(sleep_until(moment));
                let is_over = timer.as_mut().poll(context).is_ready();
                self.arrival.replace(Some(timer));
                if is_over {
                    context.waker().wake_by_ref();
                }
                Poll::Pending
            }
            Arrival::Nothing => {
                flow.receiver = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Sends as many bytes as there is room for, which may be none.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_send`].
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        lock(&self.outgoing).push(bytes, monotonic()).ok_or(io::ErrorKind::BrokenPipe.into())
    }

    /// Sends as many bytes as there is room for.
    ///
    /// # Errors
    ///
    /// The peer is gone.
    pub fn poll_send(&self, context: &mut Context<'_>, bytes: &[u8], _: More) -> Poll<io::Result<usize>> {
        if lock(&self.outgoing).hesitates() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.send(bytes) {
            Ok(0) if !bytes.is_empty() => {
                lock(&self.outgoing).sender = Some(context.waker().clone());
                Poll::Pending
            }
            outcome => Poll::Ready(outcome),
        }
    }

    /// Sends as many bytes of several pieces as there is room for.
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
        let mut sent = 0;
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            match self.send(piece)? {
                count if count == piece.len() => sent += count,
                0 if sent == 0 => return self.poll_send(context, piece, more),
                count => return Poll::Ready(Ok(sent + count)),
            }
        }
        Poll::Ready(Ok(sent))
    }

    /// Sends bytes of a file and moves the offset; 0 is the end of the file.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_send`], and those of reading the file.
    pub fn poll_send_file(
        &self,
        context: &mut Context<'_>,
        file: &File,
        offset: &mut u64,
        length: u64,
    ) -> Poll<io::Result<usize>> {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX).min(MAX_AT_ONCE)];
        let count = file.read_at(&mut bytes, *offset)?;
        let outcome = self.poll_send(context, &bytes[..count], More::Nothing);
        if let Poll::Ready(Ok(sent)) = outcome {
            *offset += sent as u64;
        }
        outcome
    }

    /// Copies received bytes into an empty pipe, at most `most`; 0 is the end of the input.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_receive`], and those of write(2).
    pub fn poll_receive_piped(
        &self,
        context: &mut Context<'_>,
        pipe: BorrowedFd<'_>,
        most: usize,
    ) -> Poll<io::Result<usize>> {
        let most = most.min(MAX_PIPED);
        let mut bytes = BytesMut::with_capacity(most);
        let received = ready!(self.poll_receive_at_most(context, &mut bytes, |_| most))?;
        // It is empty, and takes them all.
        Poll::Ready(if received == 0 { Ok(0) } else { Ok(rustix::io::write(pipe, &bytes)?) })
    }

    /// Sends as many bytes as there is room for of a pipe that has `length`.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_send`], and those of read(2).
    pub fn poll_send_piped(
        &self,
        context: &mut Context<'_>,
        pipe: BorrowedFd<'_>,
        length: usize,
    ) -> Poll<io::Result<usize>> {
        let mut flow = lock(&self.outgoing);
        let Some(count) = flow.admit(length.min(MAX_PIPED)) else {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        if count == 0 {
            flow.sender = Some(context.waker().clone());
            return Poll::Pending;
        }
        let mut bytes = vec![0; count];
        let count = rustix::io::read(pipe, &mut bytes)?;
        flow.put(&bytes[..count], monotonic());
        Poll::Ready(Ok(count))
    }

    /// The local address.
    #[must_use]
    pub fn local_address(&self) -> Option<SocketAddr> {
        Some(*self.local)
    }

    /// Not supported for TCP sockets.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn peer_credentials(&self) -> io::Result<PeerCredentials> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Not supported.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn tcp_info(&self) -> io::Result<TcpInfo> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Not supported.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn set_unsent_low_water(&self, _: u32) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Ready when there is room.
    ///
    /// # Errors
    ///
    /// The peer is gone.
    pub fn poll_drained(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut flow = lock(&self.outgoing);
        if flow.is_closed_for_sender() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if flow.has_drained() {
            return Poll::Ready(Ok(()));
        }
        flow.sender = Some(context.waker().clone());
        Poll::Pending
    }

    /// Whether there is input now.
    #[must_use]
    pub fn readable(&self) -> Readable {
        match lock(&self.incoming).arrival(monotonic()) {
            Arrival::Bytes => Readable::Bytes,
            Arrival::End(_) => Readable::End,
            Arrival::At(_) | Arrival::Nothing => Readable::Nothing,
        }
    }

    /// Whether there is something to receive, an end of the input included.
    #[must_use]
    pub fn is_noted_readable(&self) -> bool {
        self.readable() != Readable::Nothing
    }

    /// Ends the output; the peer may continue to send.
    ///
    /// # Errors
    ///
    /// None.
    pub fn shut_down(&self) -> io::Result<()> {
        lock(&self.outgoing).end(End::Finished, monotonic());
        Ok(())
    }

    /// Makes closing the socket reset the connection.
    pub fn reset_on_close(&self) {
        self.is_reset_on_close.set(true);
    }
}

/// A connected socket: that of an accepted connection, or one of the kernel.
pub trait Connected {
    /// It, if it is one of the simulation.
    ///
    /// # Errors
    ///
    /// It is a socket of the kernel.
    fn socket(self) -> io::Result<Socket>;
}

impl Connected for Socket {
    fn socket(self) -> io::Result<Socket> {
        Ok(self)
    }
}

impl Connected for OwnedFd {
    fn socket(self) -> io::Result<Socket> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Drop for Socket {
    /// As Linux: a socket with input that was not received is reset (RFC 2525 §2.17).
    fn drop(&mut self) {
        simulated::note_socket(false);
        // Outside a runtime there is no time any more, and no peer.
        if tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let loses_bytes = lock(&self.incoming).abandon();
        let end = if loses_bytes || self.is_reset_on_close.get() { End::Reset } else { End::Finished };
        lock(&self.outgoing).end(end, monotonic());
    }
}

fn lock(flow: &Mutex<Flow>) -> MutexGuard<'_, Flow> {
    flow.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most bytes of a file in one call.
const MAX_AT_ONCE: usize = 1 << 20;

/// The most bytes that go through a pipe in one call: it has room for more.
const MAX_PIPED: usize = 64 << 10;
