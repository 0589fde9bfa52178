//! The access log: a line for each request.
//!
//! Each worker writes its lines into a buffer of its own and hands it over when it is full, or 20 ms after
//! its first line. One thread takes the buffers and writes each in one call, so lines never mix, and a disk or a reader
//! that is slow keeps no request waiting: what waits is bounded, and lines beyond that are lost and counted.
//!
//! | step | file |
//! | --- | --- |
//! | where lines go, and how they are written: what an option says | `destination.rs`, `format.rs` |
//! | a line: in one of the formats with a name, or as a template has it | `combined.rs`, `json.rs`, `template.rs`, `variable.rs` |
//! | so that no value forges a line | `escape.rs` |
//! | the lines of a worker, and how they are handed over | `lines.rs`, `queue.rs` |
//! | the thread that writes, and tries again where that fails | `writer.rs`, `retry.rs` |
//! | a file, standard output; a command; syslog | `sink.rs`, `sink/`, `syslog.rs`, `syslog/` |
//! | SIGUSR1, and what is said of losses | `watch.rs` |

mod attempts;
mod combined;
mod date;
mod destination;
mod error;
mod escape;
#[cfg(test)]
mod example;
mod format;
mod json;
mod lines;
mod queue;
mod retry;
mod sink;
mod syslog;
mod template;
mod user;
mod variable;
mod watch;
mod writer;

pub(crate) use self::{
    destination::{Destination, InvalidDestination},
    error::AccessLogError,
    format::Format,
    queue::LineCounts,
    writer::{AccessLogWriter, LineCounter},
};
