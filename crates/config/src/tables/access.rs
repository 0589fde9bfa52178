//! The checks that requests must pass before they reach a handler, as they are written.

use std::{collections::BTreeMap, path::PathBuf};

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow_document::Place;

use crate::{
    tables::{
        FromTable, TableReading, client_certificate::ClientCertificateTable, client_limits::BanTable,
        forward_auth::ForwardAuthTable, jwt::JwtTable, login::LoginTable,
    },
    values::{Count, OrOff, RequestRate, Switchable, choice},
};

/// The checks that requests must pass; for a key that a route leaves out, that of its site counts.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct AccessSettings {
    /// Networks whose clients may send requests: ["10.0.0.0/8", "!10.1.0.0/16", "file:office.txt"] [default: all]
    ///
    /// A ! before a network makes an exception. A file has one network in each line; it is read again when it changes.
    /// unix is a client at a unix socket. Others get 403. The address is that of the client, as `trust` has it. In a
    /// route, `allow` and `deny` together override those of the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<String>>,

    /// Networks whose clients get 403, also if they are in `allow`; in the same form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<Vec<String>>,

    /// Methods that requests may have: ["GET", "POST"]; others get 405 [default: all]
    ///
    /// GET includes HEAD. `methods` of a route selects requests, and leaves the others to the next routes; this refuses
    /// them. In a route, it replaces that of the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_methods: Option<Vec<String>>,

    /// Users with passwords (Basic authentication): { file = "users.htpasswd", realm = "Reports" }, or false for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic: Option<OrOff<BasicTable>>,

    /// Another server that decides, such as Authelia or oauth2-proxy: { to = "127.0.0.1:9091/api/verify", copy =
    /// ["Remote-User"] }, or false for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_auth: Option<OrOff<ForwardAuthTable>>,

    /// Tokens that requests must have (JWT): { keys = "jwks.json", issuer = "https://login.example.com" }, or false for
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jwt: Option<OrOff<JwtTable>>,

    /// Certificates that clients must have (`tls-client-ca`): { subject = ["alice"], san = ["*.example.com"] }, or false for
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_certificate: Option<OrOff<ClientCertificateTable>>,

    /// Login by a provider of OpenID Connect: { issuer = "https://id.example.com", client-id = "serow" }. In a route, only
    /// false: nobody has to log in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub login: Option<OrOff<LoginTable>>,

    /// Whether a request needs a permitted address and a user, or one of them: all or any [default: all]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub satisfy: Option<SatisfyChoice>,

    /// Maximum number of requests of a client at the same time; further ones receive 429 [default: any number]
    ///
    /// A client is an IPv4 address, or the /64 of an IPv6 address, as `trust` has it. A request counts until its
    /// response is sent. The requests of all routes that have the number from their site count together; 0 is any
    /// number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests_per_client: Option<Count<0, 1_000_000>>,

    /// Names of the `[[limit]]` that apply: ["logins"]. In a route, they replace those of the site.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Vec<String>>,
}

/// Users with passwords.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BasicTable {
    /// Password file, as serow password and htpasswd write it; it is read again when it changes.
    pub file: PathBuf,

    /// Realm, which browsers may show when they ask for the password [default: the first host of the site; without one,
    /// Restricted]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realm: Option<String>,

    /// Header field that names the user to applications and other servers, such as Remote-User [default: none]
    ///
    /// Serow removes this field from the requests of clients. Applications in Ruby, Perl and Python (WSGI) have the
    /// name in REMOTE_USER in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

/// How many of address and user must be right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SatisfyChoice {
    /// Both.
    #[value(help = None)]
    All,
    /// One of them.
    #[value(help = None)]
    Any,
}

choice!(SatisfyChoice, "Satisfy");

/// A rate limit.
#[derive(Debug)]
pub struct LimitTable {
    /// Its own keys.
    pub settings: LimitSettings,
    /// Where it is in the file.
    pub place: Place,
}

/// How often requests with the same key are served.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct LimitSettings {
    /// Name of the limit, for `limits`, the error log and clients: letters, digits, - and _.
    pub name: String,

    /// Requests with the same key are counted together: a text with variables [default: $remote_addr]
    ///
    /// In it, addresses of IPv6 count by their network of 64 bits, all of which a client has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,

    /// How many requests in which time: 10/s, 600/m, 1000/h or 100/10s.
    pub rate: RequestRate,

    /// How many more may come at once, before requests are refused with 429 [default: 0]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst: Option<Count<0, 1_000_000>>,

    /// How many requests of a burst are served at once; the others wait until the rate has them [default: all at once]
    ///
    /// nginx's burst=20 is burst = 20 and delay = 0; its burst=20 nodelay is burst = 20 alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Count<0, 1_000_000>>,

    /// How many requests a response counts as, by its status: { 401 = 5, 2xx = 0 } [default: one each]
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cost: BTreeMap<String, Count<0, 1_000_000>>,

    /// Bans clients who are refused again and again: { after = 10, within = "1m", for = "10m" } [default: nobody]
    ///
    /// Their connections are closed at once; requests that come through a proxy in `trust` get 403. The client is banned
    /// by its address, whatever the `key`; proxies in `trust` are never banned. serow ban list has the bans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ban: Option<BanTable>,

    /// Whether requests are only counted: the error log and the metrics have how many would be refused.
    #[serde(default)]
    pub dry_run: bool,

    /// Whether all servers with this limit and the same `[redis]` count requests together.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,

    /// How many keys are remembered at a time, in 16 bytes each, or 72 if it is shared [default: 1000000]
    ///
    /// If there are more, those with the most of their burst left are forgotten first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<Count<1, 100_000_000>>,
}

impl AccessSettings {
    /// The keys that are given.
    pub fn given(&self) -> Vec<&'static str> {
        let Self {
            allow,
            deny,
            allow_methods,
            basic,
            forward_auth,
            jwt,
            client_certificate,
            login,
            satisfy,
            max_requests_per_client,
            limits,
        } = self;
        let keys = [
            ("allow", allow.is_some()),
            ("deny", deny.is_some()),
            ("allow-methods", allow_methods.is_some()),
            ("basic", basic.is_some()),
            ("forward-auth", forward_auth.is_some()),
            ("jwt", jwt.is_some()),
            ("client-certificate", client_certificate.is_some()),
            ("login", login.is_some()),
            ("satisfy", satisfy.is_some()),
            ("max-requests-per-client", max_requests_per_client.is_some()),
            ("limits", limits.is_some()),
        ];
        keys.into_iter().filter(|(_, is_given)| *is_given).map(|(key, _)| key).collect()
    }
}

impl FromTable for LimitTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        Some(Self { settings: table.settings()?, place: table.place().clone() })
    }
}

impl Switchable for BasicTable {
    const EXPECTED: &'static str = r#"a table, as in { file = "users.htpasswd" }, or false"#;
}
