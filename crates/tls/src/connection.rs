//! rustls' connection during the handshake, on either side.

use std::sync::Arc;

use rustls::{
    CommonState, ExtractedSecrets, ServerConfig,
    client::UnbufferedClientConnection,
    pki_types::ServerName,
    server::UnbufferedServerConnection,
    unbuffered::{ConnectionState, EncodeError, EncodeTlsData, UnbufferedStatus},
};

use crate::{TlsConnector, TlsError, schedule::Schedule, side::Side};

/// rustls' connection during the handshake.
pub(crate) enum Connection {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// The progress that the library made.
pub(crate) enum Progress {
    /// It had something to send, and may have more to do with the same input.
    Sent,
    /// It waits for more input.
    Waits,
}

impl Connection {
    pub(crate) fn accept(config: Arc<ServerConfig>) -> Result<Self, TlsError> {
        Ok(Self::Server(UnbufferedServerConnection::new(config)?))
    }

    pub(crate) fn connect(connector: &TlsConnector, server_name: ServerName<'static>) -> Result<Self, TlsError> {
        Ok(Self::Client(UnbufferedClientConnection::new(Arc::clone(&connector.config), server_name)?))
    }

    pub(crate) fn side(&self) -> Side {
        match self {
            Self::Client(_) => Side::Client,
            Self::Server(_) => Side::Server,
        }
    }

    /// The state that has been negotiated so far.
    pub(crate) fn state(&self) -> &CommonState {
        match self {
            Self::Client(connection) => connection,
            Self::Server(connection) => connection,
        }
    }

    /// Passes these bytes to the library and appends what it sends; returns how many of them it has consumed.
    pub(crate) fn process(
        &mut self,
        bytes: &mut [u8],
        sealed: &mut Vec<u8>,
    ) -> (usize, Result<Progress, rustls::Error>) {
        match self {
            Self::Client(connection) => handle(connection.process_tls_records(bytes), sealed),
            Self::Server(connection) => handle(connection.process_tls_records(bytes), sealed),
        }
    }

    /// The keys of a complete handshake, and the key schedule. The library must have nothing left to send.
    pub(crate) fn into_secrets(self) -> Result<(ExtractedSecrets, Schedule), rustls::Error> {
        Ok(match self {
            Self::Client(connection) => {
                let (secrets, schedule) = connection.dangerous_into_kernel_connection()?;
                (secrets, Schedule::Client(schedule))
            }
            Self::Server(connection) => {
                let (secrets, schedule) = connection.dangerous_into_kernel_connection()?;
                (secrets, Schedule::Server(schedule))
            }
        })
    }
}

fn handle<Data>(
    status: UnbufferedStatus<'_, '_, Data>,
    sealed: &mut Vec<u8>,
) -> (usize, Result<Progress, rustls::Error>) {
    let progress = status.state.map(|state| match state {
        ConnectionState::EncodeTlsData(data) => {
            encode(data, sealed);
            Progress::Sent
        }
        ConnectionState::TransmitTlsData(transmission) => {
            transmission.done();
            Progress::Sent
        }
        _ => Progress::Waits,
    });
    (status.discard, progress)
}

/// Appends what is to be sent.
fn encode<Data>(mut data: EncodeTlsData<'_, Data>, sealed: &mut Vec<u8>) {
    let start = sealed.len();
    if let Err(EncodeError::InsufficientSize(size)) = data.encode(&mut []) {
        sealed.resize(start + size.required_size, 0);
        let written = data.encode(&mut sealed[start..]).unwrap_or(0);
        sealed.truncate(start + written);
    }
}
