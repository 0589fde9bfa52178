//! Requests.

use bytes::Bytes;
use http::{Extensions, Method, Version};

use crate::{
    Body, Connection, Headers, InformationalSender, InvalidTarget, OnUpgrade, RequestContext, RequestHead, Target,
};

/// A request, as a [`Handler`](crate::Handler) receives it.
#[derive(Debug, Default)]
pub struct Request {
    /// GET, HEAD, POST, …
    pub method: Method,
    /// The request target.
    pub target: Target,
    /// The version of HTTP.
    pub version: Version,
    /// The header fields.
    pub headers: Headers,
    /// The body; the server reads it from the socket only as the handler reads it here.
    pub body: Body,
    /// Values that middleware adds for the handlers behind it.
    pub extensions: Extensions,
    pub(crate) context: RequestContext,
}

impl Request {
    /// A request with this head and body.
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
            context: RequestContext::new(connection),
        }
    }

    /// A GET for this path, for tests and in-process calls. For untrusted text, use [`Self::try_get`].
    ///
    /// # Panics
    ///
    /// If it is not a valid request target.
    #[must_use]
    pub fn get(target: &'static str) -> Self {
        let target = Target::parse(target.into(), false).expect("a valid request target");
        Self { target, ..Self::default() }
    }

    /// A GET for this path.
    ///
    /// # Errors
    ///
    /// If it is not a valid request target.
    pub fn try_get(target: impl Into<Bytes>) -> Result<Self, InvalidTarget> {
        Ok(Self { target: Target::parse(target.into(), false)?, ..Self::default() })
    }

    /// The connection of the request.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        self.context.connection()
    }

    /// The sender of informational responses, such as 103 Early Hints.
    #[must_use]
    pub fn informational(&self) -> &InformationalSender {
        self.context.informational()
    }

    /// Sets the sender of informational responses; the server calls this.
    #[must_use]
    pub fn with_informational(mut self, informational: InformationalSender) -> Self {
        self.context.set_informational(informational);
        self
    }

    /// Attaches the future of the upgraded connection; the server calls this if the request is an upgrade.
    #[must_use]
    pub fn with_upgrade(mut self, upgrade: OnUpgrade) -> Self {
        self.context.set_upgrade(upgrade);
        self
    }

    /// Takes the future of the connection itself, ready when a response with status 101 (or 2xx to CONNECT) has been
    /// sent.
    /// `None` if the request is not an upgrade, or the future was taken already.
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
        self.context.take_upgrade()
    }

    /// The requested host: that of an absolute target, else the `Host` field (RFC 9112 §3.2.2).
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.target.authority().or_else(|| self.headers.get_str(crate::KnownHeader::Host))
    }
}
