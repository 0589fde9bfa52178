//! The seam of the access log.

use std::time::{Duration, Instant, SystemTime};

use serow_message::{Connection, RequestHead, StatusCode};

/// Is told of every request when it is over. Each worker has one of its own.
pub trait AccessLog: 'static {
    /// Called on the worker's thread: what takes long here, every connection of the core waits for.
    fn log(&self, served: &Served<'_>);
}

/// A request that is over.
#[derive(Debug)]
pub struct Served<'a> {
    /// The connection it came on.
    pub connection: &'a Connection,
    /// Its head; `None` where none could be made of what the client sent (400, 408, 431 …).
    pub request: Option<&'a RequestHead>,
    /// The status of the response. 499 where there was none since the client left before, as nginx writes it.
    pub status: StatusCode,
    /// Bytes of the response's body.
    pub body_bytes: u64,
    /// When the head of the request was whole.
    pub began: SystemTime,
    /// From then until the last byte of the response was handed to the kernel.
    pub took: Duration,
    /// Whether the response was sent whole; otherwise the connection was cut.
    pub whole: bool,
}

/// What is kept of a request for the log.
pub(crate) struct Record {
    connection: Connection,
    request: Option<RequestHead>,
    began: SystemTime,
    clock: Instant,
}

impl Record {
    pub(crate) fn new(request: Option<&RequestHead>, connection: &Connection) -> Self {
        Self {
            connection: connection.clone(),
            request: request.cloned(),
            began: SystemTime::now(),
            clock: Instant::now(),
        }
    }

    pub(crate) fn write(self, log: &dyn AccessLog, status: StatusCode, body_bytes: u64, whole: bool) {
        log.log(&Served {
            connection: &self.connection,
            request: self.request.as_ref(),
            status,
            body_bytes,
            began: self.began,
            took: self.clock.elapsed(),
            whole,
        });
    }
}
