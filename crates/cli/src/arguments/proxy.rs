//! The options of `serow proxy`: the upstream servers, and how requests are forwarded.

use clap::Args;
use serow_config::{
    options::{ForwardingOptions, GeneralOptions, UpstreamOptions},
    values::ServerRule,
};

use crate::{
    response_options::ResponseOptions, script_option::ScriptOptions, static_files::StaticOptions,
    terminal_lines::TerminalOptions,
};

/// The options of `serow proxy`.
#[derive(Debug, Args)]
pub(crate) struct ProxyArguments {
    /// Upstream servers: 127.0.0.1:9000, https://app or unix:/run/app.sock,weight=3.
    ///
    /// http://host:port and https://host:port (HTTP/2 if the server supports it), h2c://host:port (HTTP/2 without
    /// TLS), unix:/path and h2c+unix:/path. Options follow after commas: weight=3 (its share of requests), backup
    /// (used only if no other server is available), max=100 (maximum concurrent requests), id=a (its name in session
    /// cookies).
    #[arg(required = true, value_name = "UPSTREAM")]
    pub(crate) servers: Vec<ServerRule>,
    #[command(flatten)]
    pub(crate) upstream: UpstreamOptions,
    #[command(flatten)]
    pub(crate) forwarding: ForwardingOptions,
    #[command(flatten)]
    pub(crate) static_files: StaticOptions,
    #[command(flatten)]
    pub(crate) responses: ResponseOptions,
    #[command(flatten)]
    pub(crate) script: ScriptOptions,
    #[command(flatten)]
    pub(crate) general: GeneralOptions,
    #[command(flatten)]
    pub(crate) terminal: TerminalOptions,
}
