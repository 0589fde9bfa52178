//! The options of `serow bench`: those of wrk, and more.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
use serow::Version;
use serow_config::values::{Amount, Count, Field, Period, Rate};

use super::WaterfallArguments;

/// The options of `serow bench`.
#[derive(Debug, Args)]
// Scripts that call wrk may say an option again, and the last one counts (getopt(3)).
#[command(
    disable_version_flag = true,
    args_override_self = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct BenchArguments {
    #[command(subcommand)]
    pub(crate) other: Option<BenchCommand>,

    /// URL; the default scheme is http://.
    #[arg(required_unless_present_any = ["urls", "version"])]
    pub(crate) url: Option<String>,

    /// Arguments for the script's init(args).
    #[arg(value_name = "ARGUMENT", allow_hyphen_values = false)]
    pub(crate) script_arguments: Vec<String>,

    #[command(flatten)]
    pub(crate) load: LoadArguments,
    #[command(flatten)]
    pub(crate) request: RequestArguments,
    #[command(flatten)]
    pub(crate) connection: ConnectionArguments,
    #[command(flatten)]
    pub(crate) report: ReportArguments,

    /// Print the version.
    #[arg(short = 'v', long, help_heading = "Options")]
    pub(crate) version: bool,
}

/// Other commands of the load generator.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Draw a byte-level waterfall of concurrent HTTP/2 or HTTP/3 streams with priorities.
    ///
    /// It shows whether a server implements priorities (RFC 9218): an urgent resource that is requested late has to
    /// overtake the responses in flight. The waterfall is printed, and written as SVG with --svg. Options after a URL
    /// set its urgency and the time of its request. Ctrl-C ends the run early and draws what was received.
    #[command(override_usage = "serow bench waterfall [OPTIONS] URL[,WORD...]...", after_help = super::waterfall::WORDS)]
    Waterfall(Box<WaterfallArguments>),
}

/// Load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArguments {
    /// Number of connections, over all threads.
    #[arg(short, long, value_name = "N", default_value = "10")]
    pub(crate) connections: Amount,

    /// Duration of the test: a number of seconds, or with a unit: 90s 5m 1h. With -n, the maximum duration [default:
    /// 10s without -n]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<Period>,

    /// Number of threads [default: 2, or 1 with one connection]
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<Count<1, 1024>>,

    /// Number of requests to send, over all connections.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) requests: Option<Amount>,

    /// Requests per second, over all connections (open loop).
    ///
    /// Each request has a scheduled time, and its latency is measured from that time, so the delays that a
    /// stall causes for later requests are counted. Without -R, as in wrk, nothing is sent during a stall,
    /// which hides these delays (coordinated omission). If all connections are busy at the scheduled time,
    /// the request is sent as soon as one is free.
    #[arg(short = 'R', long, value_name = "N")]
    pub(crate) rate: Option<Rate>,

    /// Send requests for this long before the measurement begins.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub(crate) warmup: Period,

    /// Timeout for a response, measured from the sending of its request; later responses count as errors.
    #[arg(short = 'T', long, value_name = "TIME", default_value = "2s")]
    pub(crate) timeout: Period,

    /// Accepted for wrk compatibility; ignored.
    #[arg(short = 'r', hide = true)]
    pub(crate) record_all: bool,
}

/// Requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct RequestArguments {
    /// Request header to send (repeatable).
    #[arg(short = 'H', long, value_name = "'NAME: VALUE'", action = ArgAction::Append)]
    pub(crate) header: Vec<Field>,

    /// Request method [default: GET, or POST with a body]
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub(crate) method: Option<String>,

    /// Request body.
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    pub(crate) body: Option<String>,

    /// File with the request body.
    #[arg(long, value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,

    /// File with several URLs of the same server, one per line, with an optional weight in front.
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    pub(crate) urls: Option<PathBuf>,

    /// Lua script with wrk's functions: setup, init, delay, request, response, done.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
}

/// The connection to the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ServerArguments {
    /// Connect to this unix socket; the URL provides host and path.
    #[arg(short = 'P', long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,

    /// Do not verify the server's certificate.
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,

    /// Trust the certificate authorities in this file (PEM) instead of those of the system.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca: Option<PathBuf>,
}

/// Connections.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ConnectionArguments {
    #[command(flatten)]
    pub(crate) server: ServerArguments,

    /// Use HTTP/2: negotiated over TLS (ALPN), with prior knowledge otherwise.
    #[arg(long, group = "multiplexed")]
    pub(crate) http2: bool,

    /// Use HTTP/3: over QUIC (UDP), for https:// URLs.
    #[arg(short = '3', long, group = "multiplexed")]
    pub(crate) http3: bool,

    /// Concurrent requests on each HTTP/2 or HTTP/3 connection.
    #[arg(short = 'm', long, value_name = "N", default_value = "1", requires = "multiplexed")]
    pub(crate) streams: Count<1, 10_000>,

    /// Open a new connection for each request.
    #[arg(long)]
    pub(crate) no_keepalive: bool,
}

impl ConnectionArguments {
    /// The version of HTTP.
    pub(crate) fn version(&self) -> Version {
        match self {
            Self { http2: true, .. } => Version::HTTP_2,
            Self { http3: true, .. } => Version::HTTP_3,
            _ => Version::HTTP_11,
        }
    }
}

/// The report.
#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ReportArguments {
    /// Print the latency distribution.
    #[arg(short = 'L', long)]
    pub(crate) latency: bool,

    /// Print the results as JSON.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,

    /// Print a time series as CSV, with a line for each interval.
    #[arg(long)]
    pub(crate) csv: bool,

    /// Write an HTML report with charts to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Exit with code 1 if a request failed or had a status of 400 or above.
    #[arg(long)]
    pub(crate) fail_on_error: bool,
}
