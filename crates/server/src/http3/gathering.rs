//! Requests that arrive together: all are parsed, and then all are handled. The code for either part stays in the
//! processor's instruction cache meanwhile; one request after the other, each would evict the code of the other part.

use std::future::Future;

use serow_message::{Handler, Request, Response};
use serow_streams::ReceivedRequest;

use super::connection::Http3;

impl<H, C, F> Http3<H, C, F>
where
    H: Handler,
    C: Fn(Request) -> F,
    F: Future<Output = Response>,
{
    /// Takes a request that is handled with those behind it. Until [`Self::begin_gathered`], nothing may come of its
    /// stream; so a request with more to come is handled at once.
    pub(super) fn gather(&mut self, request: ReceivedRequest) {
        let has_more = request.has_body || request.is_connect();
        self.gathered.push(request);
        if has_more || self.gathered.len() >= GATHERED {
            self.begin_gathered();
        }
    }

    /// Calls the handlers for the requests that were gathered.
    pub(super) fn begin_gathered(&mut self) {
        for request in self.gathered.drain(..) {
            self.requests.begin_exchange(request);
        }
    }
}

/// Enough that the misses are shared by many requests; more of them would no longer fit into the data cache.
const GATHERED: usize = 16;
