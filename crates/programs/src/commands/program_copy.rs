//! One copy of a program.

use std::{
    cell::RefCell,
    collections::VecDeque,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Command},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use serow_net::{inheritance, process::end_of};
use serow_processes::{Lifetime, MessageSender, Process, read_lines};
use serow_proxy::{CheckKind, CheckSettings, HttpCheck, Server, ServerSettings};
use tokio::{
    task::{AbortHandle, JoinHandle, spawn_local},
    time::{Instant, sleep, timeout},
};

use crate::commands::{
    application::CommandState,
    program_socket::{ProgramSocket, ProgramSockets, has_waiting},
};

/// One copy of a program. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct Copy {
    pub(crate) number: u64,
    /// Its index among the copies, from 1.
    pub(crate) place: usize,
    pub(crate) stage: CopyStage,
    pub(crate) born: Instant,
    /// Whether another copy will replace it.
    pub(crate) is_replaced: bool,
    /// After how many requests it is replaced.
    pub(crate) lifetime: Option<u64>,
    /// The settings of its server in the proxy.
    pub(crate) settings: ServerSettings,
    /// The proxy's entry for it, once it gets requests.
    pub(crate) server: Option<Arc<Server>>,
    child: Child,
    process: Option<Process>,
    waiting: AbortHandle,
    last_lines: Rc<RefCell<VecDeque<String>>>,
    /// Where it is reached.
    expected: ProgramSocket,
}

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyStage {
    /// It does not answer yet.
    Starting,
    /// It answers, but gets no requests yet.
    Ready,
    /// It gets requests.
    Serving,
    /// It finishes its requests, since then.
    Draining(Instant),
    /// It was asked to exit, since then.
    Ending(Instant),
}

/// Messages about a copy.
#[derive(Debug)]
pub(crate) enum CopyMessage {
    /// It answers.
    Ready(u64),
    /// It has exited.
    Ended(u64),
}

impl Copy {
    /// Starts one, with this number in this place of this generation.
    pub(crate) fn start(
        shared: &Arc<CommandState>,
        program_sockets: &ProgramSockets,
        number: u64,
        place: usize,
        generation: u64,
        messages: &MessageSender<CopyMessage>,
    ) -> io::Result<Self> {
        let settings = &shared.settings;
        let program_socket = program_sockets.open(number)?;
        let (reader, writer) = io::pipe()?;
        let mut command = command(shared, &program_socket)?;
        program_sockets.hand_over(&mut command, generation)?;
        command.stdout(writer.try_clone()?).stderr(writer);
        let child = command.spawn()?;
        // This closes our ends of the pipe.
        drop(command);
        let process = i32::try_from(child.id()).ok().and_then(Process::of);
        if let Some(process) = &process {
            process.limit_files(settings.run.open_files);
        }
        let last_lines = Rc::<RefCell<VecDeque<String>>>::default();
        let output = listen(shared, place, reader.into(), Rc::clone(&last_lines));
        let ended = process.as_ref().and_then(|process| process.as_fd().try_clone_to_owned().ok());
        spawn_local(watch(ended, pid(&child), output, number, messages.clone()));
        let max_requests = settings.concurrency.map(|most| {
            let copies =
                if matches!(program_socket, ProgramSocket::Inherited(_)) { settings.run.processes.get() } else { 1 };
            most.get().saturating_mul(u32::try_from(copies).unwrap_or(u32::MAX))
        });
        let server = ServerSettings { max_requests, ..ServerSettings::new(program_socket.address()) };
        let socket = program_sockets.shared_socket()?;
        let waiting = wait_for_answer(Arc::clone(shared), server.clone(), socket, number, messages.clone());
        Ok(Self {
            number,
            place,
            stage: CopyStage::Starting,
            born: Instant::now(),
            is_replaced: false,
            lifetime: settings.run.lifetime.map(Lifetime::random),
            settings: server,
            server: None,
            child,
            process,
            waiting: spawn_local(waiting).abort_handle(),
            last_lines,
            expected: program_socket,
        })
    }

    /// It answers.
    pub(crate) fn is_ready(&mut self) {
        self.stage = CopyStage::Ready;
        self.last_lines.borrow_mut().clear();
    }

