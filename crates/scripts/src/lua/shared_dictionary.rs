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
    time::Duration,
};

use serow_gateway::LogLimit;
use serow_net::{SharedMemory, time};

pub(crate) use self::table::Entry;
use self::table::{Fault, Table};

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
    /// A line for the log, until it has it: scripts use the dictionary before there is a log.
    warning: Option<String>,
    warnings: LogLimit,
}

impl Dictionary {
    fn new(table: Table) -> Self {
        Self { inner: Mutex::new(Inner { table, is_stuck: false, warning: None, warnings: LogLimit::new() }) }
    }

    /// A dictionary of this process, where other processes should have it as well.
    fn own(reason: &str) -> Result<Self, String> {
        let dictionary = Self::new(own_table()?);
        let warning = format!("serow.shared is not kept across reloads: {reason}");
        dictionary.inner.lock().unwrap_or_else(PoisonError::into_inner).warning = Some(warning);
        Ok(dictionary)
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
                inner.warning = Some(format!("serow.shared was cleared: {}", fault.reason()));
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
        let began = time::now();
        for round in 0_u32.. {
            if self.table.memory().try_lock().map_err(|error| format!("serow.shared: {error}"))? {
                self.is_stuck = false;
                return Ok(());
            }
            if self.is_stuck || time::now().duration_since(began) > MAX_WAIT {
                break;
            }
            // Most operations take less than a microsecond.
            if round < BRIEF_ROUNDS { thread::yield_now() } else { thread::sleep(PAUSE) }
        }
        self.is_stuck = true;
        Err(format!(
            "serow.shared: another process of the server has held it for {} s; perhaps it is stopped",
            MAX_WAIT.as_secs()
        ))
    }

    /// Logs the warning.
    fn warn(&mut self) {
        if self.warning.is_none() || !tracing::enabled!(tracing::Level::WARN) {
            return;
        }
        let warning = self.warning.take().unwrap_or_default();
        match self.warnings.admit_now() {
            Some(suppressed) if suppressed.0 > 0 => tracing::warn!("{warning}; and {suppressed} more times before"),
            Some(_) => tracing::warn!("{warning}"),
            None => {}
        }
    }
}

impl Fault {
    /// Why a table is cleared.
    fn reason(self) -> &'static str {
        match self {
            Self::Interrupted => "a process ended while it changed it",
            _ => "its contents were invalid",
        }
    }

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
    let open = || match given().take() {
        Some(file) => open(file),
        None => own_table().map(Dictionary::new),
    };
    DICTIONARY.get_or_init(open).as_ref().map_err(Clone::clone)
}

/// The dictionary in this file; without one, or in one that cannot be used, a dictionary of this process.
fn open(file: Option<OwnedFd>) -> Result<Dictionary, String> {
    let Some(file) = file else {
        return Dictionary::own("the master has no memory for it; restart the server");
    };
    match SharedMemory::of_file(file).map(Table::new) {
        Ok(Some(table)) => Ok(Dictionary::new(table)),
        Ok(None) => Dictionary::own("its memory is that of another version of Serow; restart the server"),
        Err(error) => Dictionary::own(&error.to_string()),
    }
}

/// Has the scripts of this process share their dictionary with other processes, by a file of
/// [`serow_net::SharedMemory`] with [`DICTIONARY_BYTES`]; without a file, the log says that they do not. To be called before
/// a script is read.
pub fn share_dictionary(file: Option<OwnedFd>) {
    *given() = Some(file);
}

/// The argument of [`share_dictionary`], until the dictionary is opened; the outer `None` without a call.
fn given() -> MutexGuard<'static, Option<Option<OwnedFd>>> {
    static GIVEN: Mutex<Option<Option<OwnedFd>>> = Mutex::new(None);
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A table of this process.
fn own_table() -> Result<Table, String> {
    let memory = SharedMemory::anonymous(layout::MEMORY_BYTES);
    let memory = memory.map_err(|error| format!("serow.shared: the system has no memory: {error}"))?;
    Table::new(memory).ok_or_else(|| "serow.shared: the memory is too small".to_owned())
}

/// The length of the memory of a dictionary. It takes room as far as it is used.
pub const DICTIONARY_BYTES: usize = layout::MEMORY_BYTES;

/// A process that holds the dictionary longer does not run: the longest operation, which moves 170,000 entries, takes 15 ms,
/// and some times that where others compute as well.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Attempts before the first pause.
const BRIEF_ROUNDS: u32 = 50;

const PAUSE: Duration = Duration::from_micros(100);
