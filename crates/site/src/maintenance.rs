//! Maintenance: while the switch is on, clients receive 503, and handlers receive no requests.

use std::{
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serow::{KnownHeader, Peer, Request, Response};
use serow_gateway::{ErrorReason, Network, TrustedProxies, error_page};

/// The settings of maintenance, during which clients receive 503.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maintenance {
    /// When clients may ask again (`Retry-After`), in whole seconds.
    pub retry_after: Duration,
    /// Clients that are served as usual: those of administrators, who check their work.
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
    pub(crate) fn response(&self, request: &Request, trusted: &TrustedProxies) -> Option<Response> {
        if self.shared.is_on.load(Ordering::Acquire) { self.get()?.response(request, trusted) } else { None }
    }
}

impl Maintenance {
    #[cold]
    fn response(&self, request: &Request, trusted: &TrustedProxies) -> Option<Response> {
        if self.allows(trusted.client(&request.headers, request.connection())) {
            return None;
        }
        let mut response = error_page(ErrorReason::Maintenance, &request.headers);
        // Digits: always a valid field.
        let _ = response.headers.insert(KnownHeader::RetryAfter, self.retry_after.as_secs().to_string());
        Some(response)
    }

    /// Whether this client is served. Only trusted proxies say who it is: fields that a client can write do not count.
    fn allows(&self, client: Peer) -> bool {
        self.allowed.iter().any(|network| network.contains_peer(client))
    }
}

#[cfg(test)]
mod tests {
    use serow::{Body, Connection, Headers, Method, RequestHead, Scheme, Target, Version};

    use super::*;

    fn request(peer: Peer, forwarded_for: &str) -> Request {
        let mut headers = Headers::default();
        headers.append("x-forwarded-for", forwarded_for).unwrap();
        let head = RequestHead { method: Method::POST, target: Target::default(), version: Version::HTTP_11, headers };
        Request::new(head, Body::empty(), Connection::new(peer, None, Scheme::Http))
    }

    #[test]
    fn clients_are_refused_while_it_is_on_unless_they_are_allowed() {
        let switch = MaintenanceSwitch::default();
        let [stranger, colleague] = ["192.0.2.1:1", "10.0.0.7:1"].map(|address| Peer::Tcp(address.parse().unwrap()));
        let response = |peer, forwarded_for| switch.response(&request(peer, forwarded_for), &TrustedProxies::default());
        assert!(response(stranger, "").is_none());
        let allowed = vec!["10.0.0.0/8".parse().unwrap()];
        switch.clone().set(Some(Maintenance { retry_after: Duration::from_secs(90), allowed }));
        let refused = response(stranger, "").unwrap();
        assert_eq!((refused.status.as_u16(), refused.headers.get_str(KnownHeader::RetryAfter)), (503, Some("90")));
        assert!(response(stranger, "10.0.0.7").is_some(), "a forged address");
        assert!(response(colleague, "192.0.2.1").is_none());
        assert!(response(Peer::Unix, "").is_some());
        switch.set(None);
        assert!(response(stranger, "").is_none());
    }

    #[test]
    fn trusted_proxies_name_the_client() {
        let switch = MaintenanceSwitch::default();
        let trusted: TrustedProxies = ["192.0.2.1".parse().unwrap(), Network::Unix].into_iter().collect();
        let allowed = vec!["10.0.0.0/8".parse().unwrap(), "192.0.2.1".parse().unwrap()];
        switch.set(Some(Maintenance { retry_after: Duration::from_secs(90), allowed }));
        let proxy = Peer::Tcp("192.0.2.1:1".parse().unwrap());
        for (peer, forwarded_for, is_served) in [
            (proxy, "10.0.0.7", true),
            (proxy, "10.0.0.7, 203.0.113.5", false),
            (Peer::Unix, "10.0.0.7", true),
            (Peer::Unix, "", false),
            // The proxy itself asks.
            (proxy, "", true),
        ] {
            let response = switch.response(&request(peer, forwarded_for), &trusted);
            assert_eq!(response.is_none(), is_served, "{peer:?} {forwarded_for}");
        }
    }
}
