//! Keeps Serow itself running, by a protocol of its own: a tiny process, the master, holds the sockets; *generations*, each a
//! process with a whole server, serve on them.
//!
//! | step | file |
//! | --- | --- |
//! | the master starts a generation, with the text of the settings and an end of a channel | `child.rs` |
//! | what both say to each other | `messages.rs`, `reports.rs` |
//! | the generation reads its settings, asks for sockets, gets them, says that it is ready, obeys | `generation.rs` |
//! | sockets are opened, kept and closed | `held.rs` |
//! | what to do when: a state machine without I/O | `generations.rs`, `crashes.rs`, `event.rs`, `action.rs` |
//! | events are waited for, and done is what the machine says | `driver.rs` |
//! | others ask for a reload, for the state, for the end, or command something of the generation that serves | `control.rs`, `gathering.rs`, `overrides.rs` |
//!
//! The master reads no settings: a new program may have new words, and knows best what is wrong with a file. What a generation
//! served with is kept, so that one that takes the place of a crashed one does not depend on what the file has become.

mod action;
mod child;
mod control;
mod crashes;
mod driver;
mod ending;
mod event;
mod gathering;
mod generation;
mod generations;
mod held;
mod messages;
mod overrides;
mod reports;

use std::{fmt, io, path::PathBuf, process::Command};

use serde_json::Value;
use tokio::runtime::{Builder, LocalOptions};

use self::driver::Driver;
pub use self::{
    control::{Control, Events, GenerationReport, Report},
    generation::{FinalReport, GenerationSetup, Orders, Parent, StopReason, Terms},
    messages::WantedListener,
};
use crate::{SupervisorError, pid_file::PidFile, signals::Signals};

/// What a master needs to know.
#[derive(Clone, Debug)]
pub struct MasterSettings {
    /// A file for the process id.
    pub pid_file: Option<PathBuf>,
}

/// What a master does that depends on the program it is part of.
pub trait Duties {
    /// The text of the settings as it is now, of which the master understands nothing. It must not wait: the master does
    /// nothing else meanwhile.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn settings(&mut self) -> Result<Vec<u8>, String>;

    /// The command of a generation; its standard input is the master's to give.
    fn command(&mut self) -> Command;

    /// Opens the admin socket at this address; without an address, closes it. Over TCP, commands that change something
    /// need the token. Called when a generation is ready.
    ///
    /// # Errors
    ///
    /// Why it does not open; the generation does not serve then.
    fn open_admin_socket(
        &mut self,
        address: Option<&str>,
        token: Option<&str>,
        control: &Control,
    ) -> Result<(), String>;

    /// Says what the first generation has it say when it serves.
    fn announce(&self, announcement: &str);

    /// Adds a command that was fulfilled and is to persist to those that are remembered, in the place of those that it makes void.
    fn remember(&self, remembered: &mut Vec<Value>, command: &Value);

    /// Adds what a generation that has ended reported of itself to what others before it did; to null, in the beginning.
    fn add(&self, total: &mut Value, report: &Value);
}

/// Why a master ended.
#[derive(Debug)]
pub enum MasterError {
    /// The first generation did not start, for this reason.
    NotStarted(String),
    /// The file for the process id.
    PidFile(SupervisorError),
    /// The system refuses what a master needs.
    System(io::Error),
}

/// Runs a master until TERM, INT or QUIT, or [`Control::stop`], and until its generations have ended. HUP is a reload, USR1 is
/// passed on.
///
/// # Errors
///
/// When the first generation does not start. Once one serves, the master goes on.
pub fn run(settings: &MasterSettings, duties: impl Duties) -> Result<(), MasterError> {
    // Whoever started this may have blocked them, and the master lives by them.
    serow_net::process::unblock_signals()?;
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    let signals = {
        let _context = runtime.enter();
        Signals::with_reopen()?
    };
    let pid_file = settings.pid_file.as_deref().map(PidFile::create).transpose().map_err(MasterError::PidFile)?;
    let outcome = runtime.block_on(Driver::new(duties, signals).run());
    drop(pid_file);
    outcome
}

impl fmt::Display for MasterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(reason) => formatter.write_str(reason),
            Self::PidFile(error) => error.fmt(formatter),
            Self::System(error) => write!(formatter, "the system refuses what a master needs: {error}"),
        }
    }
}

impl std::error::Error for MasterError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::PidFile(error) => error.source(),
            Self::System(error) => Some(error),
            Self::NotStarted(_) => None,
        }
    }
}

impl From<io::Error> for MasterError {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