    /// Its last lines of output, to be appended to an error; empty if there are none.
    pub(crate) fn last_lines(&self) -> String {
        let lines = self.last_lines.borrow();
        let lines: Vec<_> = lines.iter().map(|line| format!("\n  {line}")).collect();
        if lines.is_empty() { String::new() } else { format!("; its last lines of output:{}", lines.concat()) }
    }

    /// Where it should be reached, and how it knows.
    pub(crate) fn expected_socket(&self) -> String {
        self.expected.to_string()
    }

    /// Its resident memory in bytes.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.process.as_ref().and_then(Process::memory)
    }

    /// Its exit status, once it has exited.
    pub(crate) fn ending(&mut self) -> String {
        match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => "unknown".to_owned(),
        }
    }

    /// Asks it to exit, with all processes that it started, since many programs are started by another one.
    pub(crate) fn terminate(&mut self) {
        self.stage = CopyStage::Ending(Instant::now());
        self.signal(Signal::TERM);
    }

    /// Kills it.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Signals its process group. The id is valid until the process has been waited for.
    fn signal(&self, signal: Signal) {
        if let Some(pid) = pid(&self.child) {
            let _ = kill_process_group(pid, signal);
        }
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.waiting.abort();
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.kill();
            let _ = self.child.wait();
        }
    }
}

fn pid(child: &Child) -> Option<Pid> {
    Pid::from_raw(i32::try_from(child.id()).ok()?)
}

/// The command of a copy that is reached there.
fn command(shared: &CommandState, program_socket: &ProgramSocket) -> io::Result<Command> {
    let settings = &shared.settings;
    let arguments = settings.command.iter().map(|argument| program_socket.insert(argument));
    let mut words = settings.launcher.iter().cloned().chain(arguments);
    let mut command = Command::new(words.next().ok_or(io::ErrorKind::InvalidInput)?);
    inheritance::remove_variables(&mut command);
    command.args(words).current_dir(&settings.run.folder).envs(settings.run.environment.iter().cloned());
    program_socket.tell(&mut command);
    // Ctrl-C is for the server, which stops its copies itself.
    command.process_group(0);
    Ok(command)
}

/// Writes its lines to the log, and keeps the last ones.
fn listen(
    shared: &Arc<CommandState>,
    place: usize,
    pipe: OwnedFd,
    last_lines: Rc<RefCell<VecDeque<String>>>,
) -> JoinHandle<()> {
    let shared = Arc::clone(shared);
    read_lines(pipe, move |line| {
        let settings = &shared.settings;
        (settings.run.output.take)(&settings.run.name, place, line);
        let mut lines = last_lines.borrow_mut();
        if lines.len() == LAST_LINES {
            lines.pop_front();
        }
        lines.push_back(line.to_owned());
    })
}

/// Waits for its exit. Processes that it left behind are killed.
async fn watch(
    process: Option<OwnedFd>,
    pid: Option<Pid>,
    output: JoinHandle<()>,
    number: u64,
    messages: MessageSender<CopyMessage>,
) {
    if let Some(process) = process {
        // If waiting fails, it counts as exited and is killed.
        let _ = end_of(process).await;
    }
    if let Some(pid) = pid {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    // Its last lines explain why.
    let _ = timeout(LAST_WORDS, output).await;
    messages.send(CopyMessage::Ended(number));
}

/// Asks until it answers.
async fn wait_for_answer(
    shared: Arc<CommandState>,
    server: ServerSettings,
    socket: Option<OwnedFd>,
    number: u64,
    messages: MessageSender<CopyMessage>,
) {
    let kind = match &shared.settings.check_path {
        None => CheckKind::Tcp,
        Some(path) => CheckKind::Http(HttpCheck { path: path.clone(), ..HttpCheck::default() }),
    };
    let check = CheckSettings { timeout: CHECK_TIMEOUT, ..CheckSettings::new(kind) };
    while shared.upstream.check_once(&server, &check).await.is_err() {
        sleep(PAUSE).await;
    }
    // The kernel accepts connections to an inherited socket, whether the program does or not.
    while socket.as_ref().is_some_and(has_waiting) {
        sleep(PAUSE).await;
    }
    messages.send(CopyMessage::Ready(number));
}

/// How many lines are shown of a copy that exits before it is ready: usually a backtrace.
const LAST_LINES: usize = 20;

/// The time for its last output, which is in the pipe already.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Between two questions whether it answers.
const PAUSE: Duration = Duration::from_millis(30);

/// The time limit of one check. A copy that needs longer is checked again.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
