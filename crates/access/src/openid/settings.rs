//! Settings of a login.

use std::{path::PathBuf, sync::Arc, time::Duration};

use crate::jwt::Conditions;
use zeroize::Zeroizing;

/// How the users of a site log in.
#[derive(Clone)]
pub struct LoginSettings {
    /// The provider: the URL under which it publishes what it is (OpenID Connect Discovery).
    pub issuer: String,
    /// The name of this server there.
    pub client_id: String,
    /// Its password there, if it has one.
    pub client_secret: Option<Zeroizing<String>>,
    /// The scopes that are requested beside `openid`.
    pub scopes: Vec<String>,
    /// The path to which the provider sends browsers back.
    pub callback: String,
    /// The path that ends sessions.
    pub logout: String,
    /// Where the provider sends browsers after they have logged out: a URL that it knows.
    pub after_logout: Option<String>,
    /// How long a session lasts at most.
    pub session: Duration,
    /// The claim that names the user.
    pub user_claim: String,
    /// Conditions that the claims must meet.
    pub conditions: Conditions,
    /// Fields of requests that tell handlers about the user, and their claims.
    pub fields: Vec<(Arc<str>, String)>,
    /// The authorities of the provider's certificate, if not those of the system.
    pub ca: Option<PathBuf>,
}

impl LoginSettings {
    /// The claims that a session depends on.
    pub(crate) fn wanted_claims(&self) -> impl Iterator<Item = &str> {
        let of_conditions = self.conditions.0.iter().map(|(claim, _)| claim);
        std::iter::once(&self.user_claim)
            .chain(of_conditions)
            .chain(self.fields.iter().map(|(_, claim)| claim))
            .map(String::as_str)
    }

    /// Whether a session depends on more than who its user is.
    pub(crate) fn wants_claims(&self) -> bool {
        self.wanted_claims().any(|claim| claim != "sub")
    }

    /// The settings that a session depends on: with others, there would be another session, or none.
    pub(crate) fn purpose(&self) -> Vec<u8> {
        let Self { issuer, client_id, scopes, user_claim, conditions, fields, .. } = self;
        format!("{:?}", (issuer, client_id, scopes, user_claim, conditions, fields)).into_bytes()
    }
}

/// Without the password.
impl std::fmt::Debug for LoginSettings {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { issuer, client_id, callback, .. } = self;
        let mut output = formatter.debug_struct("LoginSettings");
        output.field("issuer", issuer).field("client_id", client_id).field("callback", callback);
        output.finish_non_exhaustive()
    }
}
