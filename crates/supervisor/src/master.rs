//! Keeps Serow itself running: a small process, the master, holds the sockets; worker *generations*, each a process
//! with a complete server, serve on them.
//!
//! | step | file |
//! | --- | --- |
//! | the master starts a generation, with the text of the settings and an end of a channel | `child.rs` |
//! | the messages between both | `messages.rs`, `reports.rs` |
//! | the generation reads its settings, requests sockets, reports that it is ready, executes commands | `parent.rs`, `command_answer.rs` |
//! | what a generation leaves for later ones | `shared_state.rs` |
//! | sockets are opened, kept and closed | `held.rs` |
//! | a state machine without I/O decides what to do | `server_generations.rs`, `crashes.rs`, `event.rs`, `action.rs` |
//! | the driver waits for events, and executes the machine's actions | `driver.rs` |
//! | a reload: the serving generation adopts the settings, or another one starts | `server_generations/adoption.rs`, `driver/adoption.rs`, `program_file.rs` |
//! | a change of the settings beside the file, such as an added file | `driver/changes.rs` |
//! | the serving generation asks for such a change, or for a command | `change_requests.rs` |
//! | requests from outside: reload, status, stop, and commands to the serving generation | `control.rs`, `gathering.rs`, `overrides.rs` |
//!
//! The master does not parse settings: a new version of the program may have new ones, and reports the errors of a file
//! itself. The master keeps the text with which the last generation served, so that the replacement of a crashed
//! generation does not depend on later changes of the file.

mod action;
mod change_requests;
mod child;
mod command_answer;
mod control;
mod crashes;
mod driver;
mod ending;
mod event;
mod gathering;
mod held;
mod messages;
mod overrides;
mod parent;
mod program_file;
mod quic_sockets;
mod reports;
mod server_generations;
mod shared_state;

use std::{fmt, io, path::PathBuf, process::Command};

use serde_json::Value;
use tokio::runtime::{Builder, LocalOptions};

use self::driver::Driver;
pub use self::{
    change_requests::ChangeRequests,
    command_answer::CommandAnswer,
    control::{
        ChangeError, Changed, Control, Events, GenerationReport, ProcessOfReload, Reloaded, Report, WantedProcess,
    },
    messages::{AdminPlace, AdoptionCause, WantedListener},
    parent::{Adoption, FinalReport, GenerationSetup, GenerationTerms, Orders, Parent, StopReason, Wait},
    shared_state::SharedState,
};
use crate::{SupervisorError, pid_file::PidFile, signals::Signals};

/// The settings of a master.
#[derive(Clone, Debug)]
pub struct MasterSettings {
    /// The pid file, if any.
    pub pid_file: Option<PathBuf>,
    /// The bytes of memory that generations share, see [`GenerationSetup::memory`]; 0 for none.
    pub shared_memory: usize,
}

/// The part of a master that depends on the program.
pub trait Duties {
    /// The current text of the settings file, which the master does not interpret. This must not block, since it blocks
    /// the master.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    fn settings(&mut self) -> Result<Vec<u8>, String>;

    /// Has [`Self::settings`] include a change of the settings, with those that were proposed before, until they are kept or
    /// withdrawn.
    ///
    /// # Errors
    ///
    /// Why it cannot be made, as the caller of [`Control::change`] understands it.
    fn propose(&mut self, change: &Value) -> Result<(), Value>;

    /// Keeps the proposed changes, which are in effect, for later starts; returns an answer for the caller of each, or why it
    /// cannot be kept, and is withdrawn, in the order in which they were proposed.
    fn keep(&mut self) -> Vec<Result<Value, String>>;

    /// Forgets the proposed changes.
    fn withdraw(&mut self);

    /// The command of a generation; the master sets its standard input.
    fn command(&mut self) -> Command;

    /// Opens the admin socket in this place, and closes the one before. Over TCP, commands that change something need the
    /// token. Called when a generation is ready, and when one has adopted settings: then the place and the token are the
    /// same, but the file of a socket may have been removed.
    ///
    /// # Errors
    ///
    /// Why the admin socket cannot be opened; a new generation does not serve then.
    fn open_admin_socket(&mut self, place: &AdminPlace, token: Option<&str>, control: &Control) -> Result<(), String>;

    /// Prints the announcement of the first generation when it serves.
    fn announce(&self, announcement: &str);

    /// Adds an executed command that persists to the remembered overrides, and removes those that it supersedes.
    fn remember(&self, remembered: &mut Vec<Value>, command: &Value);

    /// Adds the last report of an ended generation to the total of the earlier ones, which is null at first.
    fn add(&self, total: &mut Value, report: &Value);
}

/// The error of a master.
#[derive(Debug)]
pub enum MasterError {
    /// The first generation did not start, for this reason.
    NotStarted(String),
    /// The pid file cannot be written.
    PidFile(SupervisorError),
    /// The system refused a resource that the master needs.
    System(io::Error),
}

/// Runs a master until TERM, INT or QUIT, or [`Control::stop`], and until its generations have ended. HUP is a reload;
/// USR1 is passed on.
///
/// # Errors
///
/// If the first generation does not start. Once one has served, the master keeps running.
pub fn run(settings: &MasterSettings, duties: impl Duties) -> Result<(), MasterError> {
    // The parent may have blocked them, and the master depends on them.
    serow_net::process::unblock_signals()?;
    let runtime = Builder::new_current_thread().enable_all().build_local(LocalOptions::default())?;
    let signals = {
        let _context = runtime.enter();
        Signals::with_reopen()?
    };
    let pid_file = settings.pid_file.as_deref().map(PidFile::create).transpose().map_err(MasterError::PidFile)?;
    let outcome = runtime.block_on(Driver::new(duties, signals, settings.shared_memory).run());
    drop(pid_file);
    outcome
}

impl fmt::Display for MasterError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(reason) => formatter.write_str(reason),
            Self::PidFile(error) => error.fmt(formatter),
            Self::System(error) => write!(formatter, "the system refused a resource that the master needs: {error}"),
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
