//! One php-fpm: its process, its lines, and its children.

use std::{
    cell::RefCell,
    collections::VecDeque,
    fs, io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::process::CommandExt,
    },
    path::Path,
    process::{Child, Command},
    rc::Rc,
    time::Duration,
};

use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use serow_net::{inheritance, process::end_of};
use serow_processes::{MessageSender, PrivateFolder, Process, read_lines};
use tokio::{
    task::{JoinHandle, spawn_local},
    time::timeout,
};

use crate::fpm::{
    configuration, executable::Executable, output_lines::OutputLines, pool_sockets::PoolSocket, settings::FpmSettings,
    warm_up,
};

/// A running php-fpm. Dropping it kills the process and its children.
#[derive(Debug)]
pub(crate) struct Master {
    child: Child,
    group: Option<Pid>,
    last_lines: Rc<RefCell<VecDeque<String>>>,
    /// The sockets and the configuration.
    folder: PrivateFolder,
}

/// Messages about a php-fpm.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FpmMessage {
    /// All of its children are ready, and its opcache is filled as far as it can be.
    Ready,
    /// The master with this number has exited.
    MasterEnded(u64),
}

impl Master {
    /// Starts one, and creates a socket for each of its children.
    pub(crate) fn start(
        settings: &FpmSettings,
        number: u64,
        messages: &MessageSender<FpmMessage>,
    ) -> io::Result<(Self, Vec<PoolSocket>)> {
        let folder = PrivateFolder::new("serow-php")?;
        let numbers = 1..=settings.run.processes.get();
        let sockets = numbers.map(|number| PoolSocket::new(&folder, number)).collect::<io::Result<Vec<_>>>()?;
        let paths: Vec<_> = sockets.iter().map(|socket| socket.path().to_owned()).collect();
        let file = folder.path().join("php-fpm.conf");
        fs::write(&file, configuration::text(&paths))?;
        warm_up::write_scripts(folder.path())?;
        let (reader, writer) = io::pipe()?;
        let executable = settings.executable().map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))?;
        let mut command = command(settings, &executable)?;
        let ini = configuration::ini(settings.development, &settings.ini);
        command.args(configuration::arguments(&file, geteuid().is_root(), &ini));
        let inherited = (inheritance::FIRST_DESCRIPTOR..).zip(&paths);
        let inherited: Vec<_> = inherited.map(|(number, path)| format!("{}={number}", path.display())).collect();
        command.env(INHERITED, inherited.join(","));
        inheritance::pass_sockets(&mut command, sockets.iter().map(AsFd::as_fd))?;
        command.stdout(writer.try_clone()?).stderr(writer);
        let child = command.spawn()?;
        // This closes our ends of the pipe.
        drop(command);
        let id = i32::try_from(child.id()).ok();
        let process = id.and_then(Process::of);
        if let Some(process) = &process {
            process.limit_files(settings.run.open_files);
        }
        let last_lines = Rc::<RefCell<VecDeque<String>>>::default();
        let output = listen(settings, reader.into(), Rc::clone(&last_lines));
        let ended = process.as_ref().and_then(|process| process.as_fd().try_clone_to_owned().ok());
        spawn_local(watch(ended, output, number, messages.clone()));
        let master = Self { child, group: id.and_then(Pid::from_raw), last_lines, folder };
        Ok((master, sockets))
    }

    /// The folder with its sockets and scripts of the server's own.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process of the child in the pool with this index.
    pub(crate) fn child(&self, index: usize) -> Option<Process> {
        let id = self.child.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
        let title = format!("php-fpm: pool {}", configuration::pool_name(index));
        let has_title = |id: &i32| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            // php-fpm writes it over its arguments, and fills the rest with spaces.
            String::from_utf8_lossy(&line).trim_end_matches([' ', '\0']) == title
        };
        let id = children.split_ascii_whitespace().filter_map(|id| id.parse().ok()).find(has_title)?;
        Process::of(id)
    }

    /// Its last lines of output, to be appended to an error; empty if there are none.
    pub(crate) fn last_lines(&self) -> String {
        let lines = self.last_lines.borrow();
        let lines: Vec<_> = lines.iter().map(|line| format!("\n  {line}")).collect();
        if lines.is_empty() { String::new() } else { format!("; its last lines of output:{}", lines.concat()) }
    }

    /// Whether it has not exited.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Its exit status, once it has exited.
    pub(crate) fn ending(&mut self) -> String {
        match self.child.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => "unknown".to_owned(),
        }
    }

    /// Stops it and its children, which have no requests any more.
    pub(crate) fn terminate(&self) {
        if let Some(id) = self.group {
            let _ = rustix::process::kill_process(id, Signal::TERM);
        }
    }

    /// Kills it and its children, which would live on without it. Its id is valid until it has been waited for; as the number
    /// of the group, as long as a child is left.
    pub(crate) fn kill(&self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Master {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

fn command(settings: &FpmSettings, executable: &Executable) -> io::Result<Command> {
    let mut words = settings.launcher.iter().cloned().chain([executable.path().into()]);
    let mut command = Command::new(words.next().ok_or(io::ErrorKind::InvalidInput)?);
    inheritance::remove_variables(&mut command);
    command.args(words).current_dir(&settings.run.folder).envs(settings.run.environment.iter().cloned());
    // Ctrl-C is for the server, which stops its children itself.
    command.process_group(0);
    Ok(command)
}

/// Writes its lines to the log, and keeps the last ones.
fn listen(settings: &FpmSettings, pipe: OwnedFd, last_lines: Rc<RefCell<VecDeque<String>>>) -> JoinHandle<()> {
    let (name, output) = (settings.run.name.clone(), settings.run.output);
    let mut lines = OutputLines::default();
    read_lines(pipe, move |line| {
        let Some(line) = lines.take(line) else { return };
        (output.take)(&name, 0, line);
        let mut last = last_lines.borrow_mut();
        if last.len() == LAST_LINES {
            last.pop_front();
        }
        last.push_back(line.to_owned());
    })
}

/// Waits for its exit.
async fn watch(process: Option<OwnedFd>, output: JoinHandle<()>, number: u64, messages: MessageSender<FpmMessage>) {
    if let Some(process) = process {
        // If waiting fails, it counts as exited and is killed.
        let _ = end_of(process).await;
    }
    // Its last lines explain why. Children that live on keep the pipe.
    let _ = timeout(LAST_WORDS, output).await;
    messages.send(FpmMessage::MasterEnded(number));
}

/// The variable in which php-fpm looks for sockets, as it passes them on at its own reload.
const INHERITED: &str = "FPM_SOCKETS";

/// How many lines are shown of a php-fpm that does not start.
const LAST_LINES: usize = 20;

/// The time for its last output, which is in the pipe already.
const LAST_WORDS: Duration = Duration::from_millis(200);
