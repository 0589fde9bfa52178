//! Limits of connections and requests.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use serow_document::values::{Count, Size, SizeLimit};

/// Limits of connections and requests.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<LimitOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Limits")]
pub struct LimitOptions {
    /// Maximum number of connections; at the limit, a new connection closes the one that has been idle
    /// longest [default:
    /// derived from the limit of open files]
    #[arg(long, value_name = "N")]
    pub max_connections: Option<Count<1, 0xffff_ffff>>,

    /// Maximum number of connections of a client; further ones are closed at once [default: any number]
    ///
    /// A client is an IPv4 address, or the /64 of an IPv6 address. With PROXY headers, it is the address that the proxy
    /// sends; proxies in `trust` may have any number. Many people may share an address (offices, mobile networks).
    #[arg(long, value_name = "N")]
    pub max_connections_per_client: Option<Count<1, 0xffff_ffff>>,

    /// Maximum size of a request body, or unlimited; larger bodies receive 413 [default: 10M, and unlimited for folders
    /// that clients may change with --write]
    #[arg(long, value_name = "SIZE")]
    pub max_body: Option<SizeLimit>,

    /// Maximum disk space for buffered bodies, or unlimited; requests that would exceed it receive 503.
    ///
    /// Bodies that are buffered for an application or an upstream server are stored in $TMPDIR if they are larger
    /// than 64k. This limits the space of all such bodies together, and of responses that slow clients have not read. A
    /// response that would exceed it is sent as fast as its client reads.
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    pub max_spool: SizeLimit,

    /// Maximum size of a request head (request line and headers); larger ones receive 431.
    #[arg(long, value_name = "SIZE", default_value = "32k")]
    pub max_head: Size,

    /// Maximum number of headers of a request; requests with more receive 431.
    #[arg(long, value_name = "N", default_value = "100")]
    pub max_fields: Count<1, 128>,

    /// Maximum length of a request target (path and query); longer ones receive 414.
    #[arg(long, value_name = "SIZE", default_value = "8k")]
    pub max_target: Size,
}
