//! A connection's wire with its buffers, for both versions of HTTP.

use std::{
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes, BytesMut};
use serow_message::{Pipe, PipedBytes};
use serow_net::{Buffers, INPUT_LENGTH, More, Wire};

use crate::ClientError;

/// The wire of one connection with its buffers, which it holds only while they are not empty.
pub(crate) struct Link {
    pub(crate) wire: Wire,
    buffers: Rc<Buffers>,
    /// Received and not yet parsed.
    pub(crate) input: BytesMut,
    /// Generated and not yet sent.
    output: Vec<u8>,
    /// The bytes of the output already sent.
    sent: usize,
    /// Bytes to send behind the output.
    behind: Bytes,
    received: u64,
    coming: Coming,
}

/// How much is received at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coming {
    /// It fits into a buffer of the usual length.
    Little,
    /// More than that: a large body, for which each call costs as much as copying some kilobytes.
    Much,
}

impl Link {
    pub(crate) fn new(wire: Wire, buffers: Rc<Buffers>) -> Self {
        let (input, output, behind) = (BytesMut::new(), Vec::new(), Bytes::new());
        Self { wire, buffers, input, output, sent: 0, behind, received: 0, coming: Coming::Little }
    }

    /// Bytes received so far.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// The buffer for output.
    #[inline]
    pub(crate) fn output(&mut self) -> &mut Vec<u8> {
        if !self.behind.is_empty() {
            self.copy_behind();
        }
        if self.output.capacity() == 0 {
            self.output = self.buffers.take_output();
        }
        &mut self.output
    }

    /// Sends these bytes behind all others, without a copy.
    #[inline]
    pub(crate) fn send(&mut self, bytes: Bytes) {
        if !self.behind.is_empty() {
            self.copy_behind();
        }
        self.behind = bytes;
    }

    #[cold]
    fn copy_behind(&mut self) {
        self.output.extend_from_slice(&std::mem::take(&mut self.behind));
    }

    /// Whether there is unsent output.
    #[inline]
    pub(crate) fn has_unsent(&self) -> bool {
        self.sent < self.output.len() || !self.behind.is_empty()
    }

    /// Ready when all has been sent.
    #[inline]
    pub(crate) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ClientError>> {
        while self.sent < self.output.len() {
            let more = if self.behind.is_empty() { More::Nothing } else { More::Follows };
            let rest = &self.output[self.sent..];
            self.sent +=
                ready!(self.wire.poll_send(context, rest, more, &self.buffers)).map_err(ClientError::Unsent)?;
        }
        self.output.clear();
        self.sent = 0;
        while !self.behind.is_empty() {
            let sent = ready!(self.wire.poll_send(context, &self.behind, More::Nothing, &self.buffers))
                .map_err(ClientError::Unsent)?;
            self.behind.advance(sent);
        }
        self.wire.poll_flush(context).map_err(ClientError::Unsent)
    }

    /// Receives more into the input; returns the number of bytes, 0 at the end of the stream.
    #[inline]
    pub(crate) fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<Result<usize, ClientError>> {
        if self.coming == Coming::Much && self.input.capacity() - self.input.len() < INPUT_LENGTH / 2 {
            self.input.reserve(MUCH);
        }
        match self.wire.poll_receive(context, &mut self.input, &self.buffers) {
            Poll::Ready(Ok(count)) => {
                self.received += count as u64;
                if count >= INPUT_LENGTH / 2 && self.input.len() == self.input.capacity() {
                    self.coming = Coming::Much;
                }
                Poll::Ready(Ok(count))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(ClientError::Lost(error))),
            Poll::Pending => {
                self.coming = Coming::Little;
                self.rest();
                Poll::Pending
            }
        }
    }

    /// Whether the next bytes of the socket are the next to be parsed: nothing is encrypted, and none waits in the input.
    pub(crate) fn is_pipeable(&self) -> bool {
        !self.wire.is_encrypted() && self.input.is_empty()
    }

    /// Receives into a pipe, at most `most` bytes, where the link [is pipeable](Self::is_pipeable). `None` if the pipe is not
    /// empty.
    pub(crate) fn poll_fill_pipe(
        &mut self,
        context: &mut Context<'_>,
        pipe: &Pipe,
        most: usize,
    ) -> Option<Poll<Result<PipedBytes, ClientError>>> {
        let filled = pipe.poll_fill(|pipe| self.wire.socket().poll_receive_piped(context, pipe, most))?;
        Some(match filled {
            Poll::Ready(Ok(piece)) => {
                self.received += piece.length() as u64;
                Poll::Ready(Ok(piece))
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(ClientError::Lost(error))),
            Poll::Pending => {
                self.rest();
                Poll::Pending
            }
        })
    }

    /// Returns empty buffers to the thread's pool.
    #[inline]
    fn rest(&mut self) {
        if self.input.is_empty() && self.input.capacity() != 0 {
            self.buffers.give_input(std::mem::take(&mut self.input));
        }
        if self.output.is_empty() && self.output.capacity() != 0 {
            self.buffers.give_output(std::mem::take(&mut self.output));
        }
        self.wire.rest(&self.buffers);
    }
}

/// The bytes of a large body received at a time: the kernel delivers up to 64 KiB in one packet over loopback, and
/// segments it itself. A connection whose reader is slow holds this much memory once.
const MUCH: usize = 64 * 1024;
