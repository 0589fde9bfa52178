//! Bytes of a body in a pipe: the kernel moves them from one socket to another without a copy (splice(2)).

use core::{
    sync::atomic::{AtomicUsize, Ordering},
    task::{Poll, ready},
};
use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::Arc,
    vec,
};

use bytes::Bytes;

/// A pipe for one body. It lives no longer than the body: what a reader leaves in it can get into no other.
#[derive(Debug)]
pub struct Pipe {
    ends: Arc<Ends>,
}

/// The bytes in a [`Pipe`], which are one piece of a body.
#[derive(Debug)]
pub struct PipedBytes {
    ends: Arc<Ends>,
    length: usize,
}

#[derive(Debug)]
struct Ends {
    input: OwnedFd,
    output: OwnedFd,
    /// Bytes that are in it.
    held: AtomicUsize,
    _permit: Permit,
}

/// One of the pipes that may be open.
#[derive(Debug)]
struct Permit;

/// How many are open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

impl Permit {
    #[cfg(target_os = "linux")]
    fn take() -> io::Result<Self> {
        if OPEN.fetch_add(1, Ordering::Relaxed) >= Pipe::MOST {
            OPEN.fetch_sub(1, Ordering::Relaxed);
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        Ok(Self)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pipe {
    /// A new pipe, which has room for [`Self::CAPACITY`].
    ///
    /// # Errors
    ///
    /// `QuotaExceeded` while [`Self::MOST`] are open in this process; those of pipe(2) and fcntl(2): a user that is not root
    /// may have less room in pipes (pipe(7), `pipe-user-pages-soft`). Not supported on other systems than Linux.
    #[cfg(target_os = "linux")]
    pub fn new() -> io::Result<Self> {
        use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
        let permit = Permit::take()?;
        let (output, input) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        fcntl_setpipe_size(&input, Self::CAPACITY)?;
        Ok(Self { ends: Arc::new(Ends { input, output, held: AtomicUsize::new(0), _permit: permit }) })
    }

    #[cfg(not(target_os = "linux"))]
    pub fn new() -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The room of a pipe in bytes, and the most that a slow reader keeps in the kernel. A pipe has a slot for each page of
    /// that, and a packet takes a slot or more.
    pub const CAPACITY: usize = 256 * 1024;

    /// Pipes of a process at a time. Clients that read slowly would otherwise have the kernel keep [`Self::CAPACITY`] for
    /// each; together, these are the 64 MB that Linux grants to a user that is not root.
    pub const MOST: usize = 256;

    /// Fills the pipe by this call, which returns how many bytes it has put into it; those are the piece. `None` while
    /// bytes of an earlier piece are in it.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn poll_fill(
        &self,
        fill: impl FnOnce(BorrowedFd<'_>) -> Poll<io::Result<usize>>,
    ) -> Option<Poll<io::Result<PipedBytes>>> {
        if self.ends.held.load(Ordering::Acquire) > 0 {
            return None;
        }
        Some(fill(self.ends.input.as_fd()).map_ok(|length| {
            self.ends.held.store(length, Ordering::Release);
            PipedBytes { ends: Arc::clone(&self.ends), length }
        }))
    }
}

impl PipedBytes {
    /// How many bytes are left.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Takes bytes out by this call, which gets the number of those that are left, and returns how many it has taken.
    ///
    /// # Errors
    ///
    /// Those of the call.
    pub fn poll_take(
        &mut self,
        take: impl FnOnce(BorrowedFd<'_>, usize) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let taken = ready!(take(self.ends.output.as_fd(), self.length))?.min(self.length);
        self.length -= taken;
        self.ends.held.fetch_sub(taken, Ordering::AcqRel);
        Poll::Ready(Ok(taken))
    }

    /// Reads all bytes that are left, for a reader that has no socket for them.
    ///
    /// # Errors
    ///
    /// Those of read(2).
    pub fn read(mut self) -> io::Result<Bytes> {
        let mut bytes = vec![0; self.length];
        let mut read = 0;
        while self.length > 0 {
            let taken = self.poll_take(|output, _| {
                Poll::Ready(
                    rustix::io::retry_on_intr(|| rustix::io::read(output, &mut bytes[read..])).map_err(Into::into),
                )
            });
            match taken {
                Poll::Ready(Ok(0)) | Poll::Pending => return Err(io::ErrorKind::UnexpectedEof.into()),
                Poll::Ready(taken) => read += taken?,
            }
        }
        Ok(bytes.into())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        sync::{Mutex, MutexGuard, PoisonError},
        vec::Vec,
    };

    use super::*;

    /// One test at a time, since one of them opens all pipes.
    fn turn() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(pipe: &Pipe, bytes: &[u8]) -> Option<PipedBytes> {
        let filled = pipe.poll_fill(|input| Poll::Ready(rustix::io::write(input, bytes).map_err(Into::into)))?;
        match filled {
            Poll::Ready(piece) => Some(piece.expect("written")),
            Poll::Pending => None,
        }
    }

    #[test]
    fn a_piece_is_read_whole_and_makes_room_for_the_next() {
        let _turn = turn();
        let pipe = Pipe::new().unwrap();
        for piece in [&b"first"[..], &[b'x'; 100_000], b"last"] {
            assert_eq!(write(&pipe, piece).unwrap().read().unwrap(), piece);
        }
    }

    #[test]
    fn a_piece_that_was_dropped_stays_in_the_way_of_others() {
        let _turn = turn();
        let pipe = Pipe::new().unwrap();
        let mut piece = write(&pipe, b"abcdef").unwrap();
        let taken = piece.poll_take(|output, left| {
            assert_eq!(left, 6);
            Poll::Ready(rustix::io::read(output, &mut [0; 2]).map_err(Into::into))
        });
        assert!(matches!(taken, Poll::Ready(Ok(2))));
        assert_eq!(piece.length(), 4);
        drop(piece);
        assert!(write(&pipe, b"ghi").is_none());
    }

    #[test]
    fn there_are_no_more_pipes_than_the_limit_allows() {
        let _turn = turn();
        let pipes: Vec<_> = core::iter::from_fn(|| Pipe::new().ok()).take(Pipe::MOST + 1).collect();
        assert_eq!(pipes.len(), Pipe::MOST);
        drop(pipes);
        assert!(Pipe::new().is_ok());
    }

    #[test]
    fn a_call_that_fails_or_waits_leaves_the_pipe_empty() {
        let _turn = turn();
        let pipe = Pipe::new().unwrap();
        assert!(matches!(pipe.poll_fill(|_| Poll::Pending), Some(Poll::Pending)));
        let failed = pipe.poll_fill(|_| Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())));
        assert!(matches!(failed, Some(Poll::Ready(Err(_)))));
        assert_eq!(write(&pipe, b"abc").unwrap().read().unwrap(), "abc");
    }
}
