//! Upstreams and what is handed to them, as they are written.

use std::collections::BTreeMap;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serow_document::Place;

use crate::{
    options::{ForwardingOptions, UpstreamOptions},
    tables::{FromTable, TableReading, maps::Pairs},
    values::{ServerRule, Texts, choice},
};

/// An upstream.
#[derive(Debug)]
pub struct UpstreamTable {
    /// Its own keys.
    pub settings: UpstreamSettings,
    /// Its keys that are options of the command line, too.
    pub arguments: UpstreamOptions,
    /// Where it is in the file.
    pub place: Place,
}

/// How an upstream is called, and its servers.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct UpstreamSettings {
    /// Name of the upstream, for `proxy`, serow status, serow upstream and the logs.
    pub name: String,

    /// Servers: 127.0.0.1:9000, https://app or unix:/run/app.sock,weight=3 (one, or several in an array).
    ///
    /// http://host:port and https://host:port (HTTP/2 if the server supports it), h2c://host:port (HTTP/2
    /// without TLS), unix:/path and h2c+unix:/path. Options follow after commas: weight=3 (its share of
    /// requests), backup (used only if no other server is available), max=100 (maximum concurrent requests),
    /// id=a (its name in session cookies and commands).
    pub servers: Vec<ServerRule>,

    /// Protocol of the servers: http, fastcgi, scgi or uwsgi. [default: http]
    ///
    /// With fastcgi, `php` runs the scripts of a folder; `proxy` passes the whole path to an application that is one program.
    #[serde(default, skip_serializing_if = "ProtocolChoice::is_http")]
    pub protocol: ProtocolChoice,
}

/// The protocol of servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ProtocolChoice {
    /// HTTP, in the version that the address of a server says.
    #[default]
    #[value(help = None)]
    Http,
    /// FastCGI.
    #[value(help = None)]
    Fastcgi,
    /// SCGI.
    #[value(help = None)]
    Scgi,
    /// The protocol of uWSGI.
    #[value(help = None)]
    Uwsgi,
}

choice!(ProtocolChoice, "Protocol");

impl ProtocolChoice {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_http(&self) -> bool {
        *self == Self::Http
    }
}

/// A proxy to other servers.
#[derive(Debug)]
pub struct ProxyTable {
    /// Its own keys.
    pub settings: ProxySettings,
    /// How requests are changed on their way.
    pub forwarding: ForwardingOptions,
}

/// Which servers requests are sent to.
#[derive(Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
#[allow(rustdoc::broken_intra_doc_links, reason = "the text is for readers of the file: `[[upstream]]` is a table")]
pub struct ProxySettings {
    /// Name of the [[upstream]].
    pub upstream: Option<String>,

    /// Servers without an [[upstream]], which has more settings: 127.0.0.1:9000 (one, or several in
    /// an array).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<ServerRule>,

    /// Variables for servers that speak FastCGI, SCGI or uwsgi, in addition to those of the request: { APP_ENV =
    /// "production" }. Values can have variables, as in "$host".
    ///
    /// SCRIPT_FILENAME, without variables, is the program that fcgiwrap runs, or the script of php-fpm.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,

    /// Addresses at the beginning of Location and Refresh in responses, and the text in their place:
    /// { "http://app:8080/" = "/" }.
    ///
    /// The first key that fits counts. A key that begins with ~ (~* without regard to case) is a regular expression for the
    /// whole field, whose groups the text can name ($1). Texts can have variables, as in "$scheme://$host/".
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub rewrite_location: Pairs,

    /// Domains of cookies in responses, and the domain in their place: { "app.internal" = "$host" }. An empty one removes the
    /// attribute: browsers then send the cookie to the same host only.
    ///
    /// Case and a dot at the beginning do not matter. Regular expressions and variables as in `rewrite-location`.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub cookie_domain: Pairs,

    /// Beginnings of the paths of cookies in responses, and the text in their place: { "/app/" = "/" }.
    ///
    /// Regular expressions and variables as in `rewrite-location`.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub cookie_path: Pairs,

    /// Attributes that cookies in responses get or lose, by the name of the cookie: { session = "samesite=strict", "*" =
    /// ["secure", "httponly"] }.
    ///
    /// secure, httponly, partitioned, samesite=strict, samesite=lax, samesite=none; nosecure, nohttponly, nopartitioned and
    /// nosamesite remove one. The first key that fits counts: * is any name, and ~ begins a regular expression.
    #[serde(skip_serializing_if = "Pairs::is_empty")]
    pub cookie_flags: Pairs<Texts>,
}

impl FromTable for UpstreamTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        let settings = table.settings();
        let (balancing, sticky, timeouts) = (table.settings(), table.settings(), table.settings());
        let (connections, tls) = (table.settings(), table.settings());
        let (retries, health) = (table.settings(), table.settings());
        let arguments = UpstreamOptions {
            balancing: balancing?,
            sticky: sticky?,
            timeouts: timeouts?,
            connections: connections?,
            tls: tls?,
            retries: retries?,
            health: health?,
        };
        Some(Self { settings: settings?, arguments, place: table.place().clone() })
    }
}

impl FromTable for ProxyTable {
    fn read(table: &mut TableReading<'_, '_>) -> Option<Self> {
        let settings = table.settings();
        let forwarding = table.settings();
        Some(Self { settings: settings?, forwarding: forwarding? })
    }
}
