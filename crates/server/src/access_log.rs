//! The trait of access logs, and what the server records for them.

use std::{
    mem,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use serow_message::{Connection, Extensions, Headers, Priority, RequestHead, Scheme, StatusCode};

use crate::exchange::Sent;

/// An access log: the server calls it once per request, when the response has been sent. Each worker has its own.
pub trait AccessLog: 'static {
    /// Called on the worker's thread: while it runs, all connections of the thread wait.
    fn log(&self, served: &Served<'_>);

    /// Whether it reads [`Served::response`] and [`Served::extensions`]; the server keeps them only if so.
    fn reads_response(&self) -> bool {
        false
    }

    /// Whether it reads [`Served::route`]; the server adds a [`RouteNote`] to requests only if so.
    fn reads_route(&self) -> bool {
        false
    }
}

/// Where a handler notes which of its routes handles a request, for [`Served::route`]. It is in the extensions of
/// requests if the access log reads it ([`AccessLog::reads_route`]).
#[derive(Clone, Debug)]
pub struct RouteNote(Arc<AtomicU32>);

impl RouteNote {
    fn new() -> Self {
        Self(Arc::new(AtomicU32::new(NO_ROUTE)))
    }

    /// Notes the number of the route; a later note replaces an earlier one. `u32::MAX` stands for none.
    pub fn set(&self, number: u32) {
        self.0.store(number, Ordering::Relaxed);
    }

    fn number(&self) -> Option<u32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|number| *number != NO_ROUTE)
    }
}

/// A finished request, as the access log sees it.
#[derive(Clone, Copy, Debug)]
pub struct Served<'a> {
    /// The connection it came on.
    pub connection: &'a Connection,
    /// The client's address as a trusted proxy in front names it; `None` from the server, for which the peer is the
    /// client. A log that trusts proxies sets it for what writes its lines.
    pub client: Option<IpAddr>,
    /// The scheme of the client's own connection as a trusted proxy names it; `None` as for `client`.
    pub client_scheme: Option<Scheme>,
    /// The number of that connection, unique within this process.
    pub connection_number: u64,
    /// The number of the request within its connection, from 1.
    pub request_number: u64,
    /// Its head; `None` if the client did not send a valid one (400, 408, 431 …).
    pub request: Option<&'a RequestHead>,
    /// The status of the response; 499, as in nginx, if the client disconnected before there was one.
    pub status: StatusCode,
    /// The fields of the response as the handler made it, without those that are added when it is sent (`date`,
    /// `content-length` and those of the connection); `None` where there was no response, or
    /// [`AccessLog::reads_response`] does not ask for it.
    pub response: Option<&'a Headers>,
    /// What the handler put into the response's extensions; `None` as with [`Self::response`].
    pub extensions: Option<&'a Extensions>,
    /// The number of the route that handled it, as a handler noted it in the request's [`RouteNote`]; `None` where no
    /// handler did, or [`AccessLog::reads_route`] does not ask for it.
    pub route: Option<u32>,
    /// Bytes of the response's head, as it was sent; 0 where the head was not the handler's.
    pub head_bytes: u64,
    /// Bytes of the response's body.
    pub body_bytes: u64,
    /// The HTTP/2 stream that carried it, and its priority; `None` over HTTP/1.
    pub stream: Option<ServedStream>,
    /// When the head of the request was complete.
    pub began: SystemTime,
    /// From then until the last byte of the response was handed to the kernel.
    pub took: Duration,
    /// Whether the whole response was sent; otherwise the server closed the connection or reset the stream.
    pub whole: bool,
}

/// The stream that carried a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedStream {
    /// Its number (RFC 9113 §5.1.1).
    pub number: u32,
    /// The priority of the response when its last byte was sent (RFC 9218), as the client or the response set it.
    pub priority: Priority,
}

/// Numbers the requests of a connection for the log.
#[derive(Default)]
pub(crate) struct RequestLog {
    connection: u64,
    requests: u64,
}

/// A request log entry: what the server keeps of a request for the access log.
pub(crate) struct RequestLogEntry {
    connection: Connection,
    connection_number: u64,
    request_number: u64,
    request: Option<RequestHead>,
    response: Option<(Headers, Extensions)>,
    route: Option<RouteNote>,
    stream: Option<ServedStream>,
    began: SystemTime,
    clock: Instant,
}

impl RequestLog {
    /// Begins the entry of a request, or of bytes that did not become one.
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
            route: None,
            stream: None,
            began: SystemTime::now(),
            clock: Instant::now(),
        }
    }
}

impl RequestLogEntry {
    /// Notes the stream that carries the request, and its current priority.
    pub(crate) fn note_stream(&mut self, number: u32, priority: Priority) {
        self.stream = Some(ServedStream { number, priority });
    }

    /// Lets the handler note its route in the extensions of the request.
    #[inline]
    pub(crate) fn ask_for_route(&mut self, log: &dyn AccessLog, extensions: &mut Extensions) {
        if log.reads_route() {
            let note = RouteNote::new();
            extensions.insert(note.clone());
            self.route = Some(note);
        }
    }

    /// Notes the response that will be sent, and takes its extensions, which nothing reads afterwards.
    pub(crate) fn note_response(&mut self, log: &dyn AccessLog, headers: &Headers, extensions: &mut Extensions) {
        if log.reads_response() {
            self.response = Some((headers.clone(), mem::take(extensions)));
        }
    }

    /// Writes the entry to the access log.
    pub(crate) fn write(self, log: &dyn AccessLog, sent: Sent, whole: bool) {
        log.log(&Served {
            connection: &self.connection,
            client: None,
            client_scheme: None,
            connection_number: self.connection_number,
            request_number: self.request_number,
            request: self.request.as_ref(),
            status: sent.status,
            response: self.response.as_ref().map(|(headers, _)| headers),
            extensions: self.response.as_ref().map(|(_, extensions)| extensions),
            route: self.route.as_ref().and_then(RouteNote::number),
            head_bytes: sent.head_bytes,
            body_bytes: sent.body_bytes,
            stream: self.stream,
            began: self.began,
            took: self.clock.elapsed(),
            whole,
        });
    }
}

/// The number of no route.
const NO_ROUTE: u32 = u32::MAX;

/// Numbers are given out at the first request of a connection, so that those without a log cost nothing.
static NEXT_CONNECTION: AtomicU64 = AtomicU64::new(1);
