//! The process of a generation, on the master's side.

use std::{
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::process::CommandExt,
    },
    process::{Command, Stdio},
    rc::Rc,
};

use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::Value;
use serow_net::{
    SharedMemory,
    channel::{AsyncChannel, Channel, MAX_DESCRIPTORS, Message},
};
use tokio::{
    sync::{mpsc::Sender, oneshot},
    task::{AbortHandle, spawn_local},
};

use super::{
    control::{ChangeError, Changed, STOPPING},
    messages::{AdoptionCause, FromGeneration, ToGeneration, beginning, read},
    reports,
};

/// A generation's process.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) number: u64,
    channel: Rc<AsyncChannel>,
    listening: AbortHandle,
    /// Its last report.
    pub(super) report: Option<Value>,
    /// Whether it may ask for changes of the settings.
    pub(super) may_change: bool,
    /// Whether a report was requested and is not received yet. A hanging process does not get a second request: unread
    /// messages fill the channel, and the command to drain would not fit.
    is_asked: bool,
}

/// The files in memory that generations share. They live as long as the master.
#[derive(Debug)]
pub(super) struct SharedFiles {
    /// The state that generations leave for later ones.
    state: File,
    /// The memory that they change at the same time.
    memory: Option<OwnedFd>,
}

/// A message of the process with this id.
pub(super) type ReceivedMessage = (u32, FromGeneration);

impl SharedFiles {
    /// Creates them, with so many bytes of memory.
    pub(super) fn create(memory: usize) -> io::Result<Self> {
        let state = File::from(memfd_create("serow-shared", MemfdFlags::CLOEXEC)?);
        let memory = (memory > 0).then(|| SharedMemory::file(memory)).transpose();
        let memory = memory.unwrap_or_else(|error| {
            tracing::warn!(%error, "scripts have a dictionary of their own in each generation");
            None
        });
        Ok(Self { state, memory })
    }
}

impl Child {
    /// Spawns a process with the text of its settings, the remembered overrides, and the files that generations share; its
    /// messages go to `received`. Needs a local runtime of tokio.
    pub(super) fn spawn(
        mut command: Command,
        number: u64,
        text: &[u8],
        overrides: &[Value],
        generation_secret: &str,
        shared: &SharedFiles,
        received: Sender<ReceivedMessage>,
    ) -> io::Result<(u32, Self)> {
        let (ours, theirs) = Channel::pair()?;
        command.stdin(Stdio::from(OwnedFd::from(theirs)));
        // Ctrl-C goes to the master, which stops the generations.
        command.process_group(0);
        let settings = in_memory(text)?;
        // The process reads it when it is ready to.
        let begin = ToGeneration::Begin {
            overrides: overrides.to_vec(),
            generation_secret: Some(generation_secret.to_owned()),
            takes_changes: true,
        };
        // The earlier a version, the fewer of them it knows, from the end.
        let memory = shared.memory.iter().map(AsFd::as_fd);
        let descriptors: Vec<_> = memory.chain([shared.state.as_fd(), settings.as_fd()]).collect();
        ours.send(&serde_json::to_vec(&begin)?, &descriptors)?;
        let pid = command.spawn()?.id();
        let channel = Rc::new(AsyncChannel::new(ours)?);
        let listening = spawn_local(listen(Rc::clone(&channel), pid, received)).abort_handle();
        Ok((pid, Self { number, channel, listening, report: None, may_change: false, is_asked: false }))
    }

    /// Sends it a message. If that fails, the process is about to end, or will be killed.
    pub(super) fn tell(&self, word: &ToGeneration) {
        let said = serde_json::to_vec(word).map_err(io::Error::from).and_then(|word| self.channel.send(&word, &[]));
        if let Err(error) = said {
            tracing::debug!(generation = self.number, %error, "cannot send a message to a generation");
        }
    }

    /// Sends it the outcome of the change with this number, once there is one.
    pub(super) fn tell_outcome(&self, number: u64, answered: oneshot::Receiver<Result<Changed, ChangeError>>) {
        self.tell_later(answered, move |outcome| {
            let stopping = || Err(ChangeError::NotNow(STOPPING.to_owned()));
            let outcome = outcome.unwrap_or_else(stopping).map_err(ChangeError::shortened);
            ToGeneration::Changed { number, outcome }
        });
    }

    /// Sends it the outcome of the command with this number that it has asked for, once there is one.
    pub(super) fn tell_executed(&self, number: u64, answered: oneshot::Receiver<Result<String, String>>) {
        self.tell_later(answered, move |outcome| {
            let outcome = outcome.unwrap_or_else(|| Err(STOPPING.to_owned()));
            let outcome = outcome.map(|done| beginning(&done)).map_err(|reason| beginning(&reason));
            ToGeneration::Executed { number, outcome }
        });
    }

