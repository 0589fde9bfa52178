//! The limit of open descriptors: raised for this process, kept for the programs that it starts, and high enough for a
//! server.

use std::{
    io::{self, pipe},
    sync::OnceLock,
};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::command_error::CommandError;

/// The soft limit that this process was given.
static GIVEN: OnceLock<Option<u64>> = OnceLock::new();

/// Raises the soft limit of this process to the hard one, as Go's programs do: the soft one, 1,024 on most systems, is
/// kept low for programs that call select(2).
pub(crate) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let _ = GIVEN.set(current);
    // Where that is refused, the shares are made of what there is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// The soft limit before it was raised: what other programs are to have that this one starts.
pub(crate) fn limit_of_others() -> Option<u64> {
    GIVEN.get().copied().flatten()
}

/// Refuses to start where the process cannot open so many more descriptors. A server that starts nevertheless crashes, or
/// answers every request with an error.
pub(crate) fn require(more: usize) -> Result<(), CommandError> {
    let error = match open_at_once(more) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let limit = getrlimit(Resource::Nofile).current.map_or_else(|| "unlimited".to_owned(), |limit| limit.to_string());
    let line = format!(
        "the server needs {more} more file descriptors than are open, and the limit is {limit} ({error}): raise it with \
         ulimit -n 1024, or with LimitNOFILE=1024 in the unit of systemd"
    );
    Err(CommandError::Failed(line.into()))
}

/// Whether an error says that there are no descriptors left.
pub(crate) fn is_exhaustion(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::MFILE | Errno::NFILE))
}

/// Opens so many descriptors, and closes them again.
fn open_at_once(count: usize) -> io::Result<()> {
    let (reader, _writer) = pipe()?;
    let copies = (2..count).map(|_| reader.try_clone()).collect::<io::Result<Vec<_>>>();
    copies.map(drop)
}

/// Descriptors that the master of `serow run` needs beside the sockets: its event queues, signals, files in memory,
/// channels to two generations, and the admin socket.
pub(crate) const OF_MASTER: usize = 24;

/// Descriptors that `serow supervise` needs beside its sockets: event queue, signals, files, and the notifications of
/// workers.
pub(crate) const OF_SUPERVISOR: usize = 16;
