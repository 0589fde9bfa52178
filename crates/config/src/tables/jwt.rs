//! Tokens that requests must have, as they are written.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{Span, Switchable, Texts};

/// Tokens that requests must have.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct JwtTable {
    /// File or URL of the public keys: a JWKS, or a file in PEM.
    ///
    /// A file is read again when it changes. A URL is fetched outside of requests, and again as its Cache-Control says,
    /// after 15 minutes without one, and when a token names a key that is missing. The last keys stay in use while its
    /// server does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<String>,

    /// PEM file of the authorities that the server of `keys` has its certificate from [default: those of the system]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,

    /// File of a secret for HS256, HS384 and HS512, in place of `keys`: a line of at least 32 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_file: Option<PathBuf>,

    /// Algorithms that tokens may be signed with: ["RS256"] [default: those that the keys are for]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithms: Option<Texts>,

    /// Required issuer (iss), or several of which one is enough [default: any that has a key]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<Texts>,

    /// Required audience (aud), or several of which one is enough [default: tokens without an audience]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audience: Option<Texts>,

    /// By how much the clocks of issuer and server may differ [default: 60s]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leeway: Option<Span>,

    /// Where requests have the token: header (Authorization: Bearer), cookie:NAME, query:NAME; the first counts
    /// [default: header]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Texts>,

    /// Values that claims must have: { role = "admin", "realm_access.roles" = ["ops", "dev"] }. Other requests get 403.
    ///
    /// A claim inside of an object is named with dots. One of the values must be equal to the claim, or be an element of
    /// an array or of a text with spaces, as `scope` is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<String, Texts>,

    /// Claim that names the user to applications and the access log [default: sub]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,

    /// Header fields that tell applications and other servers about claims: { X-Email = "email" }.
    ///
    /// Serow removes these fields from the requests of clients.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,

    /// Realm in the challenge to requests without a token [default: the first host of the site; without one,
    /// Restricted]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realm: Option<String>,
}

impl Switchable for JwtTable {
    const EXPECTED: &'static str = r#"a table, as in { keys = "jwks.json" }, or false"#;
}
