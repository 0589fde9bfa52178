//! A client's connection, on which its compressed messages are decompressed as they arrive.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use serow_message::Upgraded;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::client_frames::ClientFrames;

/// The connection of a WebSocket. Without an agreement to compress it is nothing but that.
#[derive(Debug)]
pub(crate) struct ClientStream {
    connection: Upgraded,
    rewriting: Option<Box<Rewriting>>,
}

/// The buffers are empty, and have no memory, while a client is silent.
#[derive(Debug)]
struct Rewriting {
    frames: ClientFrames,
    /// Bytes that were received and not rewritten yet.
    received: Vec<u8>,
    /// Rewritten bytes; those from `place` on have not been read.
    rewritten: Vec<u8>,
    place: usize,
}

impl ClientStream {
    /// A connection on which the client may compress messages or not, with the maximum size of a message.
    pub(crate) fn new(connection: Upgraded, is_compressed: bool, limit: usize) -> Self {
        let rewriting = is_compressed.then(|| {
            let frames = ClientFrames::new(limit);
            Box::new(Rewriting { frames, received: Vec::new(), rewritten: Vec::new(), place: 0 })
        });
        Self { connection, rewriting }
    }

    /// The connection itself, for a client whose frames do not matter any more.
    pub(crate) fn connection(&mut self) -> &mut Upgraded {
        &mut self.connection
    }
}

impl Rewriting {
    /// Gives what was rewritten; returns whether there was something.
    fn give(&mut self, room: &mut ReadBuf<'_>) -> bool {
        let rest = self.rewritten.get(self.place..).unwrap_or_default();
        let length = rest.len().min(room.remaining());
        room.put_slice(&rest[..length]);
        self.place += length;
        if self.place == self.rewritten.len() {
            (self.rewritten, self.place) = (Vec::new(), 0);
        }
        length > 0
    }

    fn rewrite(&mut self) -> io::Result<()> {
        let read = self.frames.rewrite(&self.received, &mut self.rewritten).map_err(io::Error::other)?;
        match read == self.received.len() {
            true => self.received = Vec::new(),
            false => drop(self.received.drain(..read)),
        }
        Ok(())
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let Some(rewriting) = &mut this.rewriting else {
            return Pin::new(&mut this.connection).poll_read(context, room);
        };
        if room.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        for _ in 0..MAX_ROUNDS {
            if rewriting.give(room) {
                return Poll::Ready(Ok(()));
            }
            if rewriting.received.is_empty() && !rewriting.frames.has_more() {
                let mut bytes = [0; RECEIVED];
                let mut buffer = ReadBuf::new(&mut bytes);
                ready!(Pin::new(&mut this.connection).poll_read(context, &mut buffer))?;
                if buffer.filled().is_empty() {
                    return Poll::Ready(Ok(()));
                }
                rewriting.received = buffer.filled().to_vec();
            }
            rewriting.rewrite()?;
        }
        // A client can send much that contains nothing; others must get their turn.
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().connection).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().connection).poll_shutdown(context)
    }
}

/// Bytes that are received at a time.
const RECEIVED: usize = 8 * 1024;

/// After so many receptions without output, other connections get their turn.
const MAX_ROUNDS: usize = 8;
