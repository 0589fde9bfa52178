//! The thread that executes the commands of a fleet: those that are given to this server, and those of the others.
//!
//! Of all processes of a server, the one that serves has the journal: it holds the lock on its folder until it is replaced.

mod journal_folder;
mod own_report;

use std::{
    future::Future,
    io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use serde_json::Value;
use serow::Status;
use serow_admin::{FleetCommand, FleetOutcome, FleetRequest, Precondition};
use serow_fleet::{
    EntryState, Fleet, HeldEntry, JournalCounts, JournalEntry, JournalFile, JournalFunctions, SharedJournal,
};
use serow_net::time;
use serow_supervisor::master::{ChangeRequests, CommandAnswer};

pub(super) use self::journal_folder::JournalFolder;
use self::own_report::own_report;
use super::requested_change::{self, ChangeFailure};

/// The text that this server tells the others about itself.
type Report = Box<dyn Fn(&JournalCounts) -> String + Send + Sync>;

/// A handle to the thread that executes the commands of a fleet.
#[derive(Clone)]
pub(super) struct FleetCommands {
    fleet: Arc<Fleet>,
    tasks: Arc<Mutex<Option<Sender<Task>>>>,
}

/// The thread before the process serves.
pub(super) struct PreparedCommands {
    commands: FleetCommands,
    tasks: Receiver<Task>,
    folder: JournalFolder,
    report: Report,
}

/// The thread while the process serves.
pub(super) struct RunningCommands {
    handle: FleetCommands,
    thread: JoinHandle<()>,
}

/// A task of the thread.
enum Task {
    /// Execute this command, and give it to the others.
    Give(Box<FleetRequest>, SyncSender<Result<String, String>>),
    /// There may be commands of others.
    Look,
    /// Try those again that were refused: the settings are others.
    Retry,
}

impl PreparedCommands {
    /// The commands of a fleet to a server with this status, or why there are none.
    pub(super) fn of(
        fleet: Option<&Arc<Fleet>>,
        folder: Option<JournalFolder>,
        status: Status,
    ) -> Result<Self, &'static str> {
        let fleet = Arc::clone(fleet.ok_or(WITHOUT_FLEET)?);
        let folder = folder.ok_or(WITHOUT_FOLDER)?;
        let (sender, tasks) = mpsc::channel();
        let report = own_report(fleet.name(), status);
        let commands = FleetCommands { fleet, tasks: Arc::new(Mutex::new(Some(sender))) };
        Ok(Self { commands, tasks, folder, report })
    }

    /// A handle to the thread.
    pub(super) fn handle(&self) -> FleetCommands {
        self.commands.clone()
    }

    /// Begins to execute commands, once no other process has the journal. This process serves, so that the master executes them
    /// for it.
    ///
    /// # Errors
    ///
    /// The system refuses a thread.
    pub(super) fn start(self, requests: ChangeRequests) -> io::Result<RunningCommands> {
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let Self { commands, tasks, folder, report } = self;
        let handle = commands.clone();
        let work = move || match Executor::begin(commands, &folder, requests, runtime, report) {
            Ok(mut executor) => executor.run(&tasks),
            Err(error) => {
                tracing::error!("commands to the fleet are not executed on this server: {error}");
                tasks.iter().for_each(|task| task.refuse(&error));
            }
        };
        let thread = thread::Builder::new().name("serow-journal".to_owned()).spawn(work)?;
        Ok(RunningCommands { handle, thread })
    }
}

impl RunningCommands {
    /// Leaves the journal to another process, and waits until the command that is being executed is entered.
    pub(super) fn end(self) {
        self.handle.stop();
        // It has nothing to tell.
        let _ = self.thread.join();
    }
}

impl FleetCommands {
    /// Executes a command, and gives it to the others.
    pub(super) fn give(&self, request: FleetRequest) -> CommandAnswer {
        let (answer, answered) = sync_channel(1);
        self.send(Task::Give(Box::new(request), answer));
        CommandAnswer::Later(Box::new(move || answered.recv().unwrap_or_else(|_| Err(REPLACED.to_owned()))))
    }

    /// The settings are others: commands that were refused may be possible.
    pub(super) fn retry(&self) {
        self.send(Task::Retry);
    }

