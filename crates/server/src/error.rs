//! Why a server does not start, or stopped.

use std::{fmt, io};

use serow_net::{AddressError, BindError};
use serow_tls::TlsSettingsError;

/// Why a server does not start, or stopped. Its text is one line that says what to do.
#[derive(Debug)]
pub enum Error {
    /// What should be listened at is no address.
    Address(AddressError),
    /// The address cannot be listened at.
    Bind(BindError),
    /// Connections cannot be encrypted as wished.
    Tls(TlsSettingsError),
    /// The system refused what every server needs: a thread, an event queue, signals.
    System(io::Error),
    /// [`Server::run`](crate::Server::run), which blocks, was called in a tokio runtime.
    InRuntime,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(formatter),
            Self::Bind(error) => error.fmt(formatter),
            Self::Tls(error) => error.fmt(formatter),
            Self::System(error) => write!(formatter, "the system refuses what a server needs: {error}"),
            Self::InRuntime => formatter.write_str(
                "run() blocks, and was called in a tokio runtime: call serve(handler).await instead, or run() in a main \
                 without #[tokio::main]",
            ),
        }
    }
}

impl std::error::Error for Error {}

impl From<AddressError> for Error {
    fn from(error: AddressError) -> Self {
        Self::Address(error)
    }
}

impl From<BindError> for Error {
    fn from(error: BindError) -> Self {
        Self::Bind(error)
    }
}

impl From<TlsSettingsError> for Error {
    fn from(error: TlsSettingsError) -> Self {
        Self::Tls(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