    fn tell_later<T: 'static>(
        &self,
        answered: oneshot::Receiver<T>,
        message: impl FnOnce(Option<T>) -> ToGeneration + 'static,
    ) {
        let channel = Rc::clone(&self.channel);
        spawn_local(async move {
            // A process that has ended does not need it.
            if let Ok(message) = serde_json::to_vec(&message(answered.await.ok())) {
                let _ = channel.send(&message, &[]);
            }
        });
    }

    /// Sends it the text of settings to adopt, and the remembered overrides.
    pub(super) fn adopt(&self, number: u64, text: &[u8], overrides: &[Value], cause: AdoptionCause) -> io::Result<()> {
        let settings = in_memory(text)?;
        let adopt = ToGeneration::Adopt { number, overrides: overrides.to_vec(), cause };
        self.channel.send(&serde_json::to_vec(&adopt)?, &[settings.as_fd()])
    }

    /// Requests a report.
    pub(super) fn ask_for_report(&mut self) {
        if !std::mem::replace(&mut self.is_asked, true) {
            self.tell(&ToGeneration::Report);
        }
    }

    /// Stores its report.
    pub(super) fn take_report(&mut self, report: Value) {
        self.report = Some(report);
        self.is_asked = false;
    }

    /// Passes the sockets of all listeners, in as few messages as possible: the channel has room for some 250.
    pub(super) fn hand_over(&self, sockets: &[Vec<BorrowedFd<'_>>]) -> io::Result<()> {
        let numbered = sockets.iter().enumerate();
        let (listeners, sockets): (Vec<_>, Vec<_>) =
            numbered.flat_map(|(listener, sockets)| sockets.iter().map(move |socket| (listener, *socket))).unzip();
        let mut pieces = listeners.chunks(MAX_DESCRIPTORS).zip(sockets.chunks(MAX_DESCRIPTORS)).peekable();
        while let Some((listeners, sockets)) = pieces.next() {
            let word = ToGeneration::Sockets { listeners: listeners.to_vec(), complete: pieces.peek().is_none() };
            self.channel.send(&serde_json::to_vec(&word)?, sockets)?;
        }
        Ok(())
    }

    /// Passes UDP sockets with their slots.
    pub(super) fn hand_over_quic(&self, sockets: &[(usize, u8, BorrowedFd<'_>)]) -> io::Result<()> {
        let mut pieces = sockets.chunks(MAX_DESCRIPTORS).peekable();
        if sockets.is_empty() {
            self.tell(&ToGeneration::QuicSockets { addresses: Vec::new(), slots: Vec::new(), complete: true });
        }
        while let Some(piece) = pieces.next() {
            let (addresses, slots) = piece.iter().map(|(address, slot, _)| (*address, *slot)).unzip();
            let descriptors: Vec<_> = piece.iter().map(|(.., socket)| *socket).collect();
            let word = ToGeneration::QuicSockets { addresses, slots, complete: pieces.peek().is_none() };
            self.channel.send(&serde_json::to_vec(&word)?, &descriptors)?;
        }
        Ok(())
    }

    /// The messages that were not received yet; for a process that has ended.
    pub(super) fn remaining_messages(&self) -> Vec<FromGeneration> {
        self.listening.abort();
        let messages = std::iter::from_fn(|| self.channel.try_receive().ok().flatten());
        messages.map(understood).collect()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// A file in memory with this text of settings.
fn in_memory(text: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("serow-settings", MemfdFlags::CLOEXEC)?);
    file.write_all(text)?;
    Ok(file)
}

/// Passes on the messages of a process, until it ends or sends an invalid one.
async fn listen(channel: Rc<AsyncChannel>, pid: u32, received: Sender<ReceivedMessage>) {
    while let Ok(Some(message)) = channel.receive().await {
        let message = understood(message);
        let is_nonsense = matches!(message, FromGeneration::Nonsense { .. });
        if received.send((pid, message)).await.is_err() || is_nonsense {
            return;
        }
    }
}

fn understood(mut message: Message) -> FromGeneration {
    let word = match (read(&message), message.descriptors.pop()) {
        (Ok(FromGeneration::LongReport), Some(file)) => {
            reports::read(file).map(|report| FromGeneration::Report { report })
        }
        (Ok(FromGeneration::Change { number }), Some(file)) => {
            reports::read(file).map(|change| FromGeneration::ReceivedChange { number, change })
        }
        (word, _) => word,
    };
    word.unwrap_or_else(|error| FromGeneration::Nonsense { error: error.to_string() })
}
