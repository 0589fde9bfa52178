//! The error of a server that could not start, or stopped.

use std::{fmt, io};

use serow_net::{AddressError, BindError};

#[cfg(feature = "tls")]
use serow_tls::TlsSettingsError;

use crate::WorkerCoresError;

/// The error of a server that could not start, or stopped. Its message is one line that says what to do.
#[non_exhaustive]
pub enum Error {
    /// The text is not an address to listen on.
    Address(AddressError),
    /// The server cannot listen on the address.
    Bind(BindError),
    /// The TLS settings cannot be applied.
    #[cfg(feature = "tls")]
    Tls(TlsSettingsError),
    /// Workers cannot be pinned to these cores.
    WorkerCores(WorkerCoresError),
    /// A listener for TLS, in a build without the cargo feature `tls`.
    WithoutTls,
    /// The system refused a thread, an event queue or signals, which every server needs.
    System(io::Error),
    /// [`Server::run`](crate::Server::run), which blocks, was called in a tokio runtime.
    InRuntime,
}

// As its message: `fn main() -> Result<…>` prints an error so.
impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(formatter),
            Self::Bind(error) => error.fmt(formatter),
            #[cfg(feature = "tls")]
            Self::Tls(error) => error.fmt(formatter),
            Self::WorkerCores(error) => error.fmt(formatter),
            Self::WithoutTls => {
                formatter.write_str("this program was built without TLS: add the cargo feature `tls` of the crate `serow`")
            }
            Self::System(error) => write!(formatter, "the system refused a resource that the server needs: {error}"),
            Self::InRuntime => formatter.write_str(
                "run() blocks, and was called in a tokio runtime: call serve(handler).await instead, or run() in a main \
                 without #[tokio::main]",
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Their messages are the inner error's.
            Self::Address(error) => error.source(),
            Self::Bind(error) => error.source(),
            #[cfg(feature = "tls")]
            Self::Tls(error) => error.source(),
            Self::WorkerCores(error) => error.source(),
            Self::System(error) => Some(error),
            Self::WithoutTls | Self::InRuntime => None,
        }
    }
}

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

#[cfg(feature = "tls")]
impl From<TlsSettingsError> for Error {
    fn from(error: TlsSettingsError) -> Self {
        Self::Tls(error)
    }
}

impl From<WorkerCoresError> for Error {
    fn from(error: WorkerCoresError) -> Self {
        Self::WorkerCores(error)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

#[cfg(test)]
mod tests {
    use std::{error::Error as _, net::TcpListener};

    use super::*;
    use crate::{Address, Server, WorkerCores};

    /// A `main` that returns a `Result` prints its error by `Debug`.
    #[test]
    fn debug_prints_the_message_with_its_cause() {
        let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = occupied.local_addr().unwrap();
        let in_use = Server::new().listen(address.to_string()).bind().map(drop).unwrap_err();
        let cases = [
            (in_use, format!("{address} is in use by ")),
            ("nowhere".parse::<Address>().unwrap_err().into(), "\"nowhere\" is not an address".to_owned()),
            (
                crate::WorkerCoresError::Refused { core: 3, allowed: WorkerCores::list(vec![0, 1]) }.into(),
                "workers cannot be pinned to core 3".to_owned(),
            ),
            (io::Error::other("no threads").into(), "the system refused a resource".to_owned()),
            #[cfg(feature = "tls")]
            (TlsSettingsError::Read("a.pem".into(), io::Error::other("bad disk")).into(), "a.pem: ".to_owned()),
            (Error::WithoutTls, "this program was built without TLS".to_owned()),
            (Error::InRuntime, "run() blocks".to_owned()),
        ];
        for (error, expected) in cases {
            let printed = format!("{error:?}");
            assert!(printed.starts_with(&expected), "{printed}");
            assert_eq!(printed, error.to_string());
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            assert!(printed.contains(&cause), "{printed}: {cause}");
        }
    }
}
