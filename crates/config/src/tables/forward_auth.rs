//! Another server that decides about requests, as it is written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{Field, Span, Switchable};

/// Another server that decides about requests.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is for readers of the file: `[[upstream]]` is a table")]
pub struct ForwardAuthTable {
    /// Server and path: 127.0.0.1:9091/api/verify, https://auth.example/verify or unix:/run/auth.sock:/verify.
    ///
    /// In place of a server, the name of an [[upstream]]: authelia/api/verify. Without a path, it is /.
    pub to: String,

    /// Header fields of the requests to it: 'Name: value', one, or several in an array [default: none]
    ///
    /// They replace those of the client, and those that Serow writes. A value can have variables, as in
    /// 'X-Original-URI: $request_uri', with the values of the request that it decides about; $$ is a dollar. An empty
    /// value removes the field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_header: Vec<Field>,

    /// Header fields of its response that the request gets, such as Remote-User [default: none]
    ///
    /// Serow removes these fields from the requests of clients, also if the response does not have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<Vec<String>>,

    /// Header fields of its response that the client gets, such as Set-Cookie [default: none]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_response: Option<Vec<String>>,

    /// Which of the fields in `copy` names the user, for REMOTE_USER of applications [default: Remote-User, if `copy` has
    /// it]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,

    /// Time limit for its response; requests get 504 then [default: 5s]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,

    /// How long its permission for a request counts for the same request [default: 0s, it decides about each]
    ///
    /// Only for requests of the same client with the same method, host, path and query, the same fields in
    /// `cache-key`, and the same values in `set-header`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Span>,

    /// Header fields of requests that it looks at [default: ["Cookie", "Authorization"]]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_key: Option<Vec<String>>,
}

impl Switchable for ForwardAuthTable {
    const EXPECTED: &'static str =
        r#"a table, as in { to = "127.0.0.1:9091/api/verify", copy = ["Remote-User"] }, or false"#;
}
