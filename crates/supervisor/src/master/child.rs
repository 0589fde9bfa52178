//! A generation's process, as the master sees it.

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

use rustix::{
    fs::{MemfdFlags, memfd_create},
    process::WaitStatus,
};
use serde_json::Value;
use serow_net::channel::{AsyncChannel, Channel, MOST_DESCRIPTORS};
use tokio::{
    sync::mpsc::Sender,
    task::{AbortHandle, spawn_local},
};

use super::{
    generation::NUMBER,
    words::{FromGeneration, ToGeneration, read},
};

/// A generation's process.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) number: u64,
    channel: Rc<AsyncChannel>,
    listening: AbortHandle,
    /// What it said of itself last.
    pub(super) report: Option<Value>,
}

/// A word of the process with this id.
pub(super) type Heard = (u32, FromGeneration);

impl Child {
    /// Spawns a process, with the text of its settings; what it says goes to `heard`. In a local runtime of tokio.
    pub(super) fn spawn(
        mut command: Command,
        number: u64,
        text: &[u8],
        heard: Sender<Heard>,
    ) -> io::Result<(u32, Self)> {
        let (ours, theirs) = Channel::pair()?;
        command.env(NUMBER, number.to_string()).stdin(Stdio::from(OwnedFd::from(theirs)));
        // Ctrl-C is the master's, which tells the generations.
        command.process_group(0);
        let mut settings = File::from(memfd_create("serow-settings", MemfdFlags::CLOEXEC)?);
        settings.write_all(text)?;
        // It is read when the process comes to it.
        ours.send(&serde_json::to_vec(&ToGeneration::Begin)?, &[settings.as_fd()])?;
        let pid = command.spawn()?.id();
        let channel = Rc::new(AsyncChannel::new(ours)?);
        let listening = spawn_local(listen(Rc::clone(&channel), pid, heard)).abort_handle();
        Ok((pid, Self { number, channel, listening, report: None }))
    }

    /// Tells it something. One that does not listen is about to end, or will be killed.
    pub(super) fn tell(&self, word: &ToGeneration) {
        let said = serde_json::to_vec(word).map_err(io::Error::from).and_then(|word| self.channel.send(&word, &[]));
        if let Err(error) = said {
            tracing::debug!(generation = self.number, %error, "a generation does not listen");
        }
    }

    /// Hands over the sockets of all listeners.
    pub(super) fn hand_over(&self, sockets: &[Vec<BorrowedFd<'_>>]) -> io::Result<()> {
        for (listener, sockets) in sockets.iter().enumerate() {
            let pieces = sockets.chunks(MOST_DESCRIPTORS);
            let last = pieces.len().saturating_sub(1);
            for (number, piece) in pieces.enumerate() {
                let word = ToGeneration::Sockets { listener, complete: number == last };
                self.channel.send(&serde_json::to_vec(&word)?, piece)?;
            }
        }
        Ok(())
    }

    /// What it said and nobody has heard yet, once it has ended.
    pub(super) fn last_words(&self) -> Vec<FromGeneration> {
        self.listening.abort();
        let messages = std::iter::from_fn(|| self.channel.try_receive().ok().flatten());
        messages.filter_map(|message| read(&message).ok()).collect()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

/// Passes on what a process says, until it has ended or talks nonsense.
async fn listen(channel: Rc<AsyncChannel>, pid: u32, heard: Sender<Heard>) {
    while let Ok(Some(message)) = channel.receive().await {
        let word = match read(&message) {
            Ok(word) => word,
            Err(error) => return tracing::error!(pid, %error, "a generation talks nonsense"),
        };
        if heard.send((pid, word)).await.is_err() {
            return;
        }
    }
}

/// How a process ended, in words.
pub(super) fn ending(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => format!("wait status {}", status.as_raw()),
    }
}
