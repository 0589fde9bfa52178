//! How other servers are asked.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BalancingOptions, CertificateChoice, HealthOptions, RetryOptions, StickyOptions, without_options};
use crate::values::{Count, Span, choice};

/// How the servers of an upstream are asked.
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

/// How long servers may take.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<UpstreamTimeoutOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "How long servers may take")]
pub struct UpstreamTimeoutOptions {
    /// For a connection to a server, TLS included; for each attempt.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub connect_timeout: Span,

    /// Until the first byte of a response; 504 beyond.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub response_timeout: Span,

    /// Between two pieces of a body, either way.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub transfer_timeout: Span,

    /// For the whole of a request: its time in the queue, all attempts, the response [default: no limit]
    #[arg(long, value_name = "TIME")]
    pub total_timeout: Option<Span>,
}

/// Connections to servers, and requests that wait for one.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<UpstreamConnectionOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Connections to servers")]
pub struct UpstreamConnectionOptions {
    /// Idle connections that are kept for each server and core; 0 opens one for each request.
    #[arg(long, value_name = "N", default_value = "64")]
    pub keep_idle: Count<0, 65_535>,

    /// How long they are kept: less than the servers keep them.
    #[arg(long, value_name = "TIME", default_value = "55s")]
    pub keep_idle_timeout: Span,

    /// Requests that wait while all servers have as many as their max= allows; 503 beyond.
    #[arg(long, value_name = "N", default_value = "1024")]
    pub queue: Count<0, 0xffff_ffff>,

    /// How long each waits; then the answer is 503, with Retry-After.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub queue_timeout: Span,

    /// Begin connections with a PROXY header, which says who the client is: off, v1 (a line of text) or v2 (binary).
    ///
    /// Each then serves requests of one client only. The servers have to expect it.
    #[arg(long, value_name = "off|v1|v2", default_value = "off", hide_possible_values = true)]
    pub send_proxy: SendProxyChoice,
}

/// How servers with https are believed.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<UpstreamTlsOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "TLS to servers")]
pub struct UpstreamTlsOptions {
    /// The authorities whose certificates servers with https show, in PEM [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub server_ca: Option<PathBuf>,

    /// Do not check the certificates of servers: whoever is between can read and change everything.
    #[arg(long)]
    pub server_insecure: bool,

    /// The certificate that is shown to servers that ask for one, in PEM; without KEY, the file holds both.
    #[arg(long, value_name = "CERT[,KEY]")]
    pub server_certificate: Option<CertificateChoice>,
}

/// Which PROXY header connections begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SendProxyChoice {
    /// None.
    #[value(help = None)]
    Off,
    /// A line of text.
    #[value(help = None)]
    V1,
    /// Binary.
    #[value(help = None)]
    V2,
}

choice!(SendProxyChoice, "SendProxy");
