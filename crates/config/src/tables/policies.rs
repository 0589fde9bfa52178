//! What a site or a route does around its handler, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tables::compression::CompressionSetting;

/// What a site or a route does around its handler; what a route does not say is as its site says.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct PolicySettings {
    /// Whether to compress responses with zstd, brotli or gzip, as the client prefers: true, or a table that says how
    /// [default: folders are compressed, applications and other servers are not]
    ///
    /// Streams are sent as they arrive. Responses that are compressed already, or have Cache-Control: no-transform, stay
    /// as they are. In a route, it overrides that of the site. Do not compress pages that repeat parts of a request next
    /// to secrets: their length gives the secrets away (BREACH).
    pub(crate) compress: Option<CompressionSetting>,
}

impl PolicySettings {
    /// The keys that are given.
    pub(crate) fn given(&self) -> Vec<&'static str> {
        let Self { compress } = self;
        [("compress", compress.is_some())].into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key).collect()
    }
}
