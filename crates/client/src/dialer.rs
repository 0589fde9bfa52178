//! Opening connections to one server.

use std::{error::Error, fmt, io, rc::Rc, time::Duration};

use serow_net::{Buffers, Destination, Wire};
use tokio::time::timeout;

/// Opens connections to one server.
#[derive(Clone, Debug)]
pub struct Dialer {
    /// Where it is.
    pub destination: Destination,
    /// How long opening may take, TLS included.
    pub patience: Duration,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum DialError {
    /// It was refused, or could not be made.
    Connect(io::Error),
    /// It took too long.
    TimedOut,
}

impl Dialer {
    /// Opens a connection.
    ///
    /// # Errors
    ///
    /// Where there is none.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime with I/O and time enabled.
    pub async fn dial(&self, _buffers: &Rc<Buffers>) -> Result<Wire, DialError> {
        let opening = async { Ok(Wire::new(self.destination.connect().await.map_err(DialError::Connect)?)) };
        timeout(self.patience, opening).await.map_err(|_| DialError::TimedOut)?
    }
}

impl fmt::Display for DialError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(error) => error.fmt(formatter),
            Self::TimedOut => formatter.write_str("it takes too long"),
        }
    }
}

impl Error for DialError {}
