//! The seam of the access log.

use std::{
    mem,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant, SystemTime},
};

use serow_message::{Connection, Extensions, Headers, Priority, RequestHead, StatusCode};

use crate::exchange::Sent;

/// Is told of every request when it is over. Each worker has one of its own.
pub trait AccessLog: 'static {
    /// Called on the worker's thread: what takes long here, every connection of the core waits for.
    fn log(&self, served: &Served<'_>);

    /// Whether it reads [`Served::response`] and [`Served::extensions`], which are kept only where that is so.
    fn reads_response(&self) -> bool {
        false
    }
}

/// A request that is over.
#[derive(Debug)]
pub struct Served<'a> {
    /// The connection it came on.
    pub connection: &'a Connection,
    /// The number of that connection; each of this process that had a request has another.
    pub connection_number: u64,
    /// Which of the connection's requests this is, from 1.
    pub request_number: u64,
    /// Its head; `None` where none could be made of what the client sent (400, 408, 431 …).
    pub request: Option<&'a RequestHead>,
    /// The status of the response. 499 where there was none since the client left before, as nginx writes it.
    pub status: StatusCode,
    /// The fields of the response as the handler made it, without those that are added when it is sent (`date`,
    /// `content-length` and those of the connection); `None` where there was no response, or
    /// [`AccessLog::reads_response`] does not ask for it.
    pub response: Option<&'a Headers>,
    /// What the handler put into the response's extensions; `None` as with [`Self::response`].
    pub extensions: Option<&'a Extensions>,
    /// Bytes of the response's head, as it was sent; 0 where the head was not the handler's.
    pub head_bytes: u64,
    /// Bytes of the response's body.
    pub body_bytes: u64,
    /// Where it came over HTTP/2: on which stream, and how urgent that was.
    pub stream: Option<ServedStream>,
    /// When the head of the request was whole.
    pub began: SystemTime,
    /// From then until the last byte of the response was handed to the kernel.
    pub took: Duration,
    /// Whether the response was sent whole; otherwise the connection was cut.
    pub whole: bool,
}

/// The stream that carried a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedStream {
    /// Its number (RFC 9113 §5.1.1).
    pub number: u32,
    /// How urgent the response was when the last of it was sent (RFC 9218): as the client said it, or the response.
    pub priority: Priority,
}

/// Numbers the requests of a connection for the log.
#[derive(Default)]
pub(crate) struct RequestLog {
    connection: u64,
    requests: u64,
}

/// What is kept of a request for the log.
pub(crate) struct RequestLogEntry {
    connection: Connection,
    connection_number: u64,
    request_number: u64,
    request: Option<RequestHead>,
    response: Option<(Headers, Extensions)>,
    stream: Option<ServedStream>,
    began: SystemTime,
    clock: Instant,
}

impl RequestLog {
    /// A request has come, or what might have been one.
    pub(crate) fn begin(&mut self, request: Option<&RequestHead>, connection: &Connection) -> RequestLogEntry {
        if self.requests == 0 {
            self.connection = NEXT_CONNECTION.fetch_add(1, Ordering::Relaxed);
        }
        self.requests += 1;
        RequestLogEntry {
            connection: connection.clone(),
            connection_number: self.connection,
            request_number: self.requests,
            request: request.cloned(),
            response: None,
            stream: None,
            began: SystemTime::now(),
            clock: Instant::now(),
        }
    }
}

impl RequestLogEntry {
    /// The stream that carries it, and how urgent that is by now.
    pub(crate) fn note_stream(&mut self, number: u32, priority: Priority) {
        self.stream = Some(ServedStream { number, priority });
    }

    /// The response that will be sent. Its extensions are of no more use to anybody else.
    pub(crate) fn note_response(&mut self, log: &dyn AccessLog, headers: &Headers, extensions: &mut Extensions) {
        if log.reads_response() {
            self.response = Some((headers.clone(), mem::take(extensions)));
        }
    }

    /// Tells the log.
    pub(crate) fn write(self, log: &dyn AccessLog, sent: Sent, whole: bool) {
        log.log(&Served {
            connection: &self.connection,
            connection_number: self.connection_number,
            request_number: self.request_number,
            request: self.request.as_ref(),
            status: sent.status,
            response: self.response.as_ref().map(|(headers, _)| headers),
            extensions: self.response.as_ref().map(|(_, extensions)| extensions),
            head_bytes: sent.head_bytes,
            body_bytes: sent.body_bytes,
            stream: self.stream,
            began: self.began,
            took: self.clock.elapsed(),
            whole,
        });
    }
}

/// Numbers are given out at the first request of a connection, so that those without a log cost nothing.
static NEXT_CONNECTION: AtomicU64 = AtomicU64::new(1);
