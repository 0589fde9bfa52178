//! The process that workers are forked from. It has the interpreter and the bridge loaded, and the application as well where
//! that is to be loaded once for all.

use std::{
    io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Child, Stdio},
    rc::Rc,
};

use serow_net::channel::{AsyncChannel, Channel};
use tokio::task::spawn_local;

use super::{Process, Words, crew::CrewWord, output};
use crate::{link::WorkerEnds, settings::ApplicationSettings};

/// A process that workers are forked from. When this is dropped it ends.
#[derive(Debug)]
pub(super) struct Mold {
    channel: Rc<AsyncChannel>,
    child: Child,
}

/// What it says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MoldWord {
    /// It can fork.
    Ready,
    /// The application cannot be loaded; why.
    Failed(String),
    /// It has forked the worker with this number.
    Forked { number: u64, pid: i32 },
    /// It could not.
    NotForked { number: u64, error: String },
    /// A worker has ended, so.
    Exited { pid: i32, how: String },
    /// It has ended itself.
    Gone,
}

impl Mold {
    /// Starts one; what it says goes to `words`.
    ///
    /// # Errors
    ///
    /// Where the interpreter cannot be started.
    pub(super) fn start(settings: &ApplicationSettings, words: &Words<CrewWord>) -> io::Result<Self> {
        let (ours, theirs) = Channel::pair()?;
        let (reader, writer) = io::pipe()?;
        let (program, run) = (&settings.program, &settings.run);
        let mut command = settings.interpreter_command();
        command.args(program.interface.loader());
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        command.stdout(writer.try_clone()?).stderr(writer);
        // Ctrl-C is the server's, which tells its workers.
        command.process_group(0);
        ours.send(program.interface.bridge().as_bytes(), &[])?;
        ours.send(&description(settings), &[])?;
        let child = command.spawn()?;
        if let Some(process) = i32::try_from(child.id()).ok().and_then(Process::of) {
            // Before it forks anything: that takes a word from here.
            process.limit_files(run.open_files);
        }
        output::log(reader.into(), run, 0);
        let channel = Rc::new(AsyncChannel::new(ours)?);
        spawn_local(listen(Rc::clone(&channel), words.clone()));
        Ok(Self { channel, child })
    }

    /// Has it fork a worker, which gets these sockets and writes what it has to say here.
    pub(super) fn fork(&self, number: u64, place: usize, ends: &WorkerEnds, output: BorrowedFd<'_>) -> io::Result<()> {
        let mut descriptors = vec![ends.requests.as_fd(), output];
        descriptors.extend(ends.replies.iter().map(AsFd::as_fd));
        self.channel.send(format!("fork\0{number}\0{place}").as_bytes(), &descriptors)
    }
}

impl Drop for Mold {
    fn drop(&mut self) {
        // Its workers have ended, or never begun; it has nothing to finish.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the bridge is told, as names and values with NULs between them.
fn description(settings: &ApplicationSettings) -> Vec<u8> {
    let switch = |on: bool| if on { "1" } else { "" }.to_owned();
    let pairs = [
        ("interface", settings.program.interface.name().to_owned()),
        ("application", settings.program.application.clone()),
        ("name", settings.run.name.clone()),
        ("preload", switch(settings.preload)),
        ("development", switch(settings.development)),
        ("concurrency", settings.concurrency.to_string()),
        ("collection", switch(settings.out_of_band_gc.is_some())),
        ("workers", settings.run.processes.to_string()),
    ];
    pairs.map(|(name, value)| format!("{name}\0{value}")).join("\0").into_bytes()
}

async fn listen(channel: Rc<AsyncChannel>, words: Words<CrewWord>) {
    while let Ok(Some(message)) = channel.receive().await {
        if let Some(word) = MoldWord::parse(&String::from_utf8_lossy(&message.bytes)) {
            words.say(CrewWord::Mold(word));
        }
    }
    words.say(CrewWord::Mold(MoldWord::Gone));
}

impl MoldWord {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '\0');
        let (word, first, second) = (parts.next()?, parts.next(), parts.next());
        Some(match word {
            "ready" => Self::Ready,
            "failed" => Self::Failed(text.split_once('\0')?.1.to_owned()),
            "forked" => Self::Forked { number: first?.parse().ok()?, pid: second?.parse().ok()? },
            "unforked" => Self::NotForked { number: first?.parse().ok()?, error: second?.to_owned() },
            "exited" => Self::Exited { pid: first?.parse().ok()?, how: second?.to_owned() },
            _ => return None,
        })
    }
}
