//! Access logs for Serow: a line for each request, in nginx's format, as JSON, or as a template with nginx's
//! variables; to a file, standard output, a shell command or a syslog collector.
//!
//! ```no_run
//! use serow::{Request, Server};
//! use serow_access_log::{AccessLog, Destination};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let log = AccessLog::combined(Destination::File("access.log".into()))?;
//!     let server = Server::new().listen("127.0.0.1:8080").access_log(log.for_workers());
//!     server.run(|_: Request| async { "Hello, World!" })?;
//!     Ok(())
//! }
//! ```
//!
//! Formats and destinations can also be read from text, as `serow --access-log-format` and `serow --access-log` take
//! them:
//!
//! ```
//! use serow_access_log::{Destination, Format};
//!
//! let format: Format = "$remote_addr \"$request\" $status $request_time".parse()?;
//! let destination: Destination = "syslog:udp://127.0.0.1:514?facility=local7".parse()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How lines are written
//!
//! Each worker appends its lines to a buffer of its own and hands the buffer over when it is full, or 20 ms after its
//! first line. One thread takes the buffers and writes each in one call, so lines never mix, and a slow disk or
//! reader
//! delays no request: the queue is bounded, and lines beyond the bound are dropped and counted
//! ([`LineCounts::lost`]).
//! On SIGUSR1 the thread reopens the file, for log rotation.
//!
//! | step | file |
//! | --- | --- |
//! | options: the destination and the format | `destination.rs`, `format.rs` |
//! | a line: in a named format, or from a template | `combined.rs`, `json.rs`, `template.rs`, `variable.rs`, `terminal.rs`; `append.rs` |
//! | the client of a request that came through a proxy | `client_rules.rs` |
//! | escaping, so that no value forges a line | `escape.rs` |
//! | the lines of a worker, and the queue between workers and the writer | `lines.rs`, `queue.rs` |
//! | the thread that writes, and its retries | `writer.rs`, `retry.rs` |
//! | a file or standard output; a command; syslog | `sink.rs`, `sink/`, `syslog.rs`, `syslog/` |
//! | which requests have lines in which of several logs: by route, condition, status and sampling | `rules.rs`, `routed.rs`, `condition.rs`, `sampling.rs`, `logs.rs` |
//! | how long the requests of each route take | `durations.rs` |
//! | SIGUSR1, and warnings about lost lines | `watch.rs` |
#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "writing"), allow(dead_code, reason = "formats are read, and no line is written"))]

mod append;
mod attempts;
mod client_rules;
mod combined;
mod condition;
mod date;
mod destination;
#[cfg(feature = "writing")]
mod durations;
#[cfg(feature = "writing")]
mod error;
mod escape;
#[cfg(test)]
mod example;
mod format;
mod json;
#[cfg(feature = "writing")]
mod lines;
#[cfg(feature = "writing")]
mod logs;
mod name;
#[cfg(feature = "writing")]
mod queue;
#[cfg(feature = "writing")]
mod retry;
#[cfg(feature = "writing")]
mod routed;
mod rules;
mod sampling;
mod secret_arguments;
#[cfg(feature = "writing")]
mod sink;
#[cfg(feature = "writing")]
mod sink_error;
mod syslog;
mod template;
mod terminal;
mod user;
mod variable;
#[cfg(feature = "writing")]
mod watch;
#[cfg(feature = "writing")]
mod writer;

pub use self::{
    client_rules::ClientRules,
    condition::{Condition, ConditionError},
    destination::{Destination, DestinationError},
    format::{Format, FormatError},
    rules::{LogRule, LogRules},
    sampling::Sampling,
    secret_arguments::SecretArguments,
    syslog::{SyslogAddress, SyslogAddressError},
    template::Template,
    terminal::Colour,
    variable::OtherNames,
};
#[cfg(feature = "writing")]
pub use self::{
    durations::{CountingLog, DurationCounts, Durations},
    error::AccessLogError,
    lines::{WorkerLog, WorkerLogs},
    logs::{AccessLogs, LogMakers},
    queue::LineCounts,
    routed::{RoutedLog, RoutedLogs},
    writer::{AccessLog, LineCounter},
};
