//! The seam of the access log.

use std::time::{Duration, Instant, SystemTime};

use serow_message::{Connection, Headers, Method, StatusCode, Target, Version};

/// Is told of every request when its response is finished. Each worker has one of its own.
pub trait AccessLog: 'static {
    /// Called on the worker's thread: what takes long here, every connection of the core waits for.
    fn log(&self, served: &Served<'_>);
}

/// A request that was answered.
#[derive(Debug)]
pub struct Served<'a> {
    /// The connection it came on.
    pub connection: &'a Connection,
    /// Its method.
    pub method: &'a Method,
    /// What it asked for.
    pub target: &'a Target,
    /// The version of HTTP it came in.
    pub version: Version,
    /// Its header fields.
    pub headers: &'a Headers,
    /// The status of the response.
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
    method: Method,
    target: Target,
    version: Version,
    headers: Headers,
    began: SystemTime,
    clock: Instant,
}

impl Record {
    pub(crate) fn new(head: &serow_message::RequestHead, connection: &Connection) -> Self {
        Self {
            connection: connection.clone(),
            method: head.method.clone(),
            target: head.target.clone(),
            version: head.version,
            headers: head.headers.clone(),
            began: SystemTime::now(),
            clock: Instant::now(),
        }
    }

    pub(crate) fn write(self, log: &dyn AccessLog, status: StatusCode, body_bytes: u64, whole: bool) {
        log.log(&Served {
            connection: &self.connection,
            method: &self.method,
            target: &self.target,
            version: self.version,
            headers: &self.headers,
            status,
            body_bytes,
            began: self.began,
            took: self.clock.elapsed(),
            whole,
        });
    }
}
