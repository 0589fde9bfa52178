//! Health checks and ejection of failing servers.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use serow_document::values::{Count, ExpectedField, Span, Statuses, choice};

/// Health checks and ejection of failing servers.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<HealthOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Health checks")]
pub struct HealthOptions {
    /// Consecutive failed requests after which a server is ejected; 0 disables ejection.
    ///
    /// A request counts as failed if the proxy cannot connect, receives no response, or receives a 502, 503 or 504.
    #[arg(long, value_name = "N", default_value = "3")]
    pub max_failures: Count<0, 0xffff_ffff>,

    /// How long a failing server is ejected; doubled for each further ejection in a row, up to ten times this.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub ejection_time: Span,

    /// Active health checks: off, tcp, http or grpc.
    ///
    /// tcp opens a connection. http sends a request and examines the response. grpc calls grpc.health.v1.Health.
    #[arg(long, value_name = "off|tcp|http|grpc", default_value = "off", hide_possible_values = true)]
    pub check: CheckChoice,

    /// Interval between two health checks.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub check_interval: Span,

    /// Timeout of a health check.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub check_timeout: Span,

    /// Consecutive successes before a server is marked up.
    #[arg(long, value_name = "N", default_value = "2")]
    pub check_rise: Count<1, 1000>,

    /// Consecutive failures before a server is marked down.
    #[arg(long, value_name = "N", default_value = "3")]
    pub check_fall: Count<1, 1000>,

    /// State of a server before its first check: up, or down (it receives no requests yet).
    #[arg(long, value_name = "up|down", default_value = "up", hide_possible_values = true)]
    pub check_start: CheckStartChoice,

    /// Port for health checks [default: the server's own]
    #[arg(long, value_name = "PORT")]
    pub check_port: Option<Count<1, 65_535>>,

    /// http: path to request.
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub check_path: String,

    /// http: Host header to send [default: the server's name or address]
    #[arg(long, value_name = "HOST")]
    pub check_host: Option<String>,

    /// http: statuses that count as success (repeatable, or separated by commas).
    #[arg(long, value_name = "STATUSES", default_value = "2xx,3xx")]
    pub check_expect: Vec<Statuses>,

    /// http: text that the body must contain.
    #[arg(long, value_name = "TEXT")]
    pub check_body: Option<String>,

    /// http: header that the response must have, as 'name' or 'name: value'.
    #[arg(long, value_name = "FIELD")]
    pub check_header: Option<ExpectedField>,

    /// http: raw request to send instead of a GET, as in 'HEAD /up HTTP/1.0\r\n\r\n'.
    ///
    /// The escapes \r, \n, \t and \\ are recognised.
    #[arg(long, value_name = "TEXT")]
    pub check_send: Option<String>,

    /// grpc: service to check [default: the server as a whole]
    #[arg(long, value_name = "NAME")]
    pub check_service: Option<String>,
}

/// The kind of a health check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckChoice {
    /// No checks.
    #[value(help = None)]
    Off,
    /// Opens a connection.
    #[value(help = None)]
    Tcp,
    /// Sends a request.
    #[value(help = None)]
    Http,
    /// Calls the health service of gRPC.
    #[value(help = None)]
    Grpc,
}

/// State of a server before its first check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckStartChoice {
    /// It receives requests.
    #[value(help = None)]
    Up,
    /// It receives no requests.
    #[value(help = None)]
    Down,
}

choice!(CheckChoice, "Check");
choice!(CheckStartChoice, "CheckStart");
