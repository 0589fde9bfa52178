//! The standard output and error of processes, line by line.

use std::os::fd::OwnedFd;

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    net::unix::pipe::Receiver,
    task::{JoinHandle, spawn_local},
};

use crate::settings::RunSettings;

/// Passes lines to `take` until all writers are gone.
pub fn read_lines(pipe: OwnedFd, mut take: impl FnMut(&str) + 'static) -> JoinHandle<()> {
    spawn_local(async move {
        let Ok(receiver) = Receiver::from_owned_fd(pipe) else { return };
        let mut lines = BufReader::new(receiver);
        let mut line = Vec::new();
        loop {
            line.clear();
            // A line that does not end would fill the memory.
            match (&mut lines).take(MAX_LINE).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) => take(&String::from_utf8_lossy(line.trim_ascii_end())),
            }
        }
    })
}

/// Logs the lines; `place` 0 is the template process.
pub fn log_lines(pipe: OwnedFd, settings: &RunSettings, place: usize) {
    let (name, output) = (settings.name.clone(), settings.output);
    drop(read_lines(pipe, move |line| (output.take)(&name, place, line)));
}

/// In bytes; longer lines are split.
const MAX_LINE: u64 = 64 * 1024;
