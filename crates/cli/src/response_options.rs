//! What happens to the responses of an application or a proxy on their way: `--compress`.

use std::sync::Arc;

use clap::Args;
use serow_settings::values::Codings;
use serow_site::{Compression, RouteHandler, RoutePolicy};

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
}

impl ResponseOptions {
    /// The policy that does it.
    pub(crate) fn policy(self) -> ResponsePolicy {
        let defaults = Compression::default();
        let codings = self.compress.or(defaults.codings.clone());
        let compression = (!codings.is_empty()).then_some(Compression { codings, ..defaults });
        ResponsePolicy { policy: RoutePolicy { compression, ..RoutePolicy::default() } }
    }
}

/// What happens to responses.
pub(crate) struct ResponsePolicy {
    policy: RoutePolicy,
}

impl ResponsePolicy {
    /// This handler, with the policy around it.
    pub(crate) fn around(self, handler: RouteHandler) -> RouteHandler {
        handler.with_policy(Arc::new(self.policy))
    }
}
