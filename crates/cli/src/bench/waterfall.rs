//! `serow bench waterfall`: who gets which bytes when, over one connection of HTTP/2 or HTTP/3.

use std::{
    error::Error,
    fmt,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::PathBuf,
};

use serow::{Scheme, Version};
use serow_client::DialError;
use serow_load::waterfall::{
    self, FetchError, Plan, Recording, ResourceSpec, ResourceSpecError, Signals, read_resource_specs,
};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

use super::{BenchError, target};
use crate::{arguments::WaterfallArguments, command_error::CommandError};

/// Why `serow bench waterfall` failed.
#[derive(Debug)]
pub(crate) enum WaterfallError {
    /// Nothing came from a server of this scheme.
    Fetch(FetchError, Scheme),
    /// The drawing cannot be written.
    Drawing(PathBuf, io::Error),
    /// So many of so many did not come whole.
    Missing(usize, usize),
}

/// Fetches, draws, and prints.
pub(crate) fn run(arguments: WaterfallArguments) -> Result<(), CommandError> {
    let (drawing, request, connection) = (arguments.drawing, arguments.request, arguments.connection);
    let version = if connection.http3 { Version::HTTP_3 } else { Version::HTTP_2 };
    let signals = request.signals.into();
    let texts = arguments.urls.iter().map(String::as_str);
    let (origin, specs) =
        read_resource_specs(texts).map_err(|error: ResourceSpecError| CommandError::Usage(error.to_string()))?;
    check(&specs, signals, version)?;
    let dialers = target::dialers(&origin, &connection.server, version, request.timeout.0)?;
    // Before a minute has been spent on it.
    let file = drawing.svg.map(Drawing::open).transpose()?;
    let headers: Vec<_> = request.header.into_iter().map(|field| (field.name, field.value)).collect();
    let plan = |dialer| Plan {
        origin: origin.clone(),
        dialer,
        version,
        specs: specs.clone(),
        headers: headers.clone(),
        signals,
        timeout: request.timeout.0,
    };
    let recording = fetch(dialers.into_iter().map(plan))?;
    if let Some(file) = file {
        file.write(&waterfall::svg(&recording, drawing.title.as_deref()))?;
    }
    let text = if drawing.json { waterfall::json(&recording) } else { waterfall::text(&recording, width()) };
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(CommandError::output)?;
    match recording.missing() {
        0 => Ok(()),
        missing => Err(CommandError::from(WaterfallError::Missing(missing, recording.resources.len()))),
    }
}

fn check(specs: &[ResourceSpec], signals: Signals, version: Version) -> Result<(), CommandError> {
    if signals == Signals::Rfc7540 && version == Version::HTTP_3 {
        let line = "HTTP/3 has only the priorities of RFC 9218; leave out --signals rfc7540";
        return Err(CommandError::Usage(line.to_owned()));
    }
    if signals == Signals::Rfc7540 && specs.iter().any(|spec| !spec.changes.is_empty()) {
        let line = "at= is sent as PRIORITY_UPDATE, which RFC 7540 does not have; leave out --signals rfc7540";
        return Err(CommandError::Usage(line.to_owned()));
    }
    Ok(())
}

/// Fetches from the first of the server's addresses that can be connected to.
fn fetch(plans: impl Iterator<Item = Plan>) -> Result<Recording, CommandError> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(CommandError::system)?;
    // Once for all addresses: a signal between two of them is kept for the next.
    let (mut interrupt, mut terminate) = {
        let _context = runtime.enter();
        let caught = |kind| signal(kind).map_err(CommandError::system);
        (caught(SignalKind::interrupt())?, caught(SignalKind::terminate())?)
    };
    let mut first = None;
    for plan in plans {
        let outcome = runtime.block_on(async {
            let stop = async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            };
            waterfall::fetch(&plan, stop).await
        });
        let place = plan.dialer.destination.to_string();
        match outcome {
            Ok(recording) => return Ok(recording),
            // The first is the one that people have in mind.
            Err(FetchError::Connection(
                error @ (DialError::Connect(_) | DialError::TimedOut(_) | DialError::NoAnswer(_)),
            )) => {
                first = first.or(Some(BenchError::Connect(place, error)));
            }
            Err(FetchError::Connection(error)) if !matches!(error, DialError::Protocol(_)) => {
                return Err(BenchError::Connect(place, error).into());
            }
            Err(error) => return Err(CommandError::from(WaterfallError::Fetch(error, plan.origin.scheme))),
        }
    }
    let nowhere = || BenchError::Host(String::new(), io::ErrorKind::NotFound.into());
    Err(first.unwrap_or_else(nowhere).into())
}

/// The file that is drawn into.
struct Drawing {
    file: File,
    path: PathBuf,
}

impl Drawing {
    /// Opens the file; its old content stays until there is something to draw.
    fn open(path: PathBuf) -> Result<Self, CommandError> {
        match OpenOptions::new().write(true).create(true).truncate(false).open(&path) {
            Ok(file) => Ok(Self { file, path }),
            Err(error) => Err(CommandError::from(WaterfallError::Drawing(path, error))),
        }
    }

    fn write(mut self, text: &str) -> Result<(), CommandError> {
        let written = self.file.set_len(0).and_then(|()| self.file.write_all(text.as_bytes()));
        written.map_err(|error| CommandError::from(WaterfallError::Drawing(self.path, error)))
    }
}

impl fmt::Display for WaterfallError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fetch(error @ (FetchError::Mute | FetchError::NotHttp2(_)), Scheme::Http) => {
                write!(formatter, "{error}; without TLS it has to speak HTTP/2 at once, with prior knowledge")
            }
            Self::Fetch(error, _) => error.fmt(formatter),
            Self::Drawing(path, error) => {
                write!(formatter, "cannot write the drawing {}: {error}; name another file with --svg", path.display())
            }
            Self::Missing(missing, all) => write!(formatter, "{missing} of {all} did not come whole"),
        }
    }
}

impl Error for WaterfallError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Drawing(_, error) => Some(error),
            Self::Fetch(..) | Self::Missing(..) => None,
        }
    }
}

impl From<WaterfallError> for CommandError {
    fn from(error: WaterfallError) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// Columns of the terminal; nothing longer than a usual one where there is none.
fn width() -> usize {
    let columns = rustix::termios::tcgetwinsize(io::stdout()).map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { USUAL_WIDTH } else { columns }
}

/// Of a terminal that does not say.
const USUAL_WIDTH: usize = 80;
