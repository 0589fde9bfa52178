//! The access log of a site or a route, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use serow_settings::options::AccessLogChoice;

/// The access log of a site or a route.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct LogSettings {
    /// Access log: a destination as at the root, a table, an array of both for several logs, or off [default: that of the
    /// site, or of the root]
    pub(crate) access_log: Option<AccessLogChoice>,
}
