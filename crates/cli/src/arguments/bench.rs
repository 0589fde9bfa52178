//! The options of `serow bench`: wrk's, and what wrk has not.

use std::path::PathBuf;

use clap::{ArgAction, Args, Subcommand};
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

    /// The URL; http:// where there is no scheme.
    #[arg(required_unless_present_any = ["urls", "version"])]
    pub(crate) url: Option<String>,

    /// What the script's init(args) gets, behind the URL.
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
    #[arg(short = 'v', long, help_heading = "Other")]
    pub(crate) version: bool,
}

/// What is done instead of making load.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Draw who gets which bytes when: several resources over one connection of HTTP/2, with priorities.
    ///
    /// It shows whether a server's priorities work (RFC 9218): what is urgent and asked for late has to overtake what is
    /// under way. The drawing is printed, and written as SVG with --svg. Words behind a URL say how urgent it is and when
    /// it is asked for. Ctrl-C ends it early, with what has come.
    #[command(override_usage = "serow bench waterfall [OPTIONS] URL[,WORD...]...", after_help = super::waterfall::WORDS)]
    Waterfall(Box<WaterfallArguments>),
}

/// How much is asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct LoadArguments {
    /// Connections to keep open, of all threads together.
    #[arg(short, long, value_name = "N", default_value = "10")]
    pub(crate) connections: Amount,

    /// For how long requests are sent; a number of seconds, or with unit: 90s 5m 1h. With -n, the longest that it takes
    /// [default: 10s without -n]
    #[arg(short, long, value_name = "TIME")]
    pub(crate) duration: Option<Period>,

    /// Threads [default: 2, or 1 with one connection]
    #[arg(short, long, value_name = "N")]
    pub(crate) threads: Option<Count<1, 1024>>,

    /// How many requests are sent, of all connections together.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) requests: Option<Amount>,

    /// How many requests are sent each second, of all connections together.
    ///
    /// Each has a planned moment, and its latency is measured from there: what a stall of the server costs those who would
    /// have come meanwhile is counted (wrk's closed loop does not ask while it waits). Requests that could not be sent in
    /// time because all connections were busy are sent as soon as one is free.
    #[arg(short = 'R', long, value_name = "N")]
    pub(crate) rate: Option<Rate>,

    /// Send requests for this long before anything is counted.
    #[arg(long, value_name = "TIME", default_value = "0")]
    pub(crate) warmup: Period,

    /// How long a response may take from when its request was sent; longer ones are errors.
    #[arg(short = 'T', long, value_name = "TIME", default_value = "2s")]
    pub(crate) timeout: Period,

    /// wrk's own, which does nothing there.
    #[arg(short = 'r', hide = true)]
    pub(crate) record_all: bool,
}

/// What is asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct RequestArguments {
    /// A header field to send; may be given several times.
    #[arg(short = 'H', long, value_name = "'NAME: VALUE'", action = ArgAction::Append)]
    pub(crate) header: Vec<Field>,

    /// The method [default: GET, or POST with a body]
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub(crate) method: Option<String>,

    /// The body.
    #[arg(long, value_name = "TEXT", conflicts_with = "body_file")]
    pub(crate) body: Option<String>,

    /// A file whose content is the body.
    #[arg(long, value_name = "FILE")]
    pub(crate) body_file: Option<PathBuf>,

    /// A file with several URLs of the same server, one a line; a number in front is the weight.
    #[arg(long, value_name = "FILE", conflicts_with = "script")]
    pub(crate) urls: Option<PathBuf>,

    /// A script in Lua with wrk's functions: setup, init, delay, request, response, done.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
}

/// How the server is reached.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ServerArguments {
    /// Connect to this unix socket; the URL says what is asked for.
    #[arg(short = 'P', long, value_name = "PATH")]
    pub(crate) unix: Option<PathBuf>,

    /// Do not check the server's certificate.
    #[arg(short = 'k', long)]
    pub(crate) insecure: bool,

    /// Trust the certificate authorities in this file (PEM) instead of the system's.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca: Option<PathBuf>,
}

/// The connections that make load.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct ConnectionArguments {
    #[command(flatten)]
    pub(crate) server: ServerArguments,

    /// Speak HTTP/2: over TLS as agreed upon (ALPN), else with prior knowledge.
    #[arg(long)]
    pub(crate) http2: bool,

    /// Requests under way at a time on each connection of HTTP/2.
    #[arg(short = 'm', long, value_name = "N", default_value = "1", requires = "http2")]
    pub(crate) streams: Count<1, 10_000>,

    /// Open a connection for each request.
    #[arg(long)]
    pub(crate) no_keepalive: bool,
}

/// What is printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Report")]
pub(crate) struct ReportArguments {
    /// Print the distribution of the latencies as well.
    #[arg(short = 'L', long)]
    pub(crate) latency: bool,

    /// Print the results as JSON instead.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,

    /// Print how it went, step by step, as CSV instead.
    #[arg(long)]
    pub(crate) csv: bool,

    /// Write a page with charts into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// End with exit code 1 if any request failed, or had a status of 400 or above.
    #[arg(long)]
    pub(crate) fail_on_error: bool,
}
