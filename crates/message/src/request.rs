//! A whole request.

use http::{Extensions, Method, Version};

use crate::{Body, Connection, Headers, InformationalSender, OnUpgrade, RequestHead, Target};

/// A request, as a [`Handler`](crate::Handler) gets it.
#[derive(Debug, Default)]
pub struct Request {
    /// GET, HEAD, POST, …
    pub method: Method,
    /// What is asked for.
    pub target: Target,
    /// The version the client speaks.
    pub version: Version,
    /// The header fields.
    pub headers: Headers,
    /// The body; nothing of it is read from the socket before somebody reads it here.
    pub body: Body,
    /// What middleware adds for those behind it.
    pub extensions: Extensions,
    pub(crate) connection: Connection,
    pub(crate) informational: InformationalSender,
    pub(crate) upgrade: Option<OnUpgrade>,
}

impl Request {
    /// A request from its head and body, as a server makes it.
    #[must_use]
    #[inline]
    pub fn new(head: RequestHead, body: Body, connection: Connection) -> Self {
        Self {
            method: head.method,
            target: head.target,
            version: head.version,
            headers: head.headers,
            body,
            extensions: Extensions::new(),
            connection,
            informational: InformationalSender::default(),
            upgrade: None,
        }
    }

    /// A GET for this path, for tests and in-process calls.
    ///
    /// # Panics
    ///
    /// If it is no valid request target.
    #[must_use]
    pub fn get(target: &'static str) -> Self {
        let target = Target::parse(target.into(), false).expect("a valid request target");
        Self { target, ..Self::default() }
    }

    /// The connection it came on.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Where informational responses (103 Early Hints) are sent.
    #[must_use]
    pub fn informational(&self) -> &InformationalSender {
        &self.informational
    }

    /// Where informational responses of this request go; set by the server.
    #[must_use]
    pub fn with_informational(mut self, informational: InformationalSender) -> Self {
        self.informational = informational;
        self
    }

    /// Attaches the future of an upgraded connection; set by the server where the request asks for an upgrade.
    #[must_use]
    pub fn with_upgrade(mut self, upgrade: OnUpgrade) -> Self {
        self.upgrade = Some(upgrade);
        self
    }

    /// The connection itself, once a response with status 101 (or 2xx to CONNECT) has been sent. `None` where the request
    /// did not ask for it, or it was taken before.
    ///
    /// ```
    /// use serow_message::{Request, Response, StatusCode};
    ///
    /// async fn echo(mut request: Request) -> Response {
    ///     let Some(upgrade) = request.upgrade() else {
    ///         return Response::new(StatusCode::UPGRADE_REQUIRED).with("upgrade", "echo");
    ///     };
    ///     // Spawn a task that waits for `upgrade` and then reads and writes the connection.
    ///     drop(upgrade);
    ///     Response::new(StatusCode::SWITCHING_PROTOCOLS).with("upgrade", "echo")
    /// }
    /// ```
    pub fn upgrade(&mut self) -> Option<OnUpgrade> {
        self.upgrade.take()
    }

    /// The host that is asked for: that of an absolute target, else the `Host` field (RFC 9112 §3.2.2).
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.target.authority().or_else(|| self.headers.get_str(crate::KnownHeader::Host))
    }
}
