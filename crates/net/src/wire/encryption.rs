//! The TLS of a connection, between its socket and the protocol above.

use std::{
    io,
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
use serow_tls::{MAX_RECORD_PLAINTEXT, RECORD_OVERHEAD, TlsError, TlsSession, UnexpectedProtocol};

use super::make_room;
use crate::{Buffers, More, Socket};

/// A TLS session with its buffers, which it has only while they are not empty.
pub(super) struct Encryption {
    session: TlsSession,
    /// Received and not decrypted yet: a part of a record.
    received: BytesMut,
    /// Bytes received, those included.
    received_in_all: u64,
    /// Encrypted and not sent yet.
    sealed: Vec<u8>,
    /// How much of that has been sent.
    sent: usize,
    /// Whether some of that is the session's own, which only the receiving side sends.
    answers: bool,
    /// Bytes handed to the kernel before those.
    sent_before: u64,
    record_length: usize,
    /// The error of the session, until the plaintext before it has been received.
    failed: Option<io::Error>,
}

impl Encryption {
    pub(super) fn new(mut session: TlsSession, received: BytesMut) -> Self {
        let mut sealed = Vec::new();
        session.begin(&mut sealed);
        Self {
            session,
            received_in_all: received.len() as u64,
            received,
            answers: !sealed.is_empty(),
            sealed,
            sent: 0,
            sent_before: 0,
            record_length: MAX_RECORD_PLAINTEXT,
            failed: None,
        }
    }

    pub(super) fn session(&self) -> &TlsSession {
        &self.session
    }

    /// Whether the handshake has begun and is not complete.
    pub(super) fn is_handshaking(&self) -> bool {
        self.received_in_all > 0 && !self.session.is_established()
    }

    pub(super) fn has_received(&self) -> bool {
        !self.received.is_empty()
    }

    /// Bytes of records that were decrypted.
    pub(super) fn understood(&self) -> u64 {
        self.received_in_all - self.received.len() as u64
    }

    /// Bytes handed to the kernel so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent_before + self.sent as u64
    }

    pub(super) fn is_closed_by_peer(&self) -> bool {
        self.session.is_closed_by_peer()
    }

    /// Limits the records to this length; gives how much plaintext becomes `bytes` bytes of them.
    pub(super) fn limit_records(&mut self, record: usize, bytes: usize) -> usize {
        self.record_length = record.saturating_sub(RECORD_OVERHEAD).max(1);
        let records = bytes.div_ceil(record.max(1));
        bytes.saturating_sub(records * RECORD_OVERHEAD).max(self.record_length / 2)
    }

    /// Ready when the handshake is complete and all of ours has left; bytes after it stay where they are.
    pub(super) fn poll_handshake(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
        buffers: &Buffers,
    ) -> Poll<io::Result<()>> {
        while !self.session.is_established() {
            if !self.received.is_empty() {
                let sealed_before = self.sealed.len();
                let outcome = self.session.shake_hands(&mut self.received, &mut self.sealed);
                if self.answer(outcome, sealed_before, socket, context)? {
                    break;
                }
            }
            self.send_answers(socket, context)?;
            if ready!(self.poll_fill(socket, context, buffers))? == 0 {
                let error = io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the peer closed the connection during the TLS handshake",
                );
                return Poll::Ready(Err(error));
            }
        }
        self.poll_flush(socket, context)
    }

    /// Receives until there is plaintext; sends the session's own answers.
    pub(super) fn poll_receive(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
        input: &mut BytesMut,
        buffers: &Buffers,
    ) -> Poll<io::Result<usize>> {
        if let Some(error) = self.failed.take() {
            return Poll::Ready(Err(error));
        }
        loop {
            if !self.received.is_empty() {
                let (before, sealed_before) = (input.len(), self.sealed.len());
                make_room(input, buffers);
                let outcome = self.session.receive(&mut self.received, input, &mut self.sealed);
                if let Err(error) = self.answer(outcome, sealed_before, socket, context) {
                    if input.len() == before {
                        return Poll::Ready(Err(error));
                    }
                    // Plaintext before the bad record is as valid as if it had come alone.
                    self.failed = Some(error);
                }
                if input.len() > before {
                    return Poll::Ready(Ok(input.len() - before));
                }
            }
            // Whether it came with the data before or only now, and though the socket may stay open.
            if self.session.is_closed_by_peer() {
                return Poll::Ready(Ok(0));
            }
            self.send_answers(socket, context)?;
            if ready!(self.poll_fill(socket, context, buffers))? == 0 {
                return Poll::Ready(Ok(0));
            }
        }
    }

    /// Receives more of what is to be decrypted; 0 is the end.
    fn poll_fill(&mut self, socket: &Socket, context: &mut Context<'_>, buffers: &Buffers) -> Poll<io::Result<usize>> {
        let count = ready!(socket.poll_receive(context, &mut self.received, |received| make_room(received, buffers)))?;
        self.received_in_all += count as u64;
        Poll::Ready(Ok(count))
    }

    /// Sends what the session itself has appended after the first `sealed_before` bytes: flights of a handshake, and
    /// the alert of a failed one. Bytes that the kernel does not take now leave later.
    fn answer<T>(
        &mut self,
        outcome: Result<T, TlsError>,
        sealed_before: usize,
        socket: &Socket,
        context: &mut Context<'_>,
    ) -> io::Result<T> {
        if let Err(TlsError::NotTls(UnexpectedProtocol::HttpRequest)) = outcome {
            self.sealed.extend_from_slice(PLAIN_HTTP);
        }
        self.answers |= self.sealed.len() > sealed_before;
        let sending = self.send_answers(socket, context);
        // The first error is the cause.
        let outcome = outcome.map_err(io::Error::other)?;
        sending.map(|()| outcome)
    }

    /// Sends what is waiting if some of it is the session's own. Only then: for the rest another task may wait (a
    /// tunnel has two halves), which the socket would no longer wake.
    fn send_answers(&mut self, socket: &Socket, context: &mut Context<'_>) -> io::Result<()> {
        if self.answers
            && let Poll::Ready(Err(error)) = self.poll_flush(socket, context)
        {
            return Err(error);
        }
        Ok(())
    }

    /// Encrypts pieces, once earlier output has left, and sends as much as the kernel takes.
    pub(super) fn poll_send(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
        pieces: &[&[u8]],
        more: More,
        buffers: &Buffers,
    ) -> Poll<io::Result<usize>> {
        if self.sealed.len() >= SEALED_AT_ONCE || more == More::Nothing {
            ready!(self.poll_flush(socket, context))?;
        }
        if self.sealed.capacity() == 0 {
            let is_much = pieces.iter().map(|piece| piece.len()).sum::<usize>() >= MAX_RECORD_PLAINTEXT / 2;
            self.sealed = if is_much { buffers.take_large_output() } else { buffers.take_output() };
        }
        let mut taken = 0;
        for piece in pieces {
            let length = piece.len().min(SEALED_AT_ONCE - taken);
            self.session.seal(&piece[..length], self.record_length, &mut self.sealed).map_err(io::Error::other)?;
            taken += length;
        }
        if more == More::Nothing
            && let Poll::Ready(Err(error)) = self.poll_flush(socket, context)
        {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(taken))
    }

    /// Ready when all that was encrypted has been sent.
    pub(super) fn poll_flush(&mut self, socket: &Socket, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush_before(More::Nothing, socket, context)
    }

    fn poll_flush_before(&mut self, more: More, socket: &Socket, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.sealed.len() {
            self.sent += ready!(socket.poll_send(context, &self.sealed[self.sent..], more))?;
        }
        self.sealed.clear();
        self.answers = false;
        self.sent_before += std::mem::take(&mut self.sent) as u64;
        Poll::Ready(Ok(()))
    }

    /// Gives back the buffers that are empty.
    pub(super) fn rest(&mut self, buffers: &Buffers) {
        if self.received.is_empty() && self.received.capacity() != 0 {
            buffers.give_input(std::mem::take(&mut self.received));
        }
        if self.sealed.is_empty() && self.sealed.capacity() != 0 {
            buffers.give_output(std::mem::take(&mut self.sealed));
        }
    }

    /// Sends a close_notify after all that was encrypted, which leaves with the end of the output: the caller shuts the
    /// socket down when this is ready.
    pub(super) fn poll_close(&mut self, socket: &Socket, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.session.close(&mut self.sealed);
        self.poll_flush_before(More::Follows, socket, context)
    }
}

/// As nginx: a user who typed http:// for https:// sees why there is no page.
const PLAIN_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\
    content-length: 59\r\nconnection: close\r\n\r\n400 Bad Request: this port speaks TLS; ask for https://...\n";

/// Bytes encrypted before the kernel is offered any: four records, so that a call is worth its cost.
const SEALED_AT_ONCE: usize = 4 * MAX_RECORD_PLAINTEXT;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by it")]
mod tests;
