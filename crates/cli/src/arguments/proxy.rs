//! What `serow proxy` proxies.

use clap::Args;
use serow_config::{
    options::{ForwardingOptions, GeneralOptions, UpstreamOptions},
    values::ServerRule,
};

/// The options of `serow proxy`.
#[derive(Debug, Args)]
pub(crate) struct ProxyArguments {
    /// The servers that are asked: 127.0.0.1:9000, https://app or unix:/run/app.sock,weight=3.
    ///
    /// http://host:port and https://host:port (HTTP/2 where the server agrees to it), h2c://host:port (HTTP/2 without TLS),
    /// unix:/path and h2c+unix:/path. Behind commas: weight=3 (its share among the others), backup (asked only where no
    /// other can be), max=100 (requests at a time), id=a (how session cookies call it).
    #[arg(required = true, value_name = "UPSTREAM")]
    pub(crate) servers: Vec<ServerRule>,
    #[command(flatten)]
    pub(crate) upstream: UpstreamOptions,
    #[command(flatten)]
    pub(crate) forwarding: ForwardingOptions,
    #[command(flatten)]
    pub(crate) general: GeneralOptions,
}
