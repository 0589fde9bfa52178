//! The access log: a line for each request.
//!
//! Each worker writes its lines into a buffer of its own and hands it over when it is full, or a tenth of a second after
//! its first line. One thread takes the buffers and writes each in one call, so lines never mix, and a disk or a reader
//! that is slow keeps no request waiting.

mod combined;
mod date;
mod json;
mod lines;
mod writer;

use std::path::PathBuf;

pub(crate) use self::writer::AccessLogWriter;

/// Where lines go.
#[derive(Debug)]
pub(crate) enum Destination {
    /// To standard output.
    StandardOutput,
    /// To the end of a file, which is opened anew on SIGUSR1.
    File(PathBuf),
}

/// How a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// As nginx and Apache do.
    Combined,
    /// As a json object.
    Json,
}
