//! The announcement of HTTP/3 in responses over TCP (Alt-Svc, RFC 7838 §3).

use std::{net::SocketAddr, sync::Arc, time::Duration};

use serow_message::{Headers, KnownHeader};
use tokio::time::Instant;

/// The value of Alt-Svc in the responses of a listener.
#[derive(Clone, Debug)]
pub(crate) struct AlternativeService {
    value: Arc<[u8]>,
    /// Until when responses have it; without one, as long as the server runs.
    until: Option<Instant>,
}

impl AlternativeService {
    /// HTTP/3 is served at the port of this address; clients remember it for `age`.
    pub(crate) fn at(address: SocketAddr, age: Duration) -> Self {
        let value = format!("h3=\":{}\"; ma={}", address.port(), age.as_secs());
        Self { value: value.into_bytes().into(), until: None }
    }

    /// HTTP/3 is not served any more; after `age`, no client remembers it.
    pub(crate) fn withdrawn(age: Duration) -> Self {
        Self { value: Arc::from(&b"clear"[..]), until: Instant::now().checked_add(age) }
    }

    /// The same, with a value that no other one shares.
    pub(crate) fn detached(&self) -> Self {
        Self { value: Arc::from(&*self.value), ..*self }
    }

    /// The value for the responses of a new connection.
    pub(crate) fn current(&self) -> Option<Arc<[u8]>> {
        self.until.is_none_or(|until| Instant::now() < until).then(|| Arc::clone(&self.value))
    }
}

/// Tells the client, unless the response says something of its own about it.
pub(crate) fn announce(value: &[u8], headers: &mut Headers) {
    if !headers.contains(KnownHeader::AltSvc) {
        // The value is one of ours.
        let _ = headers.insert(KnownHeader::AltSvc, value);
    }
}

/// How long clients remember it by default: a day (RFC 7838 §3.1).
pub(crate) const DEFAULT_AGE: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_forget_what_is_withdrawn() {
        let address = "[::1]:8443".parse().unwrap();
        let served = AlternativeService::at(address, Duration::from_secs(60)).current();
        assert_eq!(served.as_deref(), Some(&b"h3=\":8443\"; ma=60"[..]));
        assert_eq!(AlternativeService::withdrawn(DEFAULT_AGE).current().as_deref(), Some(&b"clear"[..]));
        assert_eq!(AlternativeService::withdrawn(Duration::ZERO).current(), None);
    }

    #[test]
    fn a_detached_value_is_the_same_in_another_place() {
        let first = AlternativeService::at("[::1]:8443".parse().unwrap(), Duration::from_secs(60));
        let (first, other) = (first.current().unwrap(), first.detached().current().unwrap());
        assert_eq!(first, other);
        assert!(!Arc::ptr_eq(&first, &other));
    }
}
