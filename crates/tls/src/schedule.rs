//! The key schedule of a TLS 1.3 session, on either side.

use rustls::{
    AlertDescription, ConnectionTrafficSecrets, Error, client::ClientConnectionData, kernel::KernelConnection,
    server::ServerConnectionData,
};

use crate::TlsError;

/// Derives the next keys.
pub(crate) enum Schedule {
    Client(KernelConnection<ClientConnectionData>),
    Server(KernelConnection<ServerConnectionData>),
}

/// Keys, and how many records they have encrypted.
pub(crate) type Secrets = (u64, ConnectionTrafficSecrets);

impl Schedule {
    /// The next keys for receiving.
    pub(crate) fn next_receiving(&mut self) -> Result<Secrets, Error> {
        match self {
            Self::Client(schedule) => schedule.update_rx_secret(),
            Self::Server(schedule) => schedule.update_rx_secret(),
        }
    }

    /// The next keys for sending.
    pub(crate) fn next_sending(&mut self) -> Result<Secrets, Error> {
        match self {
            Self::Client(schedule) => schedule.update_tx_secret(),
            Self::Server(schedule) => schedule.update_tx_secret(),
        }
    }

    /// Keeps a ticket with which a later connection may resume the session (RFC 8446 §4.6.1); `ticket` is the message
    /// without its header.
    ///
    /// # Errors
    ///
    /// When it is malformed, and always on a server, which must not receive one.
    pub(crate) fn keep_ticket(&mut self, ticket: &[u8]) -> Result<(), TlsError> {
        let Self::Client(schedule) = self else {
            return Err(TlsError::Violation(AlertDescription::UnexpectedMessage));
        };
        schedule.handle_new_session_ticket(ticket).map_err(|error| match error {
            Error::InvalidMessage(fault) => TlsError::Violation(fault.into()),
            Error::PeerMisbehaved(_) => TlsError::Violation(AlertDescription::IllegalParameter),
            error => TlsError::Local(error),
        })
    }
}
