//! How it is found out that a server is not well.

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::without_options;
use crate::values::{Count, ExpectedField, Span, Statuses, choice};

/// How it is found out that a server is not well.
#[derive(Clone, Debug, Args, Deserialize, Serialize, JsonSchema)]
#[serde(default = "without_options::<HealthOptions>", rename_all = "kebab-case")]
#[command(next_help_heading = "Health of servers")]
pub struct HealthOptions {
    /// Requests in a row that failed, after which a server is left alone for a time; 0: it never is.
    ///
    /// Failed has one that found no connection, had no response, or one with 502, 503 or 504.
    #[arg(long, value_name = "N", default_value = "3")]
    pub max_failures: Count<0, 0xffff_ffff>,

    /// For how long: each further time in a row twice as long, up to ten times.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub ejection_time: Span,

    /// Ask the servers regularly whether they are well: off, tcp, http or grpc.
    ///
    /// tcp opens a connection. http sends a request, and looks at the response. grpc asks grpc.health.v1.Health.
    #[arg(long, value_name = "off|tcp|http|grpc", default_value = "off", hide_possible_values = true)]
    pub check: CheckChoice,

    /// How often.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub check_interval: Span,

    /// How long the answer may take.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub check_timeout: Span,

    /// Good answers in a row after which a server that was down is up.
    #[arg(long, value_name = "N", default_value = "2")]
    pub check_rise: Count<1, 1000>,

    /// Bad ones in a row after which a server that was up is down.
    #[arg(long, value_name = "N", default_value = "3")]
    pub check_fall: Count<1, 1000>,

    /// What servers are before they were asked: up, or down, so that they get nothing.
    #[arg(long, value_name = "up|down", default_value = "up", hide_possible_values = true)]
    pub check_start: CheckStartChoice,

    /// The port that is asked [default: the server's own]
    #[arg(long, value_name = "PORT")]
    pub check_port: Option<Count<1, 65_535>>,

    /// http: the path that is asked for.
    #[arg(long, value_name = "PATH", default_value = "/")]
    pub check_path: String,

    /// http: the host that is asked for [default: the server's own name or address]
    #[arg(long, value_name = "HOST")]
    pub check_host: Option<String>,

    /// http: the statuses that are good (repeatable, or with commas).
    #[arg(long, value_name = "STATUSES", default_value = "2xx,3xx")]
    pub check_expect: Vec<Statuses>,

    /// http: what the body has to contain.
    #[arg(long, value_name = "TEXT")]
    pub check_body: Option<String>,

    /// http: a header field that has to be there, as 'name' or 'name: value'.
    #[arg(long, value_name = "FIELD")]
    pub check_header: Option<ExpectedField>,

    /// http: the request itself, in place of a GET, as in 'HEAD /up HTTP/1.0\r\n\r\n'.
    ///
    /// \r, \n, \t and \\ are what they are elsewhere.
    #[arg(long, value_name = "TEXT")]
    pub check_send: Option<String>,

    /// grpc: the service that is asked for [default: the server as a whole]
    #[arg(long, value_name = "NAME")]
    pub check_service: Option<String>,
}

/// What a check does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckChoice {
    /// There are none.
    #[value(help = None)]
    Off,
    /// Opens a connection.
    #[value(help = None)]
    Tcp,
    /// Sends a request.
    #[value(help = None)]
    Http,
    /// Asks for the health of a service.
    #[value(help = None)]
    Grpc,
}

/// What servers are before they were checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckStartChoice {
    /// Good.
    #[value(help = None)]
    Up,
    /// Not asked.
    #[value(help = None)]
    Down,
}

choice!(CheckChoice, "Check");
choice!(CheckStartChoice, "CheckStart");
