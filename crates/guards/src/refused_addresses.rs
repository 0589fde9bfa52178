//! The count of requests that were refused because of the client's address.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering},
};

use serow_net::WarningPace;

/// Counts the requests that were refused because of the client's address.
#[derive(Debug, Default)]
pub struct RefusedAddresses {
    requests: AtomicU64,
    warning: WarningPace,
}

impl RefusedAddresses {
    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Counts one, and logs it, at most once in a minute.
    #[cold]
    pub(crate) fn note(&self, client: Option<IpAddr>) {
        let refused = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if self.warning.is_due() {
            let client = client.map_or_else(|| "a unix socket".to_owned(), |client| client.to_string());
            tracing::warn!(client, "a request is refused by `allow` or `deny`, {refused} so far");
        }
    }
}
