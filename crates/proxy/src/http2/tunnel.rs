//! A stream that has become a tunnel (RFC 8441): bytes in, bytes out.

use std::{
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use super::{slot::Next, stream::Stream};

/// A tunnel; the other end of its pipe is joined with the client's connection.
struct Tunnel {
    stream: Stream,
    ours: DuplexStream,
    /// From the server, and not taken yet.
    piece: Bytes,
    incoming: Direction,
    outgoing: Direction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Open,
    /// Nothing more comes; the other end does not know yet.
    Ending,
    Ended,
}

/// Lets bytes through until both sides have ended, or one is gone. The other end is to be joined with the client's.
pub(super) fn open(stream: Stream) -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(BUFFERED);
    let (piece, direction) = (Bytes::new(), Direction::Open);
    let mut tunnel = Tunnel { stream, ours, piece, incoming: direction, outgoing: direction };
    tokio::task::spawn_local(async move {
        // A lost side is noticed by the other: the stream is reset, or the pipe is closed.
        let _ = poll_fn(|context| tunnel.poll(context)).await;
    });
    theirs
}

impl Tunnel {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.watch(context);
        self.poll_incoming(context)?;
        if self.incoming == Direction::Ended && self.stream.is_lost() {
            // The server sends no more, and has cut off the direction that was left.
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        self.poll_outgoing(context)?;
        let is_over = self.incoming == Direction::Ended && self.outgoing == Direction::Ended;
        if is_over { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn poll_incoming(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while self.incoming == Direction::Open {
            if self.piece.is_empty() {
                match self.stream.next() {
                    Next::Piece(piece) => self.piece = piece,
                    Next::End(_) => self.incoming = Direction::Ending,
                    Next::Lost(_) => return Err(io::ErrorKind::ConnectionReset.into()),
                    Next::Awaited => return Ok(()),
                }
                continue;
            }
            let Poll::Ready(written) = Pin::new(&mut self.ours).poll_write(context, &self.piece) else { return Ok(()) };
            self.piece.advance(written?);
        }
        if self.incoming == Direction::Ending
            && let Poll::Ready(ended) = Pin::new(&mut self.ours).poll_shutdown(context)
        {
            ended?;
            self.incoming = Direction::Ended;
        }
        Ok(())
    }

    fn poll_outgoing(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while self.outgoing == Direction::Open && self.stream.wants_data() {
            let mut room = vec![0; BUFFERED];
            let mut buffer = ReadBuf::new(&mut room);
            let Poll::Ready(read) = Pin::new(&mut self.ours).poll_read(context, &mut buffer) else { return Ok(()) };
            read?;
            let length = buffer.filled().len();
            room.truncate(length);
            if length == 0 {
                self.outgoing = Direction::Ended;
            }
            self.stream.send(room.into()).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

/// Bytes that may wait on each side, as for the clients' tunnels.
const BUFFERED: usize = 16 * 1024;
