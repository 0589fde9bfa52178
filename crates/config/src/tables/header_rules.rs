//! Rules about the header fields of requests and responses, as they are written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::StatusRange;

/// Rules about the header fields of a site or a route.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct HeaderRuleSettings {
    /// Rules about header fields of responses, in their order: { add = "Link", value = "</a.css>; rel=preload" },
    /// { remove = "X-Powered-By" }, { set = "Cache-Control", value = "no-store", status = "4xx" }.
    ///
    /// They follow `headers`; those of a site come before those of its routes. Fields that frame a message or belong to the
    /// connection cannot be changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub response_headers: Vec<HeaderRuleTable>,

    /// Rules about header fields of requests, before the app, the proxy or the folder gets them: { set = "X-Client-Port",
    /// value = "$remote_port", if-absent = true }.
    ///
    /// The handler sees what they make of a request as if the client had sent it so. Those of a site come before those of
    /// its routes. They cannot change Host, and no field that says who the client is; `set-header` in `proxy` can set those.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub request_headers: Vec<HeaderRuleTable>,
}

/// A rule about a header field: it has one of `set`, `add` and `remove`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
#[serde(expecting = "a table, as in { set = \"X-Frame-Options\", value = \"DENY\" }")]
#[schemars(title = "a table, as in { set = \"X-Frame-Options\", value = \"DENY\" }, or several in an array")]
pub struct HeaderRuleTable {
    /// Field to set, in place of all of its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,

    /// Field to add to those of its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub add: Option<String>,

    /// Field to remove.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remove: Option<String>,

    /// Value of the field, for `set` and `add`.
    ///
    /// It can have variables, as in "$remote_addr"; $$ is a dollar. If it is empty for a request, `set` removes the field and
    /// `add` adds none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,

    /// Whether to set or add the field only if the message has none of its name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub if_absent: bool,

    /// Statuses of responses to change, as in [404, "500-599"] or "2xx" [default: all]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<StatusRange>,
}
