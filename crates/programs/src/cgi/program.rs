//! A running program.

use std::{
    ffi::OsStr,
    fs::File,
    future::poll_fn,
    io::{self, Seek, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
    pin::pin,
    process::{Child, Command, Stdio},
    task::Poll,
    time::Duration,
};

use rustix::fs::{MemfdFlags, memfd_create};
use serow_fastcgi::Variables;
use serow_gateway::BufferedContent;
use serow_net::process::end_of;
use serow_processes::{Process, read_lines};
use tokio::{
    sync::oneshot,
    task::{JoinHandle, spawn_local},
    time::{sleep, timeout},
};

use crate::cgi::{
    handler::{Asked, Permit},
    program_search::folder_of,
    settings::CgiSettings,
    starting::{kill_group, start},
};

/// The right to a program's further run. Dropped, the program is killed.
#[derive(Debug)]
pub(crate) struct Lifeline(oneshot::Sender<()>);

impl Lifeline {
    /// The response is whole: the program may still finish its work, for a time.
    pub(crate) fn release(self) {
        let _ = self.0.send(());
    }
}

/// Runs the program at a path. Returns its output, and the right to its run.
pub(crate) async fn run(
    program: &Path,
    variables: &Variables,
    body: BufferedContent,
    settings: &CgiSettings,
    asked: &Asked,
    permit: Permit,
) -> io::Result<(OwnedFd, Lifeline)> {
    let (output, output_writer) = io::pipe()?;
    let (errors, errors_writer) = io::pipe()?;
    let mut command = command(program, variables, settings);
    command.stdin(standard_input(body)?).stdout(output_writer).stderr(errors_writer);
    let child = start(command).await?;
    let process = i32::try_from(child.id()).ok().and_then(Process::of);
    let mut running = Running { child, is_reaped: false, errors: log_errors(errors.into(), asked), _permit: permit };
    let process = process.ok_or_else(|| io::Error::other("the process cannot be watched"))?;
    process.limit_files(settings.open_files);
    let (lifeline, released) = oneshot::channel();
    let (limit, asked) = (settings.timeout, asked.clone());
    spawn_local(async move {
        running.watch(&process, released, limit, &asked).await;
    });
    Ok((output.into(), Lifeline(lifeline)))
}

/// A program that has not been reaped. Dropping it kills the process, without waiting for it.
struct Running {
    child: Child,
    is_reaped: bool,
    errors: JoinHandle<()>,
    _permit: Permit,
}

impl Running {
    /// Waits until it ends, or has to. Processes that it leaves behind in its group are killed in either case.
    async fn watch(&mut self, process: &Process, released: oneshot::Receiver<()>, limit: Duration, asked: &Asked) {
        {
            let mut ended = pin!(end_of_process(process));
            let mut has_to_end = pin!(async {
                if released.await.is_ok() {
                    sleep(limit).await;
                    asked.warn(format_args!("the program still runs {limit:?} after its response; killed"));
                }
            });
            poll_fn(|context| match ended.as_mut().poll(context) {
                Poll::Ready(()) => Poll::Ready(()),
                Poll::Pending => has_to_end.as_mut().poll(context),
            })
            .await;
        }
        // Its number is that of the group, and nobody else's until it has been reaped.
        kill_group(&self.child);
        end_of_process(process).await;
        // It returns at once.
        self.is_reaped = self.child.wait().is_ok();
        // Another process may have inherited the pipe.
        let _ = timeout(LAST_WORDS, &mut self.errors).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.errors.abort();
        if !self.is_reaped {
            kill_group(&self.child);
            let _ = self.child.try_wait();
        }
    }
}

async fn end_of_process(process: &Process) {
    if let Ok(descriptor) = process.as_fd().try_clone_to_owned() {
        // Without a descriptor that can be waited for, it is killed.
        let _ = end_of(descriptor).await;
    }
}

/// The command, whose environment has nothing of the server's (RFC 3875 §7.2: the folder is the program's).
fn command(program: &Path, variables: &Variables, settings: &CgiSettings) -> Command {
    let mut words = settings.launcher.iter().map(|word| word.as_os_str()).chain([program.as_os_str()]);
    let mut command = Command::new(words.next().unwrap_or_default());
    let text = OsStr::from_bytes;
    command
        .args(words)
        .env_clear()
        .env("PATH", PATH)
        .envs(variables.iter().map(|(name, value)| (text(name), text(value))))
        .envs(settings.environment.iter().map(|(name, value)| (name, value)))
        .current_dir(folder_of(program));
    command
}

/// The body as a file, so that nobody has to write it while the program runs.
fn standard_input(body: BufferedContent) -> io::Result<Stdio> {
    let mut file = match body {
        BufferedContent::Memory(bytes) if bytes.is_empty() => return Ok(Stdio::null()),
        BufferedContent::Memory(bytes) => {
            let mut file = File::from(memfd_create("body", MemfdFlags::CLOEXEC)?);
            file.write_all(&bytes)?;
            file
        }
        BufferedContent::File(spooled) => spooled.file().try_clone()?,
    };
    file.rewind()?;
    Ok(file.into())
}

/// Logs what the program writes to its standard error, up to a limit: one in a loop writes without end.
fn log_errors(pipe: OwnedFd, asked: &Asked) -> JoinHandle<()> {
    let (asked, mut room) = (asked.clone(), MAX_ERRORS);
    read_lines(pipe, move |line| {
        if room == 0 {
            return;
        }
        asked.warn(format_args!("{line}"));
        room = room.saturating_sub(line.len() + 1);
        if room == 0 {
            asked.warn(format_args!("further messages of the program are left out"));
        }
    })
}

/// Where programs find others, as in systemd's default for services.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Bytes of messages that are logged for one request.
const MAX_ERRORS: usize = 16 * 1024;

/// The time for its last messages, which are in the pipe already.
const LAST_WORDS: Duration = Duration::from_millis(200);
