//! Bans of clients who break a limit, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{Count, Span};

/// When a client is banned that breaks the limit.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[serde(expecting = "a table, as in { after = 10, within = \"1m\", for = \"10m\" }")]
pub struct BanTable {
    /// How many refused requests lead to the ban.
    pub after: Count<1, 1_000_000>,

    /// The time in which they come, from the first of them.
    pub within: Span,

    /// How long the client is refused.
    #[serde(rename = "for")]
    pub length: Span,
}
