//! Which versions of HTTP are spoken, and how several responses share a connection.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use crate::values::{Paced, choice};

/// Which versions of HTTP are spoken, and how several responses share a connection.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<HttpOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "HTTP")]
pub struct HttpOptions {
    /// The versions of HTTP that are spoken: 1 is 1.1 and 1.0.
    ///
    /// With TLS the client chooses (ALPN). Without it, a connection that begins with the preface of HTTP/2 speaks that
    /// (curl --http2-prior-knowledge); where 1 is chosen, it is answered as a malformed request, and where 2 is, any other
    /// is closed.
    #[arg(long, value_name = "VERSIONS", default_value = "both")]
    pub http: VersionsOfHttp,

    /// How much of the responses of an HTTP/2 connection the system holds unsent: adaptive, off or a size.
    ///
    /// What it holds, nothing that becomes more urgent can overtake. adaptive holds as little as the link allows without
    /// running dry. A size is for all links the same. off leaves it to the system.
    #[arg(long, value_name = "adaptive|off|SIZE", default_value = "adaptive")]
    pub pacing: Paced,
}

/// Versions of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VersionsOfHttp {
    /// All.
    #[value(help = None)]
    Both,
    /// HTTP/1.
    #[value(name = "1", help = None)]
    Http1,
    /// HTTP/2.
    #[value(name = "2", help = None)]
    Http2,
}

choice!(VersionsOfHttp, "VersionsOfHttp");
