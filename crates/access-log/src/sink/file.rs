//! A file, or standard output.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::{
        fd::AsFd,
        unix::fs::{FileTypeExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use crate::{AccessLogError, retry, sink_error::SinkError};

/// An open file.
pub(crate) struct LogFile {
    file: File,
    /// Where it was opened; standard output and standard error have no name.
    path: Option<PathBuf>,
}

impl LogFile {
    pub(super) fn standard_output() -> Result<Self, AccessLogError> {
        // Rust's own handle would keep what could not be written, and half a buffer of what could.
        let descriptor = io::stdout().as_fd().try_clone_to_owned().map_err(AccessLogError::StandardOutput)?;
        Ok(Self { file: descriptor.into(), path: None })
    }

    pub(super) fn standard_error() -> Result<Self, AccessLogError> {
        let descriptor = io::stderr().as_fd().try_clone_to_owned().map_err(AccessLogError::StandardError)?;
        Ok(Self { file: descriptor.into(), path: None })
    }

    pub(super) fn open(path: PathBuf) -> Result<Self, AccessLogError> {
        match append_to(&path) {
            Ok(file) => Ok(Self { file, path: Some(path) }),
            Err(error) => Err(AccessLogError::File { path, error }),
        }
    }

    pub(super) fn reopen(&mut self) {
        let Some(path) = &self.path else { return };
        match append_to(path) {
            Ok(file) => self.file = file,
            Err(error) => {
                let path = path.display();
                tracing::error!("cannot open the access log {path} again: {error}; writing to the old file");
            }
        }
    }

    /// In one call where the system takes it whole. Where it does not, as on a full disk, the rest goes right behind.
    pub(super) fn write(&mut self, text: &[u8]) -> (usize, Result<(), SinkError>) {
        let mut written = 0;
        while written < text.len() {
            let error = match self.file.write(&text[written..]) {
                Ok(0) => ErrorKind::WriteZero.into(),
                Ok(length) => {
                    written += length;
                    continue;
                }
                Err(error) => error,
            };
            let error = match error.kind() {
                ErrorKind::Interrupted => continue,
                // A named pipe; standard output, too, where a program that shares it set it so.
                ErrorKind::WouldBlock => SinkError::WouldBlock,
                ErrorKind::BrokenPipe => SinkError::Closed(error),
                _ => SinkError::Failed { reason: error.to_string(), pause: retry::MIN_PAUSE },
            };
            return (written, Err(error));
        }
        (written, Ok(()))
    }
}

/// Opens a file so that each call writes at its end, whoever else does, and whoever truncates it.
fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    if fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
        // Opened for reading as well, a named pipe needs no reader to be opened, and readers may come and go (fifo(7)).
        // It does not block, so that another file can be opened in its place however long nobody reads.
        options.read(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    }
    options.open(path)
}
