//! Copies of requests for another upstream, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{Count, Size};

/// Copies of requests for another upstream.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[serde(expecting = "a table, as in { upstream = \"staging\", share = 10 }")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is for readers of the file: `[[upstream]]` is a table")]
pub struct MirrorTable {
    /// Name of the [[upstream]] that receives the copies, or a server: 127.0.0.1:9000.
    pub upstream: String,

    /// Requests of a hundred that are copied [default: 100]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Count<1, 100>>,

    /// Longest body that is copied; requests with a longer one are not [default: 1M]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_body: Option<Size>,
}
