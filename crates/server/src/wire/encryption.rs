//! The TLS of a connection, between its socket and those above.

use std::{
    io,
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
use serow_net::{
    Buffers, More, Socket,
    tls::{LARGEST_RECORD, TlsError, TlsSession},
};

use super::make_room;

/// A TLS session with its buffers, which it has only while there is something in them.
pub(super) struct Encryption {
    session: TlsSession,
    /// Received and not decrypted yet: a part of a record.
    received: BytesMut,
    /// Encrypted and not sent yet.
    sealed: Vec<u8>,
    /// How much of that has been sent.
    sent: usize,
    /// Bytes handed to the kernel before those.
    sent_before: u64,
    record_length: usize,
}

impl Encryption {
    pub(super) fn new(session: TlsSession, received: BytesMut) -> Self {
        Self { session, received, sealed: Vec::new(), sent: 0, sent_before: 0, record_length: LARGEST_RECORD }
    }

    pub(super) fn session(&self) -> &TlsSession {
        &self.session
    }

    pub(super) fn has_received(&self) -> bool {
        !self.received.is_empty()
    }

    /// Bytes handed to the kernel so far.
    pub(super) fn sent(&self) -> u64 {
        self.sent_before + self.sent as u64
    }

    pub(super) fn set_record_length(&mut self, length: usize) {
        self.record_length = length;
    }

    /// Receives until there is plaintext; answers what belongs to the session itself.
    pub(super) fn poll_receive(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
        input: &mut BytesMut,
        buffers: &Buffers,
    ) -> Poll<io::Result<usize>> {
        loop {
            if !self.received.is_empty() {
                let before = input.len();
                make_room(input, buffers);
                let outcome = self.session.receive(&mut self.received, input, &mut self.sealed);
                if let Err(TlsError::NotTls { http: true }) = outcome {
                    self.sealed.extend_from_slice(PLAIN_HTTP);
                }
                // A handshake's answer, and the alert of a failed one. What the kernel does not take now leaves later.
                if let Poll::Ready(Err(error)) = self.poll_flush(socket, context) {
                    return Poll::Ready(Err(error));
                }
                outcome.map_err(io::Error::other)?;
                if input.len() > before {
                    return Poll::Ready(Ok(input.len() - before));
                }
                if self.session.is_closed_by_peer() {
                    return Poll::Ready(Ok(0));
                }
            }
            if !self.sealed.is_empty()
                && let Poll::Ready(Err(error)) = self.poll_flush(socket, context)
            {
                return Poll::Ready(Err(error));
            }
            match ready!(socket.poll_receive(context, &mut self.received, |received| make_room(received, buffers))) {
                Ok(0) => return Poll::Ready(Ok(0)),
                Ok(_) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Encrypts pieces, once what was encrypted before has left, and sends what the kernel takes of it.
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
            self.sealed = buffers.take_output();
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
        while self.sent < self.sealed.len() {
            self.sent += ready!(socket.poll_send(context, &self.sealed[self.sent..], More::Nothing))?;
        }
        self.sealed.clear();
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

    /// Says that nothing more comes, as far as the kernel takes that without waiting.
    pub(super) fn close(&mut self, socket: &Socket) {
        self.session.close(&mut self.sealed);
        if let Ok(sent) = socket.send(&self.sealed[self.sent..]) {
            self.sent += sent;
        }
    }
}

/// What nginx says as well: whoever typed http:// for https:// sees why there is no page.
const PLAIN_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n\
    content-length: 59\r\nconnection: close\r\n\r\n400 Bad Request: this port speaks TLS; ask for https://...\n";

/// Bytes encrypted before the kernel is offered any: four records, so that a call is worth its cost.
const SEALED_AT_ONCE: usize = 4 * LARGEST_RECORD;
