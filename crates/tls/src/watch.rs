//! Files whose content is read again when it changes.

use std::{
    path::PathBuf,
    sync::{
        Mutex, PoisonError, TryLockError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{TlsSettingsError, file::FileVersion, time};

/// The versions of the files that a value was read from.
#[derive(Debug)]
pub(crate) struct FileWatch {
    paths: Vec<PathBuf>,
    versions: Vec<Option<FileVersion>>,
    /// Changed so recently that another change might leave the same times.
    fresh: bool,
    broken: Option<UnusableChange>,
}

/// The value that was read, after the versions of the files before the read, in the order of their paths.
pub(crate) type Read<T> = Result<(Vec<FileVersion>, T), TlsSettingsError>;

/// A change of the files that cannot be used.
#[derive(Debug)]
struct UnusableChange {
    versions: Vec<Option<FileVersion>>,
    reported: bool,
}

/// A state that is checked at most once a second, by one thread at a time.
#[derive(Debug)]
pub(crate) struct Checks<State> {
    begun: Instant,
    /// When the next check is due, in milliseconds since then: nearly all handshakes only read that, where taking the
    /// lock would change a cache line that all threads share.
    due: AtomicU64,
    state: Mutex<State>,
}

impl FileWatch {
    /// Has `read` read the files at these paths for the first time.
    pub(crate) fn new<T>(paths: Vec<PathBuf>, read: impl FnOnce() -> Read<T>) -> Result<(Self, T), TlsSettingsError> {
        let (versions, value) = read()?;
        let mut this = Self { paths, versions: Vec::new(), fresh: false, broken: None };
        this.note_read(versions);
        Ok((this, value))
    }

    /// Has `read` read the files again if they have changed. If that fails, the error log says so once, and names what
    /// stays in use.
    pub(crate) fn renew<T>(&mut self, stays: &str, read: impl FnOnce() -> Read<T>) -> Option<T> {
        let now: Vec<_> = self.paths.iter().map(|path| FileVersion::of(path)).collect();
        if now == self.versions && !self.fresh {
            self.broken = None;
            return None;
        }
        match read() {
            Ok((versions, value)) => {
                self.note_read(versions);
                Some(value)
            }
            Err(error) => {
                self.note_unusable(now, &error, stays);
                None
            }
        }
    }

    fn note_read(&mut self, versions: Vec<FileVersion>) {
        let now = time::wall();
        self.fresh = versions.iter().any(|version| version.is_fresh(now));
        self.versions = versions.into_iter().map(Some).collect();
        self.broken = None;
    }

    /// A certificate is often written a moment before its key. If the second check finds the same versions, it is a
    /// mistake, and logged once.
    fn note_unusable(&mut self, versions: Vec<Option<FileVersion>>, error: &TlsSettingsError, stays: &str) {
        match &mut self.broken {
            Some(broken) if broken.versions == versions => {
                if !broken.reported {
                    broken.reported = true;
                    tracing::warn!("{error}; {stays}");
                }
            }
            _ => self.broken = Some(UnusableChange { versions, reported: false }),
        }
    }
}

impl<State> Checks<State> {
    /// A state that has just been read.
    pub(crate) fn new(state: State) -> Self {
        let due = AtomicU64::new(CHECK_INTERVAL.as_millis() as u64);
        Self { begun: time::now(), due, state: Mutex::new(state) }
    }

    /// Runs the check, unless that was done within the last second, or another thread runs it.
    pub(crate) fn run_if_due(&self, now: Instant, check: impl FnOnce(&mut State)) {
        if !self.is_due(now) {
            return;
        }
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::WouldBlock) => return,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        // Another thread may have run it in between.
        if self.is_due(now) {
            self.note_run(now);
            check(&mut state);
        }
    }

    /// Runs the check now.
    pub(crate) fn run_now(&self, check: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.note_run(time::now());
        check(&mut state);
    }

    fn is_due(&self, now: Instant) -> bool {
        self.since_begun(now) >= self.due.load(Ordering::Relaxed)
    }

    fn note_run(&self, now: Instant) {
        self.due.store(self.since_begun(now) + CHECK_INTERVAL.as_millis() as u64, Ordering::Relaxed);
    }

    fn since_begun(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.begun).as_millis() as u64
    }
}

/// A check costs some microseconds for each file.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
