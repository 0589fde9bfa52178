//! The options of `serow bench waterfall`.

use std::path::PathBuf;

use clap::{ArgAction, Args, ValueEnum};
use serow_config::values::{Field, Period};
use serow_load::waterfall::Signals;

use super::ServerArguments;

/// The options of `serow bench waterfall`.
#[derive(Debug, Args)]
pub(crate) struct WaterfallArguments {
    /// What is fetched, with words behind it; from the second on the path is enough, since all are of one server.
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,

    #[command(flatten)]
    pub(crate) request: WaterfallRequestArguments,
    #[command(flatten)]
    pub(crate) server: ServerArguments,
    #[command(flatten)]
    pub(crate) drawing: DrawingArguments,
}

/// How it is asked for.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct WaterfallRequestArguments {
    /// A header field to send with all; may be given several times.
    #[arg(short = 'H', long, value_name = "'NAME: VALUE'", action = ArgAction::Append)]
    pub(crate) header: Vec<Field>,

    /// In which words priorities are said: the header field 'priority', or the tree that Chromium builds for servers that
    /// know no other.
    #[arg(long, value_name = "rfc9218|rfc7540", default_value = "rfc9218", hide_possible_values = true)]
    pub(crate) signals: SignalsArgument,

    /// How long the connection may take to open, and for how long nothing may come of what was asked for.
    #[arg(short = 'T', long, value_name = "TIME", default_value = "30s")]
    pub(crate) timeout: Period,
}

/// In which words priorities are said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SignalsArgument {
    /// The header field `priority`, and PRIORITY_UPDATE.
    #[value(help = None)]
    Rfc9218,
    /// The tree of streams.
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

/// What becomes of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Drawing")]
pub(crate) struct DrawingArguments {
    /// Draw it into this file as well, as SVG.
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// What stands above the drawing in that file [default: the server]
    #[arg(long, value_name = "TEXT", requires = "svg")]
    pub(crate) title: Option<String>,

    /// Print all that came, and when, as JSON instead.
    #[arg(long)]
    pub(crate) json: bool,
}

/// What stands below the options.
pub(crate) const WORDS: &str = "\
Words behind a URL, each with a comma in front:
  u=0 … u=7   how urgent it is: 0 is the most; 3 is what holds where nothing is said
  i           it is of use while it comes, so it may share with others as urgent
  after=TIME  it is asked for so long after the beginning: 500ms 0.2s 10s 1m
  at=TIME     what follows is said at this moment, when it has been asked for (PRIORITY_UPDATE)
A comma of the URL itself is written %2C where what follows it looks like a word.

Examples:
  serow bench waterfall https://example.com/picture.png,u=5 /script.js,u=1,after=10s
      does the script overtake the picture?
  serow bench waterfall -k --svg map.svg https://localhost/1.png,u=4,i /2.png,u=4,i /a.js,u=2,after=1s
      two pictures that share, and a drawing of how
  serow bench waterfall http://127.0.0.1:8080/picture.png,u=5,at=2s,u=1 /other.png,u=4
      what becomes of a picture that comes into view after two seconds

Without TLS (http://) HTTP/2 is spoken with prior knowledge.";
