//! The dictionary that scripts share: those of all threads, and with `serow run` those of all generations.

mod compaction;
mod layout;
mod table;
#[cfg(test)]
mod tests;

use std::{
    os::fd::OwnedFd,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::{Duration, Instant},
};

use serow_gateway::LogLimit;
use serow_net::SharedMemory;

pub(crate) use self::table::Entry;
use self::table::{Fault, Table, own_memory};

/// Values by name, in bounded memory, with lifetimes. Times are seconds since 1970, which are those of other processes.
#[derive(Debug)]
pub(crate) struct Dictionary {
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    table: Table,
    /// Whether another process held the lock for as long as this one waits: the next operations do not wait again.
    is_stuck: bool,
    /// The reason of the last clear, until the log has it: scripts use the dictionary before there is a log.
    cleared: Option<Fault>,
    warnings: LogLimit,
}

impl Dictionary {
    fn new(table: Table) -> Self {
        Self { inner: Mutex::new(Inner { table, is_stuck: false, cleared: None, warnings: LogLimit::new() }) }
    }

    /// The value of this name, unless its time is over.
    ///
    /// # Errors
    ///
    /// Another process holds the dictionary.
    pub(crate) fn get(&self, name: &[u8], now: f64) -> Result<Option<Entry>, String> {
        self.run(name, |table| table.get(name, now))
    }

    /// Sets a value, until this time.
    ///
    /// # Errors
    ///
    /// There is no room: nothing that is still alive is dropped for it. Another process holds the dictionary.
    pub(crate) fn set(&self, name: &[u8], entry: &Entry, expires: Option<f64>, now: f64) -> Result<(), String> {
        self.run(name, |table| table.set(name, entry, expires.unwrap_or(f64::INFINITY), now))
    }

    /// Adds to a number, which begins at 0, and then lives until this time; returns the sum.
    ///
    /// # Errors
    ///
    /// The entry is a text, or there is no room for a new one. Another process holds the dictionary.
    pub(crate) fn add(&self, name: &[u8], by: f64, expires: Option<f64>, now: f64) -> Result<f64, String> {
        self.run(name, |table| table.add(name, by, expires.unwrap_or(f64::INFINITY), now))
    }

    /// Removes a value.
    ///
    /// # Errors
    ///
    /// Another process holds the dictionary.
    pub(crate) fn remove(&self, name: &[u8]) -> Result<(), String> {
        self.run(name, |table| table.remove(name))
    }

    /// Does something with the table while no other thread or process does; clears a table that makes no sense.
    fn run<T>(&self, name: &[u8], action: impl Fn(&Table) -> Result<T, Fault>) -> Result<T, String> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.lock()?;
        let outcome = match action(&inner.table) {
            Err(fault @ (Fault::Interrupted | Fault::Invalid)) => {
                inner.cleared = Some(fault);
                inner.table.clear().and_then(|()| action(&inner.table))
            }
            outcome => outcome,
        };
        let unlocked = inner.table.memory().unlock();
        inner.warn();
        unlocked.map_err(|error| format!("serow.shared: {error}"))?;
        outcome.map_err(|fault| fault.message(name))
    }
}

impl Inner {
    /// Waits for other processes.
    fn lock(&mut self) -> Result<(), String> {
        let began = Instant::now();
        for round in 0_u32.. {
            if self.table.memory().try_lock().map_err(|error| format!("serow.shared: {error}"))? {
                self.is_stuck = false;
                return Ok(());
            }
            if self.is_stuck || began.elapsed() > MAX_WAIT {
                break;
            }
            // Most operations take less than a microsecond.
            if round < BRIEF_ROUNDS { thread::yield_now() } else { thread::sleep(PAUSE) }
        }
        self.is_stuck = true;
        Err(format!(
            "serow.shared: another process of the server has held it for {} ms; perhaps it is stopped",
            MAX_WAIT.as_millis()
        ))
    }

    /// Logs that the table was cleared.
    fn warn(&mut self) {
        let Some(fault) = self.cleared else { return };
        if !tracing::enabled!(tracing::Level::WARN) {
            return;
        }
        self.cleared = None;
        let Some(suppressed) = self.warnings.admit_now() else { return };
        let reason = match fault {
            Fault::Interrupted => "a process ended while it changed it",
            _ => "its contents were invalid",
        };
        tracing::warn!("serow.shared was cleared: {reason}");
        if suppressed.0 > 0 {
            tracing::warn!("serow.shared was cleared, and {suppressed} more times before");
        }
    }
}

impl Fault {
    fn message(self, name: &[u8]) -> String {
        match self {
            Self::Full => format!(
                "serow.shared is full: it has {} bytes; give entries a lifetime, so that they make room",
                layout::MAX_BYTES
            ),
            Self::IsText => {
                format!("serow.shared: {:?} is a text, to which nothing can be added", String::from_utf8_lossy(name))
            }
            Self::Interrupted | Self::Invalid => {
                "serow.shared: another process makes its contents invalid again and again".to_owned()
            }
        }
    }
}

/// The dictionary of the process.
///
/// # Errors
///
/// The system has no memory.
pub(crate) fn dictionary() -> Result<&'static Dictionary, String> {
    static DICTIONARY: OnceLock<Result<Dictionary, String>> = OnceLock::new();
    let opened = DICTIONARY.get_or_init(|| {
        let file = given().take();
        let shared = file.and_then(|file| {
            let memory = SharedMemory::of_file(file).inspect_err(|error| warn_of_own(&error.to_string())).ok()?;
            let table = Table::new(memory);
            if table.is_none() {
                warn_of_own("its memory is of another version of Serow; restart the server");
            }
            table
        });
        let table = match shared {
            Some(table) => table,
            None => Table::new(own_memory()?).ok_or("serow.shared: the memory is too small")?,
        };
        Ok(Dictionary::new(table))
    });
    opened.as_ref().map_err(Clone::clone)
}

/// Has the scripts of this process share their dictionary with other processes, by a file of
/// [`serow_net::SharedMemory`] with [`DICTIONARY_BYTES`]. To be called before a script is read.
pub fn share_dictionary(file: OwnedFd) {
    *given() = Some(file);
}

fn given() -> MutexGuard<'static, Option<OwnedFd>> {
    static GIVEN: Mutex<Option<OwnedFd>> = Mutex::new(None);
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn warn_of_own(reason: &str) {
    tracing::warn!("serow.shared is not kept across reloads: {reason}");
}

/// The length of the memory of a dictionary. It takes room as far as it is used.
pub const DICTIONARY_BYTES: usize = layout::MEMORY_BYTES;

/// A process that holds the dictionary longer does not run: the longest operation moves all entries, which takes a
/// hundredth of a second.
const MAX_WAIT: Duration = Duration::from_millis(250);

/// Attempts before the first pause.
const BRIEF_ROUNDS: u32 = 50;

const PAUSE: Duration = Duration::from_micros(100);
