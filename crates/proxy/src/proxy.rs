//! The handler.

use std::{pin::Pin, sync::Arc};

use serow_message::{Handler, Request, Response};

use crate::{forwarding::Forwarding, local_upstream::LocalUpstream, settings::ForwardingSettings, upstream::Upstream};

/// Forwards requests to the servers of an upstream.
#[derive(Clone, Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    upstream: Upstream,
    forwarding: ForwardingSettings,
}

impl Proxy {
    /// Forwards requests to the servers of this upstream, which several proxies may share.
    #[must_use]
    pub fn new(upstream: Upstream, forwarding: ForwardingSettings) -> Self {
        Self { shared: Arc::new(Shared { upstream, forwarding }) }
    }

    /// The upstream.
    #[must_use]
    pub fn upstream(&self) -> &Upstream {
        &self.shared.upstream
    }
}

impl Proxy {
    /// Forwards a request to a server of the upstream.
    pub fn respond(&self, request: Request) -> Pin<Box<dyn Future<Output = Response>>> {
        let shared = Arc::clone(&self.shared);
        // Boxed, since futures are moved several times before they are polled, and this one is large.
        Box::pin(async move {
            let local = LocalUpstream::of(&shared.upstream);
            // Separate from the await: the matched value would otherwise take space in the future all the time.
            let mut forwarding = match Forwarding::new(local, &shared.forwarding, request) {
                Ok(forwarding) => forwarding,
                Err(refusal) => return refusal,
            };
            forwarding.respond().await
        })
    }
}

impl Handler for Proxy {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.respond(request)
    }
}
