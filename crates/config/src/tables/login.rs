//! Logins by a provider of OpenID Connect, as they are written.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::values::{Span, Switchable, Texts};

/// A login by a provider of OpenID Connect.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LoginTable {
    /// URL of the provider: https://accounts.google.com, https://id.example.com/realms/example.
    ///
    /// Below it, the provider publishes what it is at /.well-known/openid-configuration.
    pub issuer: String,

    /// Name of this server at the provider.
    pub client_id: String,

    /// File with the password of this server at the provider [default: none, for a public client]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_file: Option<PathBuf>,

    /// Scopes to request beside openid: the data about users that the provider sends [default: ["email", "profile"]]
    ///
    /// With "offline_access", most providers give out a refresh token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scopes: Option<Vec<String>>,

    /// Values that claims must have: { groups = "admins", email_verified = "true" }. Other users get 403.
    ///
    /// A claim inside of an object is named with dots. One of the values must be equal to the claim, or be an element of
    /// an array or of a text with spaces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<String, Texts>,

    /// Claim that names the user to applications and the access log [default: sub]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,

    /// Header fields that tell applications and other servers about claims: { Remote-Email = "email" }.
    ///
    /// Serow removes these fields from the requests of clients. A field has at most 4,096 bytes; users with more cannot
    /// log in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,

    /// How long a user is logged in at most [default: 12h]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Span>,

    /// Path to which the provider sends browsers back [default: /.serow/login/callback]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callback: Option<String>,

    /// Path of the page that logs users out [default: /.serow/login/logout]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logout: Option<String>,

    /// URL to which the provider sends browsers after they have logged out there [default: a page of the provider]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_logout: Option<String>,

    /// File with a secret of at least 32 bytes that encrypts cookies, for several servers with the same sessions
    /// [default: a secret in the state folder]
    ///
    /// Write the same `[redis]` on these servers, so that one of them renews a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cookie_key_file: Option<PathBuf>,

    /// PEM file of the authorities that the provider has its certificate from [default: those of the system]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

impl Switchable for LoginTable {
    const EXPECTED: &'static str =
        r#"a table, as in { issuer = "https://id.example.com", client-id = "serow" }, or false"#;
}
