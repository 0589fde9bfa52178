//! A connection's wire with its buffers: what both versions of HTTP read from and write to.

use std::{
    rc::Rc,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes, BytesMut};
use serow_net::{Buffers, INPUT_LENGTH, More, Wire};

use crate::ClientError;

/// The wire of one connection. It holds buffers only while there is something in them.
pub(crate) struct Link {
    pub(crate) wire: Wire,
    buffers: Rc<Buffers>,
    /// Received and not yet understood.
    pub(crate) input: BytesMut,
    /// Made and not yet sent.
    output: Vec<u8>,
    /// How much of the output has been sent.
    sent: usize,
    /// To be sent behind the output.
    behind: Bytes,
    received: u64,
    coming: Coming,
}

/// How much comes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coming {
    /// What there is fits into a buffer of usual length.
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

    /// A place for what is to be sent.
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

    /// Whether something waits to be sent.
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

    /// Receives more into the input; 0 is the end.
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

    /// Gives back the buffers that are empty.
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

/// Received at once of a large body: the kernel delivers up to 64 KiB in one packet over loopback, and cuts it up on the way out
/// itself. Memory of a connection whose reader is slow, once.
const MUCH: usize = 64 * 1024;
