//! The data that a `tower` service finds beside the request itself.

use std::sync::{Arc, Mutex, PoisonError};

use crate::{Connection, InformationalSender, OnUpgrade, Priority};

/// The server's data about an [`http::Request`] that the type itself has no place for. A service finds it in the
/// request's extensions: in axum, `Extension(context): Extension<RequestContext>`.
///
/// It is one extension, because each costs an allocation per request.
///
/// ```
/// use serow_message::{Body, Peer, RequestContext};
///
/// fn peer(request: &http::Request<Body>) -> Option<Peer> {
///     let context = request.extensions().get::<RequestContext>()?;
///     Some(context.connection().peer())
/// }
/// # assert!(peer(&serow_message::Request::get("/").into()).is_some());
/// ```
#[derive(Clone, Debug, Default)]
pub struct RequestContext {
    connection: Connection,
    informational: InformationalSender,
    priority: Priority,
    /// Extensions must be `Clone`, but an upgrade can be taken only once.
    upgrade: Option<Arc<Mutex<Option<OnUpgrade>>>>,
}

impl RequestContext {
    /// The context of a request on this connection: for tests of a service.
    #[must_use]
    #[inline]
    pub fn new(connection: Connection) -> Self {
        Self { connection, ..Self::default() }
    }

    /// The same with another connection: for middleware that knows the client from elsewhere.
    #[must_use]
    pub fn with_connection(self, connection: Connection) -> Self {
        Self { connection, ..self }
    }

    #[inline]
    pub(crate) fn set_informational(&mut self, informational: InformationalSender) {
        self.informational = informational;
    }

    #[inline]
    pub(crate) fn set_priority(&mut self, priority: Priority) {
        self.priority = priority;
    }

    /// Whether the request asks for an upgrade, taken or not.
    pub(crate) fn is_upgrade(&self) -> bool {
        self.upgrade.is_some()
    }

    pub(crate) fn set_upgrade(&mut self, upgrade: OnUpgrade) {
        self.upgrade = Some(Arc::new(Mutex::new(Some(upgrade))));
    }

    /// The connection of the request: the client's address, the local one, TLS.
    #[must_use]
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The sender of informational responses, such as 103 Early Hints.
    #[must_use]
    pub fn informational(&self) -> &InformationalSender {
        &self.informational
    }

    /// The priority that the request's field states, or the default without one. To override it, a service inserts a
    /// [`Priority`] into the extensions of its response.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// Takes the future of the connection itself, as [`Request::upgrade`](crate::Request::upgrade). A service takes it
    /// before it responds with 101, or with 2xx to CONNECT: as long as nobody does, whoever has a clone of the context
    /// keeps the connection open.
    #[must_use]
    pub fn take_upgrade(&self) -> Option<OnUpgrade> {
        self.upgrade.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
