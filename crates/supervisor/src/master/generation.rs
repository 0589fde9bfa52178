//! A generation's side: what a process does that a master started.

use std::{
    fs::File,
    io::{self, Read, Seek},
    os::fd::OwnedFd,
    thread,
    time::Duration,
};

use rustix::stdio::{dup2_stdin, stdin};
use serde_json::Value;
use serow_net::channel::Channel;

use super::{
    messages::{FromGeneration, ToGeneration, WantedListener, read, send},
    reports,
};
use crate::signals::leave_to_parent;

/// The master, as a generation sees it.
#[derive(Debug)]
pub struct Parent {
    channel: Channel,
}

/// How a generation serves, as far as its master has to know.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Where the master is to answer those who run the server.
    pub admin: Option<String>,
    /// What those show who change something there over TCP.
    pub admin_token: Option<String>,
    /// What the first generation has the master say when it serves: what is served, and where.
    pub announcement: String,
    /// How long leaving takes at most when another generation serves.
    pub replaced: Duration,
    /// And when the server ends.
    pub stopped: Duration,
}

/// What a generation begins with.
#[derive(Clone, Debug)]
pub struct GenerationSetup {
    /// The text of the settings.
    pub text: Vec<u8>,
    /// What others wished of earlier generations that is to be so in this one, too.
    pub overrides: Vec<Value>,
}

/// What a generation is told while it serves.
pub trait Orders: Send + 'static {
    /// Finish what runs, and end; within the time that was named in [`Parent::ready`].
    fn leave(&mut self, reason: StopReason);
    /// End at once.
    fn end(&mut self);
    /// Open the logs anew.
    fn reopen(&mut self);
    /// How it is, in JSON.
    fn report(&mut self) -> Value;
    /// Do what somebody overrides; says what was done.
    ///
    /// # Errors
    ///
    /// Why nothing was.
    fn command(&mut self, command: &Value) -> Result<String, String>;
}

/// Why a generation is to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Another one serves in its place.
    Replaced,
    /// The server ends.
    Stopped,
    /// The master is gone.
    Orphaned,
}

impl Parent {
    /// The master that started this process, and the settings it handed over. Standard input, which it used for
    /// that, becomes /dev/null; HUP, TERM, INT and QUIT are left to the master.
    ///
    /// # Errors
    ///
    /// When this process was started by somebody else, or its master is gone.
    pub fn meet() -> io::Result<(Self, GenerationSetup)> {
        let channel = Channel::inherited(stdin())?;
        dup2_stdin(File::open("/dev/null")?)?;
        leave_to_parent()?;
        let parent = Self { channel };
        loop {
            let (word, mut descriptors) = parent.receive()?;
            if let (ToGeneration::Begin { overrides }, Some(text)) = (word, descriptors.pop()) {
                let mut file = File::from(text);
                let mut text = Vec::new();
                file.rewind()?;
                file.read_to_end(&mut text)?;
                return Ok((parent, GenerationSetup { text, overrides }));
            }
        }
    }

    /// Asks for sockets that listen; gives those of each listener.
    ///
    /// # Errors
    ///
    /// What is wrong with an address, in one line; or the master is gone.
    pub fn listen(&self, listeners: Vec<WantedListener>) -> io::Result<Vec<Vec<OwnedFd>>> {
        let mut sockets: Vec<Vec<OwnedFd>> = listeners.iter().map(|_| Vec::new()).collect();
        let mut complete = listeners.is_empty();
        send(&self.channel, &FromGeneration::Listen { listeners })?;
        while !complete {
            match self.receive()? {
                (ToGeneration::Sockets { listeners, complete: last }, descriptors) => {
                    for (listener, descriptor) in listeners.into_iter().zip(descriptors) {
                        if let Some(place) = sockets.get_mut(listener) {
                            place.push(descriptor);
                        }
                    }
                    complete = last;
                }
                (ToGeneration::Refused { reason }, _) => return Err(io::Error::other(reason)),
                _ => {}
            }
        }
        Ok(sockets)
    }

    /// Says why this process cannot serve. It is to end now.
    pub fn fail(&self, reason: &str) {
        let mut end = reason.len().min(MAX_REASON_LENGTH);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        // A master that is gone need not know.
        let _ = send(&self.channel, &FromGeneration::Failed { reason: reason[..end].to_owned() });
    }

    /// Says that this process serves, and does what the master says from now on, on a thread of its own.
    ///
    /// # Errors
    ///
    /// When the master is gone, or the system refuses a thread.
    pub fn ready(self, terms: Terms, orders: impl Orders) -> io::Result<FinalReport> {
        let Terms { admin, admin_token, announcement, replaced, stopped } = terms;
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (replaced_ms, stopped_ms) = (milliseconds(replaced), milliseconds(stopped));
        let ready = FromGeneration::Ready { admin, admin_token, announcement, replaced_ms, stopped_ms };
        send(&self.channel, &ready)?;
        let channel = Channel::inherited(&self.channel)?;
        thread::Builder::new().name("serow-master".to_owned()).spawn(move || self.obey(orders))?;
        Ok(FinalReport { channel })
    }

    fn obey(self, mut orders: impl Orders) {
        loop {
            match self.receive() {
                Ok((ToGeneration::Leave { replaced: true }, _)) => orders.leave(StopReason::Replaced),
                Ok((ToGeneration::Leave { replaced: false }, _)) => orders.leave(StopReason::Stopped),
                Ok((ToGeneration::End, _)) => orders.end(),
                Ok((ToGeneration::Reopen, _)) => orders.reopen(),
                Ok((ToGeneration::Report, _)) => {
                    // A master that does not take it does not need it any more.
                    let _ = reports::send(&self.channel, orders.report());
                }
                Ok((ToGeneration::Command { number, command }, _)) => {
                    let outcome = orders.command(&command);
                    let _ = send(&self.channel, &FromGeneration::CommandDone { number, outcome });
                }
                Ok(_) => {}
                Err(_) => return orders.leave(StopReason::Orphaned),
            }
        }
    }

    /// The next word; an error once the master is gone.
    fn receive(&self) -> io::Result<(ToGeneration, Vec<OwnedFd>)> {
        let message = self.channel.receive()?.ok_or_else(|| io::Error::other("the master is gone"))?;
        Ok((read(&message)?, message.descriptors))
    }
}

/// The way to the master, for a last word.
#[derive(Debug)]
pub struct FinalReport {
    channel: Channel,
}

impl FinalReport {
    /// Says how this process was in the end, so that nothing it counted is lost.
    pub fn send(&self, report: Value) {
        let _ = reports::send(&self.channel, report);
    }
}

/// Bytes of a reason that fit into a message in any case.
const MAX_REASON_LENGTH: usize = 60_000;
