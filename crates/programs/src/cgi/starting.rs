//! The thread that starts programs.

use std::{
    io,
    os::unix::process::CommandExt,
    process::{Child, Command},
    sync::{OnceLock, mpsc},
};

use rustix::process::{Pid, Signal, kill_process_group};
use serow_net::cores::spawn_unpinned;
use tokio::sync::oneshot;

/// A command, and who asked for it.
type Job = (Command, oneshot::Sender<io::Result<Child>>);

/// Starts a program as the leader of a process group.
///
/// One thread starts all of them, and never ends: the kernel ends processes of the launcher with the thread that started
/// them (PR_SET_PDEATHSIG, prctl(2)). Nor do they have to stay on the core of a thread that has connections.
pub(crate) async fn start(mut command: Command) -> io::Result<Child> {
    // Ctrl-C is for the server.
    command.process_group(0);
    static THREAD: OnceLock<Option<mpsc::Sender<Job>>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        let work = move || jobs.into_iter().for_each(|(command, answer)| answer_job(command, answer));
        spawn_unpinned("cgi", work).ok().map(|_| sender)
    });
    let (answer, answered) = oneshot::channel();
    let refused = || io::Error::other("there is no thread that starts programs");
    thread.as_ref().ok_or_else(refused)?.send((command, answer)).map_err(|_| refused())?;
    answered.await.map_err(|_| refused())?
}

fn answer_job(mut command: Command, answer: oneshot::Sender<io::Result<Child>>) {
    if answer.is_closed() {
        return;
    }
    let started = command.spawn();
    // Its ends of the pipes are closed, before anybody waits for the ends of the program.
    drop(command);
    if let Err(Ok(mut child)) = answer.send(started) {
        kill_group(&child);
        let _ = child.wait();
    }
}

/// Kills a process that has not been reaped, with all that it has started.
pub(crate) fn kill_group(child: &Child) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(pid, Signal::KILL);
    }
}
