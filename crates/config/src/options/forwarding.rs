//! What servers are told, and what of it is changed.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use crate::values::{Field, HostRule, NetworkRule, PathPrefix, choice};

/// What servers are told, and what of it is changed.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<ForwardingOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Forwarding")]
pub struct ForwardingOptions {
    /// The host that servers are asked for: keep (as the client named it), server (their own name), or this one.
    #[arg(long, value_name = "keep|server|NAME", default_value = "keep")]
    pub host: HostRule,

    /// What is cut from the beginning of paths that begin with it.
    #[arg(long, value_name = "/PATH")]
    pub strip_prefix: Option<PathPrefix>,

    /// What is put before each path.
    #[arg(long, value_name = "/PATH")]
    pub add_prefix: Option<PathPrefix>,

    /// In which fields servers are told of the client: x, standard, both or off.
    ///
    /// x: X-Forwarded-For, -Proto and -Host. standard: Forwarded (RFC 7239). What clients themselves say there is replaced,
    /// but for those whom --trust names.
    #[arg(long, value_name = "x|standard|both|off", default_value = "x", hide_possible_values = true)]
    pub forwarded: ForwardedChoice,

    /// Proxies in front whose word is taken for where a request came from: 127.0.0.1, 10.0.0.0/8 or unix (repeatable).
    ///
    /// unix are those that come over a unix socket.
    #[arg(long, value_name = "ADDRESS[/BITS]")]
    pub trust: Vec<NetworkRule>,

    /// Pass on header fields of requests whose names have other characters than letters, digits and hyphens.
    ///
    /// By default they are dropped, as nginx does: CGI-like servers (WSGI, Rack, PHP) read X_Forwarded_For as the
    /// X-Forwarded-For that a proxy vouches for. Names that would pass for such a field, or for a well-known one, are dropped in
    /// any case.
    #[arg(long)]
    pub underscores_in_headers: bool,

    /// A header field that is set in requests: 'name: value' (repeatable). An empty value removes it.
    #[arg(long, value_name = "FIELD")]
    pub set_header: Vec<Field>,

    /// A header field that is set in responses: 'name: value' (repeatable). An empty value removes it.
    #[arg(long, value_name = "FIELD")]
    pub set_response_header: Vec<Field>,

    /// Take the bodies of requests whole before a server is asked, in memory and then in a file.
    ///
    /// So that servers with few threads wait for no client, and requests with a body can be tried again.
    #[arg(long)]
    pub buffer_requests: bool,
}

/// In which fields servers are told of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ForwardedChoice {
    /// X-Forwarded-For and its like.
    #[value(help = None)]
    X,
    /// Forwarded.
    #[value(help = None)]
    Standard,
    /// All of these.
    #[value(help = None)]
    Both,
    /// None.
    #[value(help = None)]
    Off,
}

choice!(ForwardedChoice, "Forwarded");
