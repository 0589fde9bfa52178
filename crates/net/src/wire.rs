//! The socket of a connection, with or without TLS: callers see only plaintext.

#[cfg_attr(not(feature = "tls"), path = "wire/no_encryption.rs")]
mod encryption;

use std::{
    io::{self, IoSlice},
    task::{Context, Poll, ready},
};

use bytes::BytesMut;
#[cfg(feature = "tls")]
use serow_tls::{TlsDescription, TlsSession};

use self::encryption::Encryption;
use crate::{Buffers, INPUT_LENGTH, More, Socket};

/// A socket, with its TLS session if it has one.
pub struct Wire {
    socket: Socket,
    encryption: Option<Box<Encryption>>,
    /// Bytes handed to the kernel.
    sent: u64,
    /// Bytes received before anything was encrypted.
    received: u64,
}

impl Wire {
    /// A socket without TLS yet.
    #[must_use]
    pub fn new(socket: Socket) -> Self {
        Self { socket, encryption: None, sent: 0, received: 0 }
    }

    /// Whether it is encrypted.
    #[must_use]
    #[inline]
    pub fn is_encrypted(&self) -> bool {
        self.encryption.is_some()
    }

    /// Whether a TLS handshake has begun and is not complete.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.encryption.as_ref().is_some_and(|encryption| encryption.is_handshaking())
    }

    /// Whether encrypted bytes have come that are not a complete record yet.
    #[must_use]
    pub fn has_undecrypted(&self) -> bool {
        self.encryption.as_ref().is_some_and(|encryption| encryption.has_received())
    }

    /// Whether input that has ended was truncated: TLS ends with an alert (close_notify, RFC 8446 §6.1), which an
    /// attacker on the path cannot forge.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.encryption.as_ref().is_some_and(|encryption| !encryption.is_closed_by_peer())
    }

    /// Bytes handed to the kernel so far, encryption included; without those of `sendfile`.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent + self.encryption.as_ref().map_or(0, |encryption| encryption.sent())
    }

    /// Bytes received and decrypted so far, encryption included: the offset in the connection of the next record, or of
    /// the next byte, without TLS.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received + self.encryption.as_ref().map_or(0, |encryption| encryption.understood())
    }

    /// The socket itself.
    #[must_use]
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Ready when the session is established and the flights of its handshake have left. Data that the peer has sent
    /// after its own flights may have been received by then ([`Self::has_undecrypted`]), and comes with
    /// [`Self::poll_receive`]. A caller that receives anyway, as servers do, may leave this out.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_receive`], and a connection that ends before.
    pub fn poll_handshake(&mut self, context: &mut Context<'_>, buffers: &Buffers) -> Poll<io::Result<()>> {
        match &mut self.encryption {
            None => Poll::Ready(Ok(())),
            Some(encryption) => encryption.poll_handshake(&self.socket, context, buffers),
        }
    }

    /// Appends to the input; 0 is the end.
    ///
    /// # Errors
    ///
    /// Those of recv(2), and a violation of TLS by the peer.
    #[inline]
    pub fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        input: &mut BytesMut,
        buffers: &Buffers,
    ) -> Poll<io::Result<usize>> {
        match &mut self.encryption {
            None => {
                let count = ready!(self.socket.poll_receive(context, input, |input| make_room(input, buffers)))?;
                self.received += count as u64;
                Poll::Ready(Ok(count))
            }
            Some(encryption) => encryption.poll_receive(&self.socket, context, input, buffers),
        }
    }

    /// Takes bytes to be sent. Encrypted ones may still wait for [`Self::poll_flush`] when they are taken.
    ///
    /// # Errors
    ///
    /// Those of send(2), and a session that can send no more.
    #[inline]
    pub fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        bytes: &[u8],
        more: More,
        buffers: &Buffers,
    ) -> Poll<io::Result<usize>> {
        match &mut self.encryption {
            None => {
                let sent = ready!(self.socket.poll_send(context, bytes, more))?;
                self.sent += sent as u64;
                Poll::Ready(Ok(sent))
            }
            Some(encryption) => encryption.poll_send(&self.socket, context, &[bytes], more, buffers),
        }
    }

    /// As [`Self::poll_send`], for two pieces in one call.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_send`].
    pub fn poll_send_pieces(
        &mut self,
        context: &mut Context<'_>,
        pieces: [&[u8]; 2],
        more: More,
        buffers: &Buffers,
    ) -> Poll<io::Result<usize>> {
        match &mut self.encryption {
            None => self.socket.poll_send_pieces(context, &pieces.map(IoSlice::new), more),
            Some(encryption) => encryption.poll_send(&self.socket, context, &pieces, more, buffers),
        }
    }

    /// Sends as many bytes as the kernel takes at once; none with TLS.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_send`].
    #[inline]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.encryption {
            None => self.socket.send(bytes),
            Some(_) => Ok(0),
        }
    }

    /// Ready when all that was taken has been sent.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_send`].
    #[inline]
    pub fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.encryption {
            None => Poll::Ready(Ok(())),
            Some(encryption) => encryption.poll_flush(&self.socket, context),
        }
    }

    /// From now on, records have at most `record` bytes, what TLS adds included; gives how much plaintext becomes
    /// `bytes` bytes of them. Without TLS, that is all of them.
    pub fn limit_records(&mut self, record: usize, bytes: usize) -> usize {
        match &mut self.encryption {
            None => bytes,
            Some(encryption) => encryption.limit_records(record, bytes),
        }
    }

    /// Gives back the buffers that are empty.
    #[inline]
    pub fn rest(&mut self, buffers: &Buffers) {
        if let Some(encryption) = &mut self.encryption {
            encryption.rest(buffers);
        }
    }

    /// Ends the output after all bytes that were taken; the peer may continue to send. Ready when that has left.
    ///
    /// # Errors
    ///
    /// As [`Self::poll_send`], and those of shutdown(2).
    pub fn poll_shut_down(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(encryption) = &mut self.encryption {
            ready!(encryption.poll_close(&self.socket, context))?;
        }
        Poll::Ready(self.socket.shut_down())
    }
}

#[cfg(feature = "tls")]
impl Wire {
    /// From now on everything is encrypted; `received` has already come. A ClientHello leaves with the
    /// first [`Self::poll_handshake`].
    pub fn encrypt(&mut self, session: TlsSession, received: BytesMut) {
        self.received = self.received.saturating_sub(received.len() as u64);
        self.encryption = Some(Box::new(Encryption::new(session, received)));
    }

    /// The TLS session, where there is one.
    #[must_use]
    pub fn session(&self) -> Option<&TlsSession> {
        self.encryption.as_ref().map(|encryption| encryption.session())
    }

    /// The parameters that were negotiated, once the handshake is complete.
    #[must_use]
    pub fn description(&self) -> Option<TlsDescription> {
        self.session().and_then(TlsSession::description)
    }
}

/// Makes room to receive.
#[inline]
fn make_room(input: &mut BytesMut, buffers: &Buffers) {
    if input.capacity() == 0 {
        *input = buffers.take_input();
    } else if input.len() == input.capacity() {
        input.reserve(INPUT_LENGTH);
    }
}
