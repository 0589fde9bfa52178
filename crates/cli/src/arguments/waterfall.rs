//! The options of `serow bench waterfall`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use serow_config::values::{Field, Period};
use serow_load::waterfall::Signals;

use super::ServerArguments;

/// The options of `serow bench waterfall`.
#[derive(Debug, Args)]
pub(crate) struct WaterfallArguments {
    /// URLs to fetch, with options; from the second URL on the path is enough, since all use the same server.
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,

    #[command(flatten)]
    pub(crate) request: WaterfallRequestArguments,
    #[command(flatten)]
    pub(crate) connection: WaterfallConnectionArguments,
    #[command(flatten)]
    pub(crate) drawing: DrawingArguments,
}

/// Requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct WaterfallRequestArguments {
    /// Request header to send with all requests (repeatable).
    #[arg(short = 'H', long, value_name = "'NAME: VALUE'", action = ArgAction::Append)]
    pub(crate) header: Vec<Field>,

    /// How priorities are signalled: the priority header (RFC 9218), or the dependency tree that Chromium builds for
    /// servers without RFC 9218.
    #[arg(long, value_name = "rfc9218|rfc7540", default_value = "rfc9218", hide_possible_values = true)]
    pub(crate) signals: SignalsArgument,

    /// Timeout for opening the connection, and for each pause between received data.
    #[arg(short = 'T', long, value_name = "TIME", default_value = "30s")]
    pub(crate) timeout: Period,
}

/// How priorities are signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SignalsArgument {
    /// The header `priority`, and PRIORITY_UPDATE.
    #[value(help = None)]
    Rfc9218,
    /// The dependency tree of streams.
    #[value(help = None)]
    Rfc7540,
}

impl From<SignalsArgument> for Signals {
    fn from(written: SignalsArgument) -> Self {
        match written {
            SignalsArgument::Rfc9218 => Self::Rfc9218,
            SignalsArgument::Rfc7540 => Self::Rfc7540,
        }
    }
}

/// The connection.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connections")]
pub(crate) struct WaterfallConnectionArguments {
    #[command(flatten)]
    pub(crate) server: ServerArguments,

    /// Use HTTP/3: over QUIC (UDP), for https:// URLs.
    #[arg(short = '3', long)]
    pub(crate) http3: bool,
}

/// Output.
#[derive(Debug, Args)]
#[command(next_help_heading = "Drawing")]
pub(crate) struct DrawingArguments {
    /// Write the waterfall to this file, as SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Title of the SVG [default: the server]
    #[arg(long, value_name = "TEXT", requires = "svg")]
    pub(crate) title: Option<String>,

    /// Print all received data as JSON, with times.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The explanation below the options.
pub(crate) const WORDS: &str = "\
Options of a URL, each after a comma:
  u=0 … u=7   urgency: 0 is the highest; the default is 3
  i           incremental: the response is useful in parts and may share the link with others of the same urgency
  after=TIME  send the request this long after the beginning: 500ms 0.2s 10s 1m
  at=TIME     from this time on, apply the options that follow it (sent as PRIORITY_UPDATE)
If the URL itself contains a comma followed by text that looks like an option, write the comma as %2C.

Examples:
  serow bench waterfall https://example.com/picture.png,u=5 /script.js,u=1,after=10s
      does the script overtake the picture?
  serow bench waterfall -k --svg map.svg https://localhost/1.png,u=4,i /2.png,u=4,i /a.js,u=2,after=1s
      two pictures that share the link, drawn as SVG
  serow bench waterfall http://127.0.0.1:8080/picture.png,u=5,at=2s,u=1 /other.png,u=4
      a picture that becomes urgent after two seconds

  serow bench waterfall --http3 https://example.com/picture.png,u=5 /script.js,u=1,after=10s
      the same as the first, over HTTP/3

Without TLS (http://) HTTP/2 is used with prior knowledge.";
