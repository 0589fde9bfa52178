//! The handler.

use std::{future::ready, pin::Pin, rc::Rc, sync::Arc};

use serow_message::{Handler, Request, Response};

use crate::{
    forwarding::Forwarding, local_upstream::LocalUpstream, persistence::Persistent, settings::ForwardingSettings,
    upstream::Upstream,
};

/// Forwards requests to the servers of an upstream.
#[derive(Debug)]
pub struct Proxy {
    upstream: Upstream,
    settings: OwnSettings,
}

/// The settings, by a reference of the proxy's own: each request changes the number of references to that, and clones,
/// of which each worker has one, would wait for each other's changes of one number.
pub(crate) type OwnSettings = Arc<Arc<ForwardingSettings>>;

impl Clone for Proxy {
    fn clone(&self) -> Self {
        Self { upstream: self.upstream.clone(), settings: Arc::new(Arc::clone(&self.settings)) }
    }
}

impl Proxy {
    /// Forwards requests to the servers of this upstream, which several proxies may share.
    #[must_use]
    pub fn new(upstream: Upstream, mut forwarding: ForwardingSettings) -> Self {
        if upstream.settings().cgi_protocol.is_some() {
            // CONTENT_LENGTH comes before the body, and a process is busy while the body is on its way.
            forwarding.buffering.get_or_insert_default();
        }
        Self { upstream, settings: Arc::new(Arc::new(forwarding)) }
    }

    /// The upstream.
    #[must_use]
    pub fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// How it changes requests and responses.
    #[must_use]
    pub fn forwarding(&self) -> &ForwardingSettings {
        &self.settings
    }
}

impl Proxy {
    /// Forwards a request to a server of the upstream.
    pub fn respond(&self, request: Request) -> Pin<Box<dyn Future<Output = Response>>> {
        // Prepared before there is a future: one that began with the request would have room for it until its end, and
        // be moved with it. Allocations above 1 KiB take the allocator several times as long.
        match Forwarding::new(LocalUpstream::of(&self.upstream), Arc::clone(&self.settings), request) {
            Ok(mut forwarding) if forwarding.variables.is_some() => Box::pin(async move {
                if let Err(refusal) = forwarding.take_in().await {
                    return refusal;
                }
                let local = Rc::clone(&forwarding.local);
                Persistent::new(local, Box::pin(async move { forwarding.respond().await })).await
            }),
            Ok(mut forwarding) => Box::pin(async move { forwarding.respond().await }),
            Err(refusal) => Box::pin(ready(refusal)),
        }
    }
}

impl Handler for Proxy {
    fn call(&self, request: Request) -> impl Future<Output = Response> + 'static {
        self.respond(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UpstreamSettings;

    #[test]
    fn clones_have_the_same_settings_and_references_of_their_own() {
        let original = Proxy::new(Upstream::new(UpstreamSettings::new("a", Vec::new())), ForwardingSettings::default());
        let worker = original.clone();
        assert!(std::ptr::eq(original.forwarding(), worker.forwarding()));
        let of_request = Arc::clone(&worker.settings);
        assert_eq!((Arc::strong_count(&worker.settings), Arc::strong_count(&original.settings)), (2, 1));
        drop(of_request);
    }

    fn size_of_future<F>(_: fn(Forwarding) -> F) -> usize {
        size_of::<F>()
    }

    /// mimalloc's `MI_SMALL_SIZE_MAX`: beyond, an allocation takes 280 instructions instead of 60.
    #[test]
    fn a_request_takes_a_small_allocation() {
        let size = size_of_future(|mut forwarding| async move { forwarding.respond().await });
        assert!(size <= 1024, "{size} bytes");
    }
}
