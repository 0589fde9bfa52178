//! HTTP versions, and how responses share a connection.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Switch, without_options};
use serow_document::values::{Paced, Span, choice};

/// HTTP versions, and how responses share a connection.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<HttpOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "HTTP")]
pub struct HttpOptions {
    /// HTTP versions to accept: both, 1 (HTTP/1.1 and 1.0) or 2.
    ///
    /// With TLS the client chooses (ALPN). Without TLS, a connection that begins with the HTTP/2 preface uses HTTP/2
    /// (curl --http2-prior-knowledge). With --http 1, such a connection receives 400; with --http 2, any
    /// other connection is closed.
    #[arg(long, value_name = "VERSIONS", default_value = "both")]
    pub http: VersionsOfHttp,

    /// HTTP/3 beside TLS: on or off.
    ///
    /// Wherever TLS is served on a TCP port, HTTP/3 is served on the same UDP port; a firewall has to let it through.
    /// Responses over HTTP/1.1 and HTTP/2 tell clients about it (Alt-Svc). Where UDP cannot be bound, a warning says so.
    #[arg(long, value_name = "on|off", default_value = "on", hide_possible_values = true)]
    pub http3: Switch,

    /// Early data over HTTP/3 (0-RTT): on or off.
    ///
    /// A client that has been there before sends its first requests together with the handshake, and saves a round trip.
    /// GET, HEAD and OPTIONS without a body are answered at once, with the field Early-Data: 1 for applications and
    /// upstream servers, which may refuse them with 425 (RFC 8470); other requests wait for the end of the handshake. With
    /// --tls-client it is off.
    #[arg(long, value_name = "on|off", default_value = "off", hide_possible_values = true)]
    pub early_data: Switch,

    /// How long clients remember that HTTP/3 is served; 0: they are not told.
    ///
    /// It is the value `ma` of Alt-Svc. After a start with --http3 off, Serow tells clients for as long to forget it
    /// (`Alt-Svc: clear`).
    #[arg(long, value_name = "TIME", default_value = "1d")]
    pub alt_svc_max_age: Span,

    /// How much response data of an HTTP/2 connection may wait in the kernel: adaptive, off or a size.
    ///
    /// Data that waits in the kernel cannot be overtaken by a more urgent response. adaptive keeps as little there as
    /// the link needs to stay busy. A size applies to all links. off leaves it to the kernel.
    #[arg(long, value_name = "adaptive|off|SIZE", default_value = "adaptive")]
    pub pacing: Paced,
}

/// HTTP versions.
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
