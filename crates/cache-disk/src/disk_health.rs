//! Whether the disk can be written to.

use std::{
    io,
    path::PathBuf,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use rustix::io::Errno;
use serow_net::{WarningPace, monotonic};

/// Whether the disk can be written to. It warns when it cannot.
#[derive(Debug)]
pub(crate) struct DiskHealth {
    path: PathBuf,
    /// When files may be written again after an error, in milliseconds of the monotonic clock.
    paused_until: AtomicU64,
    /// Whether the disk has no room, although the files may take more.
    is_full: AtomicBool,
    warnings: WarningPace,
    /// Responses that were not written.
    dropped: AtomicU64,
}

impl DiskHealth {
    pub(crate) fn new(path: PathBuf) -> Self {
        let (paused_until, dropped) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { path, paused_until, is_full: AtomicBool::new(false), warnings: WarningPace::new(), dropped }
    }

    /// Whether the disk has not failed lately.
    pub(crate) fn is_writable(&self) -> bool {
        millis(monotonic()) >= self.paused_until.load(Ordering::Relaxed)
    }

    /// A response was not written.
    pub(crate) fn note_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// How many responses were not written.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// A response could not be written: nothing is for a while.
    pub(crate) fn fail(&self, error: &io::Error) {
        self.note_dropped();
        self.paused_until.store(millis(monotonic() + PAUSE), Ordering::Relaxed);
        let is_full = matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT));
        self.is_full.fetch_or(is_full, Ordering::Relaxed);
        self.warn("write to", error);
    }

    /// Whether room has to be made although the files may take more; it says so once.
    pub(crate) fn take_full(&self) -> bool {
        self.is_full.swap(false, Ordering::Relaxed)
    }

    /// There is room again.
    pub(crate) fn resume(&self) {
        self.paused_until.store(0, Ordering::Relaxed);
    }

    pub(crate) fn warn(&self, action: &str, error: &io::Error) {
        if !self.warnings.is_due() {
            return;
        }
        let path = self.path.display();
        let advice = match Errno::from_io_error(error) {
            Some(Errno::NOSPC | Errno::DQUOT) => "the disk is full: make room, or set a smaller dir-size",
            Some(Errno::ROFS) => "the file system is read-only",
            Some(Errno::ACCESS | Errno::PERM) => "the folder has to belong to the server's user",
            _ => "responses are kept in memory only meanwhile",
        };
        tracing::warn!("cache: cannot {action} {path}: {error}; {advice}");
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// After an error of the disk, as long as an administrator takes to notice.
const PAUSE: Duration = Duration::from_secs(10);
