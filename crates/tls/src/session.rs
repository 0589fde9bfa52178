//! The TLS of one connection.

use bytes::BytesMut;

use crate::{Protocol, TlsAcceptor, TlsConnector, TlsDescription, TlsError, handshake::Handshake, traffic::Traffic};

/// The TLS of one connection; the caller moves the bytes.
///
/// It keeps no bytes, neither received nor to be sent: they stay in the caller's buffers, and an idle session needs none.
/// (But for a part of a ticket: servers may divide them.)
pub struct TlsSession {
    stage: Stage,
}

/// How far it has come. On the heap: the size of a handshake is not that of all sessions.
enum Stage {
    Handshake(Box<Handshake>),
    Established(Box<Traffic>),
    /// It failed.
    Over,
}

/// What receiving brought, beside plaintext.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The handshake has just become complete: the protocol is agreed upon, and sending is possible.
    pub established: bool,
    /// The peer has just said that it sends no more (close_notify). An input that ends without it was cut off, by the
    /// network or by somebody who wants a part to be taken for the whole.
    pub closed: bool,
}

impl TlsSession {
    /// Begins a session with a peer that has just connected.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub fn accept(acceptor: &TlsAcceptor) -> Result<Self, TlsError> {
        Ok(Self { stage: Stage::Handshake(Box::new(Handshake::accept(acceptor)?)) })
    }

    /// Begins a session with a server that has just been connected to, and must show a certificate for this name: one of
    /// DNS, or an address (without brackets). Next comes [`Self::begin`].
    ///
    /// # Errors
    ///
    /// When that is no name, and when the system has no randomness.
    pub fn connect(connector: &TlsConnector, server_name: &str) -> Result<Self, TlsError> {
        Ok(Self { stage: Stage::Handshake(Box::new(Handshake::connect(connector, server_name)?)) })
    }

    /// Appends what is sent before anything was received: a client's hello. A server has nothing to say then.
    pub fn begin(&mut self, sealed: &mut Vec<u8>) {
        if let Stage::Handshake(handshake) = &mut self.stage {
            handshake.begin(sealed);
        }
    }

    /// Takes whole records from the front of `received` and appends their plaintext to `plaintext`; what must be sent back
    /// is appended to `sealed`: flights of the handshake, tickets, new keys, alerts. What is left in `received` must still
    /// be there, with more behind it, at the next call. What comes behind a close_notify is thrown away (RFC 8446 §6.1).
    ///
    /// # Errors
    ///
    /// When the peer breaks the protocol or nothing can be agreed upon. `sealed` then has the alert that tells the peer;
    /// the session is of no more use. What was appended to `plaintext` before came from the peer in this order.
    #[inline]
    pub fn receive(
        &mut self,
        received: &mut BytesMut,
        plaintext: &mut BytesMut,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, TlsError> {
        let outcome = match &mut self.stage {
            Stage::Established(traffic) if traffic.closed_by_peer => {
                received.clear();
                return Ok(Received::default());
            }
            Stage::Established(traffic) => traffic.receive(received, plaintext, sealed),
            Stage::Handshake(_) | Stage::Over => self.receive_handshake(received, plaintext, sealed),
        };
        if outcome.is_err() {
            self.stage = Stage::Over;
        }
        outcome
    }

    /// As [`Self::receive`], but for the handshake alone: what comes behind it is left. Says whether it is complete.
    ///
    /// # Errors
    ///
    /// As [`Self::receive`].
    pub fn shake_hands(&mut self, received: &mut BytesMut, sealed: &mut Vec<u8>) -> Result<bool, TlsError> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Handshake(mut handshake) => {
                let is_complete = handshake.receive(received, sealed)?;
                self.stage = if is_complete {
                    Stage::Established(Box::new(handshake.into_traffic(sealed)?))
                } else {
                    Stage::Handshake(handshake)
                };
                Ok(is_complete)
            }
            Stage::Established(traffic) => {
                self.stage = Stage::Established(traffic);
                Ok(true)
            }
            Stage::Over => Err(TlsError::NotEstablished),
        }
    }

    /// Encrypts into records whose plaintext has at most `record` bytes, at least 1 and at most
    /// [`MAX_RECORD_PLAINTEXT`](crate::MAX_RECORD_PLAINTEXT).
    ///
    /// # Errors
    ///
    /// Outside an established session, after [`Self::close`], and where TLS 1.2 has no keys for more.
    #[inline]
    pub fn seal(&mut self, plaintext: &[u8], record: usize, sealed: &mut Vec<u8>) -> Result<(), TlsError> {
        match &mut self.stage {
            Stage::Established(traffic) => traffic.seal(plaintext, record, sealed),
            Stage::Handshake(_) | Stage::Over => Err(TlsError::NotEstablished),
        }
    }

    /// Says that nothing more will be sent (close_notify). The peer may go on. Before the handshake is complete there is
    /// nothing to be said.
    pub fn close(&mut self, sealed: &mut Vec<u8>) {
        if let Stage::Established(traffic) = &mut self.stage {
            traffic.close(sealed);
        }
    }

    /// Whether the handshake is complete, and sending possible.
    #[must_use]
    pub fn is_established(&self) -> bool {
        matches!(self.stage, Stage::Established(_))
    }

    /// Whether the peer has said that it sends no more.
    #[must_use]
    pub fn is_closed_by_peer(&self) -> bool {
        self.established().is_some_and(|traffic| traffic.closed_by_peer)
    }

    /// What is spoken inside, if that was agreed upon.
    #[must_use]
    pub fn protocol(&self) -> Option<Protocol> {
        self.established()?.protocol
    }

    /// What was agreed upon; nothing before the handshake is complete.
    #[must_use]
    pub fn description(&self) -> Option<TlsDescription> {
        Some(self.established()?.description.clone())
    }

    fn established(&self) -> Option<&Traffic> {
        match &self.stage {
            Stage::Established(traffic) => Some(traffic),
            Stage::Handshake(_) | Stage::Over => None,
        }
    }

    /// Goes on with the handshake, and with what comes behind it.
    fn receive_handshake(
        &mut self,
        received: &mut BytesMut,
        plaintext: &mut BytesMut,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, TlsError> {
        if !self.shake_hands(received, sealed)? {
            return Ok(Received::default());
        }
        let Stage::Established(traffic) = &mut self.stage else { return Err(TlsError::NotEstablished) };
        let events = traffic.receive(received, plaintext, sealed)?;
        Ok(Received { established: true, ..events })
    }
}
