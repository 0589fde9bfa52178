//! How many requests of a client are served at the same time.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serow_limits::{Concurrency, ConcurrencyGuard};
use serow_message::ClientNetwork;
use serow_net::WarningPace;

/// How many requests of a client are served at the same time, in a site or a route.
///
/// A request counts until its response is sent, or its client has left.
#[derive(Debug)]
pub struct ClientRequests {
    /// For the log: what a log line names as the limit.
    name: Arc<str>,
    max: u32,
    table: Concurrency<ClientNetwork>,
    refused: AtomicU64,
    warning: WarningPace,
}

/// Counts a request of its client until all clones are dropped.
#[derive(Clone, Debug)]
pub(crate) struct ClientRequest(
    #[allow(dead_code, reason = "it counts while it lives")] Arc<ConcurrencyGuard<ClientNetwork>>,
);

impl ClientRequests {
    /// At most so many of a client.
    #[must_use]
    pub fn new(max: u32) -> Self {
        Self {
            name: NAME.into(),
            max,
            table: Concurrency::default(),
            refused: AtomicU64::new(0),
            warning: WarningPace::new(),
        }
    }

    /// How many there may be.
    #[must_use]
    pub fn max(&self) -> u32 {
        self.max
    }

    /// How many were refused.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Counts a request of this client; `None` if it has too many.
    #[inline]
    pub(crate) fn enter(&self, client: IpAddr) -> Option<ClientRequest> {
        let client = ClientNetwork::of(client);
        match self.table.enter(client, self.max) {
            Some(guard) => Some(ClientRequest(Arc::new(guard))),
            None => {
                let refused = self.refused.fetch_add(1, Ordering::Relaxed) + 1;
                if self.warning.is_due() {
                    tracing::warn!(
                        %client,
                        "a client has {} requests at the same time, as many as `{NAME}`: others are refused, \
                         {refused} so far",
                        self.max
                    );
                }
                None
            }
        }
    }
}

const NAME: &str = "max-requests-per-client";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_have_so_many_requests_at_a_time() {
        let requests = ClientRequests::new(1);
        let enter = |address: &str| requests.enter(address.parse().unwrap());
        let first = enter("2001:db8::1").unwrap();
        assert!(enter("2001:db8::2").is_none());
        assert!(enter("2001:db8:1::1").is_some());
        let kept = first.clone();
        drop(first);
        assert!(enter("2001:db8::2").is_none());
        drop(kept);
        assert!(enter("2001:db8::2").is_some());
        assert_eq!((requests.refused(), requests.table.keys()), (2, 0));
    }
}
