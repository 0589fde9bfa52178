//! How requests and responses are rewritten.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Switch, without_options};
use serow_document::values::{Field, HostRule, NetworkRule, PathPrefix, Span, choice};

/// How requests and responses are rewritten.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<ForwardingOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Forwarding")]
pub struct ForwardingOptions {
    /// Host header of forwarded requests: keep (the client's), server (the name of the upstream server), or a fixed
    /// name.
    #[arg(long, value_name = "keep|server|NAME", default_value = "keep")]
    pub host: HostRule,

    /// Path prefix to remove from requests that have it.
    #[arg(long, value_name = "/PATH")]
    pub strip_prefix: Option<PathPrefix>,

    /// Path prefix to add to each request.
    #[arg(long, value_name = "/PATH")]
    pub add_prefix: Option<PathPrefix>,

    /// Headers that describe the client to upstream servers: x, standard, both or off.
    ///
    /// x: X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host. standard: Forwarded (RFC 7239). Values that
    /// clients send are replaced, unless the client is a trusted proxy (--trust).
    #[arg(long, value_name = "x|standard|both|off", default_value = "x", hide_possible_values = true)]
    pub forwarded: ForwardedChoice,

    /// Whether responses with X-Accel-Redirect or X-Sendfile are replaced by what an internal route of the site responds
    /// (`internal` in [[site.route]]) [default: false]
    ///
    /// Write true only for servers that may read all files of internal routes. Clients never receive these fields, nor
    /// other X-Accel-* fields; a trusted proxy in front of Serow does.
    // A command line has no routes.
    #[arg(skip)]
    pub accel_redirect: Option<bool>,

    /// Trusted proxies for these requests, in place of those of the root: 127.0.0.1, 10.0.0.0/8 or unix [default: `trust`
    /// at the root]
    ///
    /// Their X-Forwarded-* and Forwarded headers are honoured, and the access log shows the client that they name. An
    /// empty list trusts nobody. Conditions and variables of routes follow the root, except those of `set-header`.
    // On a command line, the option of the server.
    #[arg(skip)]
    pub trust: Option<Vec<NetworkRule>>,

    /// Pass on request headers even if their names contain characters other than letters, digits and hyphens.
    ///
    /// By default they are dropped, as nginx does: CGI-like servers (WSGI, Rack, PHP) cannot distinguish
    /// X_Forwarded_For from X-Forwarded-For, which the proxy sets. Names that could be mistaken for such a header or
    /// for another well-known one are always dropped.
    #[arg(long)]
    pub underscores_in_headers: bool,

    /// Set a request header: 'name: value' (repeatable). An empty value removes the header.
    ///
    /// A value can have variables, as in 'X-Real-IP: $remote_addr'; $$ is a dollar.
    #[arg(long, value_name = "FIELD")]
    pub set_header: Vec<Field>,

    /// Set a response header: 'name: value' (repeatable). An empty value removes the header.
    #[arg(long, value_name = "FIELD")]
    pub set_response_header: Vec<Field>,

    /// Buffer request bodies, in memory and then in a temporary file, before a server is contacted.
    ///
    /// Slow clients then do not occupy the threads of the server, and requests with a body can be retried.
    #[arg(long)]
    pub buffer_requests: bool,

    /// Buffer responses that a client reads more slowly than the server sends, in memory and then in a temporary file: on
    /// or off.
    ///
    /// Slow clients then do not occupy the threads of the server. Responses of clients that keep up are passed on directly,
    /// piece by piece. A server turns it off for a response by X-Accel-Buffering: no.
    #[arg(long, value_name = "on|off", default_value = "on", hide_possible_values = true)]
    pub buffer_responses: Switch,

    /// Time limit until the first byte of a response; a slower response becomes 504 [default: `response-timeout` of the
    /// upstream]
    // On a command line, the options of the upstream.
    #[arg(skip)]
    pub response_timeout: Option<Span>,

    /// Time limit between two parts of a body, in either direction [default: `transfer-timeout` of the upstream]
    #[arg(skip)]
    pub transfer_timeout: Option<Span>,

    /// Time limit for the whole request: queue, all attempts and the response [default: `total-timeout` of the upstream]
    #[arg(skip)]
    pub total_timeout: Option<Span>,
}

/// Headers that describe the client to upstream servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ForwardedChoice {
    /// X-Forwarded-For, -Proto and -Host.
    #[value(help = None)]
    X,
    /// Forwarded.
    #[value(help = None)]
    Standard,
    /// All of them.
    #[value(help = None)]
    Both,
    /// None.
    #[value(help = None)]
    Off,
}

choice!(ForwardedChoice, "Forwarded");
