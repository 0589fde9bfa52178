//! The access log of a site or a route, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::options::AccessLogChoice;

/// The access log of a site or a route.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct LogSettings {
    /// Access log: a destination as at the root, a table, an array of both for several logs, or off [default: that of the
    /// site, or of the root]
    pub access_log: Option<AccessLogChoice>,
}
