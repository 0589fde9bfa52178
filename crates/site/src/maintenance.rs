//! Maintenance: while the switch is on, clients receive 503, and handlers receive no requests.

use std::{
    net::IpAddr,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serow::{KnownHeader, Peer, Request, Response};
use serow_gateway::{ErrorReason, Network, error_page};

/// What clients receive during maintenance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// When clients may ask again (`Retry-After`), in whole seconds.
    pub retry_after: Duration,
    /// Clients that are served as usual: those who look at their work.
    pub allowed: Vec<Network>,
}

/// Whether a server is in maintenance; clones are the same switch. It is off at first.
#[derive(Clone, Debug, Default)]
pub struct MaintenanceSwitch {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Read for each request; the rest only while it is on.
    is_on: AtomicBool,
    maintenance: RwLock<Option<Arc<Maintenance>>>,
}

impl MaintenanceSwitch {
    /// Begins or changes maintenance, or ends it with `None`. Requests in progress are not disturbed.
    pub fn set(&self, maintenance: Option<Maintenance>) {
        let is_on = maintenance.is_some();
        *self.shared.maintenance.write().unwrap_or_else(PoisonError::into_inner) = maintenance.map(Arc::new);
        self.shared.is_on.store(is_on, Ordering::Release);
    }

    /// The maintenance that goes on.
    #[must_use]
    pub fn get(&self) -> Option<Arc<Maintenance>> {
        self.shared.maintenance.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The response during maintenance; `None` where the request goes on to its handler.
    #[inline]
    pub(crate) fn response(&self, request: &Request) -> Option<Response> {
        if self.shared.is_on.load(Ordering::Acquire) { self.get()?.response(request) } else { None }
    }
}

impl Maintenance {
    #[cold]
    fn response(&self, request: &Request) -> Option<Response> {
        if self.allows(request.connection().peer()) {
            return None;
        }
        let mut response = error_page(ErrorReason::Maintenance, &request.headers);
        // Digits: always a valid field.
        let _ = response.headers.insert(KnownHeader::RetryAfter, self.retry_after.as_secs().to_string());
        Some(response)
    }

    /// Whether this client is served. The address is that of the connection: a field that a client can write is not asked.
    fn allows(&self, peer: Peer) -> bool {
        let is_of = |address: IpAddr| self.allowed.iter().any(|network| network.contains(address));
        match peer {
            Peer::Tcp(address) => is_of(address.ip()),
            Peer::Unix => self.allowed.contains(&Network::Unix),
        }
    }
}

#[cfg(test)]
mod tests {
    use serow::{Body, Connection, Headers, Method, RequestHead, Scheme, Target, Version};

    use super::*;

    fn request(peer: Peer) -> Request {
        let (target, headers) = (Target::default(), Headers::default());
        let head = RequestHead { method: Method::POST, target, version: Version::HTTP_11, headers };
        Request::new(head, Body::empty(), Connection::new(peer, None, Scheme::Http))
    }

    #[test]
    fn clients_are_refused_while_it_is_on_unless_they_are_allowed() {
        let switch = MaintenanceSwitch::default();
        let [stranger, colleague] = ["192.0.2.1:1", "10.0.0.7:1"].map(|address| Peer::Tcp(address.parse().unwrap()));
        assert!(switch.response(&request(stranger)).is_none());
        let allowed = vec!["10.0.0.0/8".parse().unwrap()];
        switch.clone().set(Some(Maintenance { retry_after: Duration::from_secs(90), allowed }));
        let refused = switch.response(&request(stranger)).unwrap();
        assert_eq!((refused.status.as_u16(), refused.headers.get_str(KnownHeader::RetryAfter)), (503, Some("90")));
        assert!(switch.response(&request(colleague)).is_none());
        assert!(switch.response(&request(Peer::Unix)).is_some());
        switch.set(None);
        assert!(switch.response(&request(stranger)).is_none());
    }
}
