//! Options of an upstream.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BalancingOptions, CertificateChoice, HealthOptions, RetryOptions, StickyOptions, without_options};
use serow_document::values::{Count, Span, choice};

/// Options of an upstream.
#[derive(Clone, Debug, Args)]
pub struct UpstreamOptions {
    /// How requests are balanced.
    #[command(flatten)]
    pub balancing: BalancingOptions,
    /// Session cookies.
    #[command(flatten)]
    pub sticky: StickyOptions,
    /// Timeouts of servers.
    #[command(flatten)]
    pub timeouts: UpstreamTimeoutOptions,
    /// Connections to servers, and the queue for them.
    #[command(flatten)]
    pub connections: UpstreamConnectionOptions,
    /// TLS with servers.
    #[command(flatten)]
    pub tls: UpstreamTlsOptions,
    /// Retries.
    #[command(flatten)]
    pub retries: RetryOptions,
    /// Health checks.
    #[command(flatten)]
    pub health: HealthOptions,
}

/// Time limits for upstream servers.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<UpstreamTimeoutOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Upstream timeouts")]
pub struct UpstreamTimeoutOptions {
    /// Time limit for connecting to a server, TLS handshake included; applies to each attempt.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub connect_timeout: Span,

    /// Time limit until the first byte of a response; a slower response becomes 504.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub response_timeout: Span,

    /// Time limit between two parts of a body, in either direction.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub transfer_timeout: Span,

    /// Time limit for the whole request: queue, all attempts and the response [default: none]
    #[arg(long, value_name = "TIME")]
    pub total_timeout: Option<Span>,
}

/// Connections to upstream servers, and the queue.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<UpstreamConnectionOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Upstream connections")]
pub struct UpstreamConnectionOptions {
    /// Maximum number of idle keep-alive connections for each server and worker; 0 opens a connection for each
    /// request.
    #[arg(long, value_name = "N", default_value = "64")]
    pub keep_idle: Count<0, 65_535>,

    /// How long idle connections are kept; set it lower than the keep-alive timeout of the servers.
    #[arg(long, value_name = "TIME", default_value = "55s")]
    pub keep_idle_timeout: Span,

    /// Requests that may wait while all servers have reached their limit (max=); further ones receive 503.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub queue: Count<0, 0xffff_ffff>,

    /// How long a request may wait for a server; after that it receives 503 with Retry-After.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub queue_timeout: Span,

    /// Send a PROXY protocol header, which passes on the client address: off, v1 (text) or v2 (binary).
    ///
    /// Each connection then serves the requests of one client only. The servers must expect the header.
    #[arg(long, value_name = "off|v1|v2", default_value = "off", hide_possible_values = true)]
    pub send_proxy: SendProxyChoice,
}

/// TLS to upstream servers.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<UpstreamTlsOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Upstream TLS")]
pub struct UpstreamTlsOptions {
    /// Certificate authorities for the certificates of https servers, in PEM format [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub server_ca: Option<PathBuf>,

    /// Do not verify the certificates of servers: an attacker in the network can then read and change everything.
    #[arg(long)]
    pub server_insecure: bool,

    /// Client certificate for servers that require one, in PEM format; without KEY, the file contains both.
    #[arg(long, value_name = "CERT[,KEY]")]
    pub server_certificate: Option<CertificateChoice>,
}

/// Version of the PROXY header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SendProxyChoice {
    /// No header.
    #[value(help = None)]
    Off,
    /// Text.
    #[value(help = None)]
    V1,
    /// Binary.
    #[value(help = None)]
    V2,
}

choice!(SendProxyChoice, "SendProxy");
