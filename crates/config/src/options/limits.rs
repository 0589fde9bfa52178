//! How much a client may ask for.

use clap::Args;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use crate::values::{Count, Size, SizeLimit};

/// How much a client may ask for.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<LimitOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Limits")]
pub struct LimitOptions {
    /// Connections at the same time; for more, the longest idle one is closed [default: what the limit of open files allows]
    #[arg(long, value_name = "N")]
    pub max_connections: Option<Count<1, 0xffff_ffff>>,

    /// Bytes of a request's body, or unlimited; 413 beyond.
    #[arg(long, value_name = "SIZE", default_value = "10M")]
    pub max_body: SizeLimit,

    /// Bytes of disk that bodies of requests take together while they come, or unlimited; 503 beyond.
    ///
    /// Bodies that an application or a server is to get whole are kept in $TMPDIR where they are longer than 64k. Those that are
    /// under way at the same time, of all clients, take no more room there than this.
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    pub max_spool: SizeLimit,

    /// Bytes of a request's head; 431 beyond.
    #[arg(long, value_name = "SIZE", default_value = "32k")]
    pub max_head: Size,

    /// Header fields of a request; 431 beyond.
    #[arg(long, value_name = "N", default_value = "100")]
    pub max_fields: Count<1, 128>,

    /// Bytes of a request's target, which is path and query; 414 beyond.
    #[arg(long, value_name = "SIZE", default_value = "8k")]
    pub max_target: Size,
}
