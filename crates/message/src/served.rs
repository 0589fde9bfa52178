//! The trait of access logs, and the finished requests that the server gives to them.

use std::{
    net::IpAddr,
    time::{Duration, SystemTime},
};

use crate::{Connection, Extensions, Headers, Priority, RequestHead, RouteNote, Scheme, StatusCode};

/// An access log: the server calls it once per request, when the response has been sent. Each worker has its own.
pub trait AccessLog: 'static {
    /// Called on the worker's thread: while it runs, all connections of the thread wait.
    fn log(&self, served: &Served<'_>);

    /// Whether it reads [`Served::response`] and [`Served::extensions`]; the server keeps them only if so.
    fn reads_response(&self) -> bool {
        false
    }

    /// Whether it reads [`Served::note`]; the server adds a [`RouteNote`] to requests only if so.
    fn reads_route(&self) -> bool {
        false
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
    /// The status of the response; 499, as in nginx, if the client disconnected, or the grace time of a stopping server was
    /// over, before there was one.
    pub status: StatusCode,
    /// The fields of the response as the handler made it, without those that are added when it is sent (`date`,
    /// `content-length` and those of the connection); `None` where there was no response, or
    /// [`AccessLog::reads_response`] does not ask for it.
    pub response: Option<&'a Headers>,
    /// The extensions that the handler put into the response; `None` as with [`Self::response`].
    pub extensions: Option<&'a Extensions>,
    /// Where handlers noted which route took the request; `None` if [`AccessLog::reads_route`] does not ask for it.
    pub note: Option<&'a RouteNote>,
    /// Bytes of the response's head, as it was sent; 0 where the head was not the handler's.
    pub head_bytes: u64,
    /// Bytes of the response's body.
    pub body_bytes: u64,
    /// Bytes of the request's body that were received until the response was sent, without chunk sizes and frames.
    pub request_body_bytes: u64,
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
    /// Its number (RFC 9113 §5.1.1, RFC 9000 §2.1).
    pub number: u64,
    /// The priority of the response when its last byte was sent (RFC 9218), as the client or the response set it.
    pub priority: Priority,
}

impl Served<'_> {
    /// The number of the route that took the request; `None` where none did, or [`AccessLog::reads_route`] does not ask
    /// for it.
    #[must_use]
    pub fn route(&self) -> Option<u32> {
        self.note.and_then(RouteNote::number)
    }
}
