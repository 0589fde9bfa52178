//! The TLS session of one connection.

use bytes::BytesMut;

use crate::{Protocol, TlsAcceptor, TlsConnector, TlsDescription, TlsError, handshake::Handshake, traffic::Traffic};

/// The TLS session of one connection; the caller moves the bytes.
///
/// It keeps no bytes, neither received nor to be sent: they stay in the caller's buffers, and an idle session needs
/// none. (Except the beginning of a fragmented ticket.)
pub struct TlsSession {
    stage: SessionStage,
}

/// The state of a session. Boxed: handshakes are larger than established sessions.
enum SessionStage {
    Handshake(Box<Handshake>),
    Established(Box<Traffic>),
    /// It failed.
    Over,
}

/// The events that [`TlsSession::receive`] reports, apart from plaintext.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The handshake has just become complete: the protocol is negotiated, and sending is possible.
    pub established: bool,
    /// The peer has just announced that it sends no more (close_notify). Input that ends without it was truncated, by
    /// the network or by an attacker.
    pub closed: bool,
}

impl TlsSession {
    /// Begins the session of a server with a client that has just connected.
    ///
    /// # Errors
    ///
    /// When the system has no randomness.
    pub fn accept(acceptor: &TlsAcceptor) -> Result<Self, TlsError> {
        Ok(Self { stage: SessionStage::Handshake(Box::new(Handshake::accept(acceptor)?)) })
    }

    /// Begins the session of a client with a server that must present a certificate for this name: a DNS name, or an IP
    /// address without brackets. Then call [`Self::begin`].
    ///
    /// # Errors
    ///
    /// When that is not a server name, and when the system has no randomness.
    pub fn connect(connector: &TlsConnector, server_name: &str) -> Result<Self, TlsError> {
        Ok(Self { stage: SessionStage::Handshake(Box::new(Handshake::connect(connector, server_name)?)) })
    }

    /// Appends what is sent before anything is received: a client's ClientHello. A server sends nothing then.
    pub fn begin(&mut self, sealed: &mut Vec<u8>) {
        if let SessionStage::Handshake(handshake) = &mut self.stage {
            handshake.begin(sealed);
        }
    }

    /// Takes whole records from the front of `received` and appends their plaintext to `plaintext`; messages that must
    /// be sent back are appended to `sealed`: flights of the handshake, tickets, new keys, alerts. The rest of
    /// `received` must still be there, with more behind it, at the next call. Bytes after a close_notify are discarded
    /// (RFC 8446 §6.1).
    ///
    /// # Errors
    ///
    /// When the peer violates the protocol, or there is no common version, cipher suite or protocol. `sealed` then has
    /// the alert for the peer, and the session is over. Plaintext that was appended before is authentic and in order.
    #[inline]
    pub fn receive(
        &mut self,
        received: &mut BytesMut,
        plaintext: &mut BytesMut,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, TlsError> {
        let outcome = match &mut self.stage {
            SessionStage::Established(traffic) if traffic.closed_by_peer => {
                received.clear();
                return Ok(Received::default());
            }
            SessionStage::Established(traffic) => traffic.receive(received, plaintext, sealed),
            SessionStage::Handshake(_) | SessionStage::Over => self.receive_handshake(received, plaintext, sealed),
        };
        if outcome.is_err() {
            self.stage = SessionStage::Over;
        }
        outcome
    }

    /// As [`Self::receive`], but for the handshake alone: what comes behind it is left. Returns whether it is complete.
    ///
    /// # Errors
    ///
    /// As [`Self::receive`].
    pub fn shake_hands(&mut self, received: &mut BytesMut, sealed: &mut Vec<u8>) -> Result<bool, TlsError> {
        match std::mem::replace(&mut self.stage, SessionStage::Over) {
            SessionStage::Handshake(mut handshake) => {
                let is_complete = handshake.receive(received, sealed)?;
                self.stage = if is_complete {
                    SessionStage::Established(Box::new(handshake.into_traffic(sealed)?))
                } else {
                    SessionStage::Handshake(handshake)
                };
                Ok(is_complete)
            }
            SessionStage::Established(traffic) => {
                self.stage = SessionStage::Established(traffic);
                Ok(true)
            }
            SessionStage::Over => Err(TlsError::NotEstablished),
        }
    }

    /// Encrypts into records whose plaintext has at most `record` bytes, at least 1 and at most
    /// [`MAX_RECORD_PLAINTEXT`](crate::MAX_RECORD_PLAINTEXT).
    ///
    /// # Errors
    ///
    /// Outside an established session, after [`Self::close`], and when the keys of TLS 1.2 are used up.
    #[inline]
    pub fn seal(&mut self, plaintext: &[u8], record: usize, sealed: &mut Vec<u8>) -> Result<(), TlsError> {
        match &mut self.stage {
            SessionStage::Established(traffic) => traffic.seal(plaintext, record, sealed),
            SessionStage::Handshake(_) | SessionStage::Over => Err(TlsError::NotEstablished),
        }
    }

    /// Appends a close_notify: nothing more will be sent. The peer may continue to send. Does nothing before the
    /// handshake is complete.
    pub fn close(&mut self, sealed: &mut Vec<u8>) {
        if let SessionStage::Established(traffic) = &mut self.stage {
            traffic.close(sealed);
        }
    }

    /// Whether the handshake is complete, and sending possible.
    #[must_use]
    pub fn is_established(&self) -> bool {
        matches!(self.stage, SessionStage::Established(_))
    }

    /// Whether the peer has announced that it sends no more (close_notify).
    #[must_use]
    pub fn is_closed_by_peer(&self) -> bool {
        self.established().is_some_and(|traffic| traffic.closed_by_peer)
    }

    /// The application protocol, if one was negotiated.
    #[must_use]
    pub fn protocol(&self) -> Option<Protocol> {
        self.established()?.protocol
    }

    /// The parameters that were negotiated; none before the handshake is complete.
    #[must_use]
    pub fn description(&self) -> Option<TlsDescription> {
        Some(self.established()?.description.clone())
    }

    fn established(&self) -> Option<&Traffic> {
        match &self.stage {
            SessionStage::Established(traffic) => Some(traffic),
            SessionStage::Handshake(_) | SessionStage::Over => None,
        }
    }

    /// Continues the handshake, and takes the records after it.
    fn receive_handshake(
        &mut self,
        received: &mut BytesMut,
        plaintext: &mut BytesMut,
        sealed: &mut Vec<u8>,
    ) -> Result<Received, TlsError> {
        if !self.shake_hands(received, sealed)? {
            return Ok(Received::default());
        }
        let SessionStage::Established(traffic) = &mut self.stage else { return Err(TlsError::NotEstablished) };
        let events = traffic.receive(received, plaintext, sealed)?;
        Ok(Received { established: true, ..events })
    }
}