    /// Leaves the journal to another process, after the command that is being executed.
    pub(super) fn stop(&self) {
        self.fleet.detach();
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    fn send(&self, task: Task) {
        if let Some(tasks) = &*self.tasks.lock().unwrap_or_else(PoisonError::into_inner) {
            // Without the thread, the answer is dropped, which the other end notices.
            let _ = tasks.send(task);
        }
    }

    fn is_stopped(&self) -> bool {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

impl Task {
    fn refuse(self, reason: &str) {
        if let Self::Give(_, answer) = self {
            let _ = answer.send(Err(reason.to_owned()));
        }
    }
}

/// Executes commands one after the other.
struct Executor {
    handle: FleetCommands,
    journal: Arc<SharedJournal>,
    file: JournalFile,
    requests: ChangeRequests,
    runtime: tokio::runtime::Runtime,
    /// Whether refused commands are to be tried again, and when they were last.
    is_to_retry: bool,
    retried: Duration,
    /// Locked until the end.
    _folder: journal_folder::LockedFolder,
}

impl Executor {
    fn begin(
        handle: FleetCommands,
        folder: &JournalFolder,
        requests: ChangeRequests,
        runtime: tokio::runtime::Runtime,
        report: Report,
    ) -> Result<Self, String> {
        let locked = folder.lock().map_err(|error| error.to_string())?;
        let (file, journal) = JournalFile::open(folder.path()).map_err(|error| error.to_string())?;
        let news = handle.clone();
        let functions = JournalFunctions { clock, notify: Box::new(move || news.send(Task::Look)), report };
        let journal = Arc::new(SharedJournal::new(journal, functions));
        let mut this = Self {
            handle,
            journal,
            file,
            requests,
            runtime,
            is_to_retry: false,
            retried: Duration::ZERO,
            _folder: locked,
        };
        if folder.is_of_another_master() {
            this.remind_master();
            folder.note_master().map_err(|error| error.to_string())?;
        }
        // Not before: commands of others come after those of the file.
        if !this.handle.is_stopped() {
            this.handle.fleet.attach(Arc::clone(&this.journal));
        }
        Ok(this)
    }

    /// Has a new master remember what this process has already: for the processes that come after it.
    fn remind_master(&mut self) {
        let entries: Vec<_> = self.journal.lock().entries().into_iter().cloned().collect();
        for HeldEntry { entry, .. } in entries.into_iter().filter(|held| held.state == EntryState::Applied) {
            if let Ok(command) = serde_json::from_str::<FleetCommand>(&entry.command)
                && command.ends_with_master()
                && let Err(reason) = self.execute(&command)
            {
                tracing::warn!("a command to the fleet ({command}) is not in effect after the start: {reason}");
            }
        }
    }

    fn run(&mut self, tasks: &Receiver<Task>) {
        loop {
            self.execute_waiting();
            let task = match tasks.recv_timeout(LOOK_INTERVAL) {
                Ok(task) => task,
                Err(RecvTimeoutError::Timeout) => Task::Look,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            match task {
                Task::Give(request, answer) => {
                    // The client may have gone.
                    let _ = answer.send(self.give(*request));
                }
                Task::Look => {}
                Task::Retry => self.is_to_retry = true,
            }
        }
    }

    /// Executes what other servers have been given.
    fn execute_waiting(&mut self) {
        if self.is_to_retry && serow_net::monotonic().saturating_sub(self.retried) > RETRY_INTERVAL {
            (self.is_to_retry, self.retried) = (false, serow_net::monotonic());
            self.journal.lock().retry_refused();
        }
        self.journal.lock().remove_expired(clock());
        while !self.handle.is_stopped() {
            // Not in the condition, where it would stay locked.
            let next = self.journal.lock().next_waiting();
            let Some(entry) = next else { return };
            let state = self.execute_entry(&entry);
            if self.handle.is_stopped() && matches!(state, EntryState::Refused(_)) {
                // Maybe only since this process ends.
                return;
            }
            let held = HeldEntry { entry, state };
            let mut journal = self.journal.lock();
            if journal.note_outcome(&held.entry, held.state.clone())
                && let Err(error) = self.file.append(&journal, &held)
            {
                tracing::error!("a command to the fleet is executed again after the next start: {error}");
            }
        }
    }

    fn execute_entry(&self, entry: &JournalEntry) -> EntryState {
        let server = entry.stamp.server;
        let command = match serde_json::from_str::<FleetCommand>(&entry.command) {
            Ok(command) => command,
            // Of a newer version.
            Err(error) => return EntryState::Refused(format!("this version does not know the command: {error}")),
        };
        match self.execute(&command) {
            Ok(_) => {
                tracing::warn!("fleet: {command}, given to server {server}");
                EntryState::Applied
            }
            Err(reason) => {
                let line = reason.lines().next().unwrap_or_default();
                tracing::error!("fleet: {command}, given to server {server}: refused on this server: {line}");
                EntryState::Refused(line.to_owned())
            }
        }
    }

    /// Executes a command that came from another server, or again.
    fn execute(&self, command: &FleetCommand) -> Result<String, String> {
        if let Some((value, persists)) = command.for_master(time::seconds_since_1970()) {
            return self.wait(self.requests.command(value, persists));
        }
        let Some(change) = command.change(Precondition::None) else { return Ok("it is over".to_owned()) };
        match self.wait(requested_change::request(&self.requests, change)) {
            Ok(()) => Ok("the settings are changed".to_owned()),
            Err(ChangeFailure::Unknown) => Ok("there was no such file".to_owned()),
            Err(ChangeFailure::Refused(reason) | ChangeFailure::Unavailable(reason)) => Err(reason),
        }
    }

    /// Executes a command that is given to this server, and enters it for the others; returns the outcome in JSON.
    fn give(&mut self, FleetRequest { fleet: command, precondition }: FleetRequest) -> Result<String, String> {
        let text = serde_json::to_string(&command).map_err(|error| error.to_string())?;
        let subject = command.subject();
        self.journal.lock().check(&subject, &text).map_err(|error| error.to_string())?;
        let outcome = match command.change(precondition) {
            Some(change) => {
                let change = serde_json::to_value(change).map_err(|error| error.to_string())?;
                match self.wait(self.requests.change(&change)) {
                    Ok(changed) => {
                        let fleet = self.enter(&command, &subject, text)?;
                        FleetOutcome::Changed { changed, fleet }
                    }
                    Err(error) => FleetOutcome::NotChanged(error),
                }
            }
            None => {
                let done = self.execute(&command)?;
                FleetOutcome::Done { done, fleet: self.enter(&command, &subject, text)? }
            }
        };
        serde_json::to_string(&outcome).map_err(|error| error.to_string())
    }

    /// Enters a command that was executed here; returns the line about the others.
    fn enter(&mut self, command: &FleetCommand, subject: &str, text: String) -> Result<String, String> {
        let not_entered = |reason: String| format!("it is in effect on this server only: {reason}");
        let mut journal = self.journal.lock();
        let entry = journal
            .prepare(subject, text, command.life(time::seconds_since_1970()), clock())
            .map_err(|error| not_entered(error.to_string()))?;
        let held = HeldEntry { entry, state: EntryState::Applied };
        // On the disk before any other server has it.
        self.file.append(&journal, &held).map_err(|error| not_entered(error.to_string()))?;
        journal.add_given(held.entry);
        Ok(match self.handle.fleet.contacts() {
            Some(1) => "fleet: no other server is in contact: the others follow when they are".to_owned(),
            Some(servers) => {
                format!("fleet: {servers} servers are in contact, with this one; others follow when they are")
            }
            None => "fleet: Redis is not in contact: the other servers follow when it is".to_owned(),
        })
    }

    fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }
}

/// The commands of the journal that a server which starts has to execute before it serves.
pub(super) fn overrides(folder: &JournalFolder) -> Vec<Value> {
    // If it cannot be read, the thread says so.
    let Ok(Some(journal)) = folder.read() else { return Vec::new() };
    let entries = journal.entries().into_iter().filter(|held| held.state == EntryState::Applied);
    let commands = entries.filter_map(|held| serde_json::from_str::<FleetCommand>(&held.entry.command).ok());
    let lasting = commands.filter(FleetCommand::ends_with_master);
    lasting.filter_map(|command| command.for_master(time::seconds_since_1970())).map(|(value, _)| value).collect()
}

/// In microseconds since 1970.
fn clock() -> u64 {
    let since = time::wall().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

const WITHOUT_FLEET: &str = "this server has no fleet: write [redis] with the same url into the settings file of each server, \
                             or leave --fleet out";

const WITHOUT_FOLDER: &str = "commands to the fleet have to be kept: set STATE_DIRECTORY, XDG_STATE_HOME or HOME to a folder \
                              that only the user of the server may write to, and restart it";

const REPLACED: &str = "another process of this server begins to serve: try again";

/// How often expired commands are looked for.
const LOOK_INTERVAL: Duration = Duration::from_secs(30);

/// Between two tries of refused commands: each is a reload that fails.
const RETRY_INTERVAL: Duration = Duration::from_secs(60);
