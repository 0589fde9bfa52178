//! What happens to the responses of an application or a proxy on their way: `--compress`, `--cache`.

use std::sync::Arc;

use clap::Args;
use serow_proxy::TrustedProxies;
use serow_settings::values::{Codings, Size};
use serow_site::{CacheSettings, CacheStore, Compression, ResponseCache, RouteHandler, RoutePolicy};

/// What happens to responses, for `serow app` and `serow proxy`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Responses")]
pub(crate) struct ResponseOptions {
    /// Whether to compress text on the fly with zstd, br or gzip, as the client prefers.
    ///
    /// br,gzip: only these encodings, and the first one if the client has no preference; on means zstd,br,gzip. Streams
    /// are sent as they arrive. Responses that are compressed already, or have Cache-Control: no-transform, stay as they
    /// are. Do not compress pages that repeat parts of a request next to secrets: their length gives the secrets away
    /// (BREACH).
    #[arg(long, value_name = "on|off|CODINGS", default_value = "off")]
    compress: Codings,

    /// Memory in which responses are cached, such as 256M [default: nothing is cached]
    ///
    /// Only what responses say with Cache-Control, Expires or a validator decides about their caching (RFC 9111). A response
    /// of more than 8M, or of more than a quarter of the memory, is not stored. Cache-Status tells what the cache did.
    #[arg(long, value_name = "SIZE")]
    cache: Option<Size>,
}

impl ResponseOptions {
    /// The policy that does it, behind proxies whose statement of the client's scheme and host counts.
    pub(crate) fn policy(self, trusted: TrustedProxies) -> ResponsePolicy {
        let defaults = Compression::default();
        let codings = self.compress.or(defaults.codings.clone());
        let compression = (!codings.is_empty()).then_some(Compression { codings, ..defaults });
        let cache = self.cache.map(|size| {
            let settings = CacheSettings { trust: Arc::new(trusted), ..CacheSettings::default() };
            ResponseCache::new(CacheStore::in_memory(size.0, CacheStore::default_max_object(size.0)), settings)
        });
        ResponsePolicy { policy: RoutePolicy { compression, ..RoutePolicy::default() }, cache }
    }
}

/// What happens to responses.
pub(crate) struct ResponsePolicy {
    policy: RoutePolicy,
    cache: Option<ResponseCache>,
}

impl ResponsePolicy {
    /// This handler, with the policy around it.
    pub(crate) fn around(self, handler: RouteHandler) -> RouteHandler {
        let handler = match self.cache {
            Some(cache) => handler.cached(cache),
            None => handler,
        };
        handler.with_policy(Arc::new(self.policy))
    }
}
