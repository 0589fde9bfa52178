//! The template process, from which workers are forked. It has the interpreter and the bridge loaded, and with
//! `preload` the application. With reforking, a worker that has handled many requests forks its successor.

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
use serow_processes::{MessageSender, Process, log_lines};
use tokio::{
    task::{AbortHandle, spawn_local},
    time::Instant,
};

use super::BridgedMessage;
use crate::{settings::ApplicationSettings, worker_link::WorkerEnds};

/// A template process. Dropping it kills the process.
#[derive(Debug)]
pub(super) struct TemplateProcess {
    /// Which one of its generation it is.
    pub(super) number: u64,
    /// Whether it can fork.
    pub(super) is_ready: bool,
    pub(super) born: Instant,
    channel: Rc<AsyncChannel>,
    listening: AbortHandle,
    origin: Origin,
}

/// The origin of a template process.
#[derive(Debug)]
enum Origin {
    /// It was started.
    Started(Child),
    /// A worker has forked it; the process is known once it has reported its id.
    Forked(Option<Process>),
}

/// A message of a template process.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TemplateMessage {
    /// It can fork. One that a worker has forked reports its process id.
    Ready { pid: Option<i32> },
    /// The application cannot be loaded, for this reason.
    Failed(String),
    /// It has forked the worker with this number.
    Forked { number: u64, pid: i32 },
    /// It could not.
    NotForked { number: u64, error: String },
    /// A worker has exited, with this status.
    Exited { pid: i32, how: String },
    /// It has exited itself.
    Gone,
}

impl TemplateProcess {
    /// Starts one, which reports to `messages`.
    ///
    /// # Errors
    ///
    /// If the interpreter cannot be started.
    pub(super) fn start(
        number: u64,
        settings: &ApplicationSettings,
        messages: &MessageSender<BridgedMessage>,
    ) -> io::Result<Self> {
        let (ours, theirs) = Channel::pair()?;
        let (reader, writer) = io::pipe()?;
        let (program, run) = (&settings.program, &settings.run);
        let mut command = settings.interpreter_command();
        command.args(program.interface.loader());
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        command.stdout(writer.try_clone()?).stderr(writer);
        // Ctrl-C is for the server, which stops its workers itself.
        command.process_group(0);
        ours.send(program.interface.bridge().as_bytes(), &[])?;
        ours.send(&description(settings), &[])?;
        let child = command.spawn()?;
        if let Some(process) = i32::try_from(child.id()).ok().and_then(Process::of) {
            // Before it forks, which needs a message from here.
            process.limit_files(run.open_files);
        }
        log_lines(reader.into(), run, 0);
        Self::reached(number, ours, Origin::Started(child), messages)
    }

    /// The one that a worker forks on command, reached by the worker's control channel.
    ///
    /// # Errors
    ///
    /// Where this process may open no more descriptors.
    pub(super) fn forked(
        number: u64,
        control: Channel,
        settings: &ApplicationSettings,
        messages: &MessageSender<BridgedMessage>,
    ) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        control.send(b"output", &[writer.as_fd()])?;
        log_lines(reader.into(), &settings.run, 0);
        Self::reached(number, control, Origin::Forked(None), messages)
    }

    fn reached(
        number: u64,
        channel: Channel,
        origin: Origin,
        messages: &MessageSender<BridgedMessage>,
    ) -> io::Result<Self> {
        let channel = Rc::new(AsyncChannel::new(channel)?);
        let listening = spawn_local(listen(number, Rc::clone(&channel), messages.clone())).abort_handle();
        Ok(Self { number, is_ready: false, born: Instant::now(), channel, listening, origin })
    }

    /// It can fork; it may have reported its process id.
    pub(super) fn begin(&mut self, pid: Option<i32>) {
        self.is_ready = true;
        if let Origin::Forked(process) = &mut self.origin {
            *process = pid.and_then(Process::of);
        }
    }

    /// Forks a worker, which gets these sockets and this output.
    pub(super) fn fork(&self, number: u64, place: usize, ends: &WorkerEnds, output: BorrowedFd<'_>) -> io::Result<()> {
        let mut descriptors = vec![ends.requests.as_fd(), output];
        descriptors.extend(ends.control.iter().map(AsFd::as_fd));
        descriptors.extend(ends.replies.iter().map(AsFd::as_fd));
        self.channel.send(format!("fork\0{number}\0{place}").as_bytes(), &descriptors)
    }
}

impl Drop for TemplateProcess {
    fn drop(&mut self) {
        // Its workers have exited, or were never started; it has nothing to finish, and notices the closed channel.
        self.listening.abort();
        match &mut self.origin {
            Origin::Started(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
            Origin::Forked(process) => process.iter().for_each(Process::kill),
        }
    }
}

/// The settings for the bridge, as names and values separated by NUL.
fn description(settings: &ApplicationSettings) -> Vec<u8> {
    let switch = |on: bool| if on { "1" } else { "" }.to_owned();
    let pairs = [
        ("interface", settings.program.interface.name().to_owned()),
        ("application", settings.program.application.clone()),
        ("name", settings.run.name.clone()),
        ("preload", switch(settings.preload)),
        ("development", switch(settings.development)),
        ("concurrency", settings.concurrency.to_string()),
        ("refork", switch(!settings.refork_after.is_empty())),
        ("collection", switch(settings.out_of_band_gc.is_some())),
        ("workers", settings.run.processes.to_string()),
    ];
    pairs.map(|(name, value)| format!("{name}\0{value}")).join("\0").into_bytes()
}

async fn listen(number: u64, channel: Rc<AsyncChannel>, messages: MessageSender<BridgedMessage>) {
    while let Ok(Some(message)) = channel.receive().await {
        if let Some(message) = TemplateMessage::parse(&String::from_utf8_lossy(&message.bytes)) {
            messages.send(BridgedMessage::TemplateProcess { number, message });
        }
    }
    messages.send(BridgedMessage::TemplateProcess { number, message: TemplateMessage::Gone });
}

impl TemplateMessage {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '\0');
        let (message, first, second) = (parts.next()?, parts.next(), parts.next());
        Some(match message {
            "ready" => Self::Ready { pid: first.and_then(|pid| pid.parse().ok()) },
            "failed" => Self::Failed(text.split_once('\0')?.1.to_owned()),
            "forked" => Self::Forked { number: first?.parse().ok()?, pid: second?.parse().ok()? },
            "unforked" => Self::NotForked { number: first?.parse().ok()?, error: second?.to_owned() },
            "exited" => Self::Exited { pid: first?.parse().ok()?, how: second?.to_owned() },
            _ => return None,
        })
    }
}
