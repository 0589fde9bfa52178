//! What workers write on their standard output and error: lines of the log, with the worker's number.

use std::{os::fd::OwnedFd, sync::Arc};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::unix::pipe::Receiver,
    task::spawn_local,
};

use crate::application::Shared;

/// Writes the lines that come to the log, until all who could write any are gone; `place` 0 is where workers are forked from.
pub(super) fn log(pipe: OwnedFd, shared: Arc<Shared>, place: usize) {
    spawn_local(async move {
        let Ok(receiver) = Receiver::from_owned_fd(pipe) else { return };
        let mut lines = BufReader::new(receiver);
        let mut line = Vec::new();
        loop {
            line.clear();
            // A line that does not end would fill the memory.
            match (&mut lines).take(LONGEST_LINE).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => {
                    let settings = &shared.settings;
                    (settings.output.take)(&settings.name, place, &String::from_utf8_lossy(line.trim_ascii_end()));
                }
            }
        }
    });
}

/// Bytes; what is longer becomes several lines.
const LONGEST_LINE: u64 = 64 * 1024;
