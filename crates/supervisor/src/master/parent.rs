//! The generation's side of the channel to the master.

use std::{
    fs::File,
    io::{self, Read, Seek},
    net::SocketAddr,
    os::fd::OwnedFd,
    thread,
    time::Duration,
};

use rustix::stdio::{dup2_stdin, stdin};
use serde_json::Value;
use serow_net::channel::Channel;

use super::{
    change_requests::ChangeRequests,
    command_answer::{CommandAnswer, CommandAnswers},
    messages::{
        AdminPlace, AdoptionCause, AdoptionOutcome, FromGeneration, ToGeneration, WantedListener, beginning, read, send,
    },
    reports,
    shared_state::SharedState,
};
use crate::signals::leave_to_parent;

/// The master, as a generation sees it.
#[derive(Debug)]
pub struct Parent {
    channel: Channel,
    requests: ChangeRequests,
    answers: CommandAnswers,
}

/// The properties of a generation that its master has to know.
#[derive(Clone, Debug)]
pub struct GenerationTerms {
    /// Where the master opens the admin socket.
    pub admin: AdminPlace,
    /// The token for commands over TCP that change something.
    pub admin_token: Option<String>,
    /// The text that the master prints when the first generation serves: what it serves, and the addresses.
    pub announcement: String,
    /// The maximum duration of draining when another generation serves.
    pub replaced: Duration,
    /// The same when the server ends.
    pub stopped: Duration,
    /// Whether the master may call [`Orders::adopt`]; otherwise each reload starts a new process.
    pub adopts: bool,
    /// Whether this process asks for changes of the settings ([`Parent::change_requests`]); the master makes none for others.
    pub changes: bool,
}

/// The data with which a generation starts.
#[derive(Debug)]
pub struct GenerationSetup {
    /// The text of the settings.
    pub text: Vec<u8>,
    /// The overrides: persistent commands to earlier generations.
    pub overrides: Vec<Value>,
    /// The state that earlier generations have left for later ones; `None` from a master of an older version.
    pub shared: Option<SharedState>,
    /// The file of the memory that generations share ([`serow_net::SharedMemory`]), zero at first; `None` from a master of
    /// an older version.
    pub memory: Option<OwnedFd>,
    /// The secret with which all generations make stateless resets and tokens of QUIC, and the keys of session
    /// tickets; `None` from a master of a version without HTTP/3.
    pub generation_secret: Option<[u8; 32]>,
}

/// Blocks until something is over.
pub type Wait = Box<dyn FnOnce() + Send>;

/// The master's commands to a serving generation.
pub trait Orders: Send + 'static {
    /// Drain and end, within the time given to [`Parent::ready`]; returns what waits until no connection is accepted any
    /// more, where somebody needs to know.
    fn leave(&mut self, reason: StopReason) -> Option<Wait>;
    /// End at once.
    fn end(&mut self);
    /// Reopen the logs.
    fn reopen(&mut self);
    /// Return the status, in JSON.
    fn report(&mut self) -> Value;
    /// Execute a command from the admin socket; answers what was done, or why it was not executed.
    fn command(&mut self, command: &Value) -> CommandAnswer;
    /// Serve with the settings of this text from now on, if this process can, and with these overrides: persistent commands to
    /// earlier generations and to this one. Where it cannot, it serves as before. The
    /// terms given to [`Parent::ready`] stay as they are. Other orders wait meanwhile; after 30 s the master starts another
    /// generation, and ignores the answer.
    fn adopt(&mut self, text: Vec<u8>, overrides: Vec<Value>, cause: AdoptionCause) -> Adoption;
}

/// The outcome of [`Orders::adopt`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// It serves with them from now on.
    Adopted,
    /// It serves as before, since they need a process of their own, for this reason.
    NeedsProcess(String),
    /// It serves as before, since they are invalid, for this reason; no other process could serve with them.
    Refused(String),
}

/// Why a generation has to drain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Another one serves in its place.
    Replaced,
    /// The server ends.
    Stopped,
    /// The master has ended.
    Orphaned,
}

impl Parent {
    /// Connects to the master that started this process, and receives the settings. Standard input, which is the
    /// channel, becomes /dev/null; this process ignores HUP, TERM, INT and QUIT, which the master handles.
    ///
    /// # Errors
    ///
    /// If the parent is not a master, or has ended.
    pub fn meet() -> io::Result<(Self, GenerationSetup)> {
        let channel = Channel::inherited(stdin())?;
        dup2_stdin(File::open("/dev/null")?)?;
        leave_to_parent()?;
        let requests = ChangeRequests::new(channel.try_clone()?);
        let parent = Self { channel, requests, answers: CommandAnswers::default() };
        loop {
            let (word, mut descriptors) = parent.receive()?;
            if let (ToGeneration::Begin { overrides, generation_secret, takes_changes }, Some(text)) =
                (word, descriptors.pop())
            {
                parent.requests.set_taken(takes_changes);
                let text = content(text)?;
                let shared = descriptors.pop().map(SharedState::new);
                let memory = descriptors.pop();
                return Ok((
                    parent,
                    GenerationSetup {
                        text,
                        overrides,
                        shared,
                        memory,
                        generation_secret: generation_secret.as_deref().and_then(secret),
                    },
                ));
            }
        }
    }

    /// Requests listening sockets; returns those of each listener.
    ///
    /// # Errors
    ///
    /// The error of an address, in one line; or the master has ended.
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

    /// Requests UDP sockets, one per thread for each address; returns them with their slots. Where an address could not be
    /// bound there are none; the master has said why.
    ///
    /// # Errors
    ///
    /// If the master has ended.
    pub fn listen_quic(&self, addresses: &[SocketAddr], workers: usize) -> io::Result<Vec<Vec<(OwnedFd, u8)>>> {
        let mut sockets: Vec<Vec<_>> = addresses.iter().map(|_| Vec::new()).collect();
        send(&self.channel, &FromGeneration::ListenQuic { addresses: addresses.to_vec(), workers })?;
        loop {
            let (ToGeneration::QuicSockets { addresses, slots, complete }, descriptors) = self.receive()? else {
                continue;
            };
            for ((address, slot), descriptor) in addresses.into_iter().zip(slots).zip(descriptors) {
                if let Some(place) = sockets.get_mut(address) {
                    place.push((descriptor, slot));
                }
            }
            if complete {
                return Ok(sockets);
            }
        }
    }

    /// A handle for changes of the settings, which works once this process serves.
    #[must_use]
    pub fn change_requests(&self) -> ChangeRequests {
        self.requests.clone()
    }

    /// Reports why this process cannot serve. It has to end then.
    pub fn fail(&self, reason: &str) {
        // A master that has ended does not need the reason.
        let _ = send(&self.channel, &FromGeneration::Failed { reason: beginning(reason) });
    }

    /// Reports that this process serves, and executes the master's commands from now on, on a thread of its own.
    ///
    /// # Errors
    ///
    /// If the master has ended, or the system refuses a thread.
    pub fn ready(self, terms: GenerationTerms, orders: impl Orders) -> io::Result<FinalReport> {
        let GenerationTerms { admin, admin_token, announcement, replaced, stopped, adopts, changes } = terms;
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (replaced_ms, stopped_ms) = (milliseconds(replaced), milliseconds(stopped));
        let (admin, admin_off) = match admin {
            AdminPlace::Default => (None, false),
            AdminPlace::Off => (None, true),
            AdminPlace::At(address) => (Some(address), false),
        };
        let ready = FromGeneration::Ready {
            admin,
            admin_off,
            admin_token,
            announcement,
            replaced_ms,
            stopped_ms,
            adopts,
            changes,
        };
        send(&self.channel, &ready)?;
        let channel = Channel::inherited(&self.channel)?;
        let answers = self.answers.clone();
        thread::Builder::new().name("serow-master".to_owned()).spawn(move || self.obey(orders))?;
        Ok(FinalReport { channel, answers })
    }

    fn obey(self, mut orders: impl Orders) {
        loop {
            match self.receive() {
                Ok((ToGeneration::Leave { replaced: true }, _)) => {
                    if let Some(wait) = orders.leave(StopReason::Replaced) {
                        self.report_end_of_accepting(wait);
                    }
                }
                Ok((ToGeneration::Leave { replaced: false }, _)) => drop(orders.leave(StopReason::Stopped)),
                Ok((ToGeneration::End, _)) => orders.end(),
                Ok((ToGeneration::Reopen, _)) => orders.reopen(),
                Ok((ToGeneration::Report, _)) => {
                    // If this fails, the master has ended.
                    let _ = reports::send(&self.channel, orders.report());
                }
                Ok((ToGeneration::Command { number, command }, _)) => {
                    self.answers.answer(&self.channel, number, orders.command(&command));
                }
                Ok((ToGeneration::Adopt { number, overrides, cause }, descriptors)) => {
                    let _ = send(&self.channel, &FromGeneration::Adopting { number });
                    let outcome = adopt(&mut orders, descriptors, overrides, cause);
                    let _ = send(&self.channel, &FromGeneration::Adopted { number, outcome });
                }
                Ok((ToGeneration::Changed { number, outcome }, _)) => self.requests.answer(number, outcome),
                Ok((ToGeneration::Executed { number, outcome }, _)) => self.requests.answer_command(number, outcome),
                Ok(_) => {}
                Err(_) => {
                    self.requests.end();
                    return drop(orders.leave(StopReason::Orphaned));
                }
            }
        }
    }

    /// Tells the master when the end has come, and obeys meanwhile. Without a thread, the master waits for its limit.
    fn report_end_of_accepting(&self, wait: Wait) {
        let Ok(channel) = Channel::inherited(&self.channel) else { return };
        let report = move || {
            wait();
            // A master that has ended does not need it.
            let _ = send(&channel, &FromGeneration::StoppedAccepting);
        };
        let _ = thread::Builder::new().name("serow-leave".to_owned()).spawn(report);
    }

    /// Receives the next message; an error once the master has ended.
    fn receive(&self) -> io::Result<(ToGeneration, Vec<OwnedFd>)> {
        let message = self.channel.receive()?.ok_or_else(|| io::Error::other("the master has ended"))?;
        Ok((read(&message)?, message.descriptors))
    }
}

/// Adopts the settings that came with a message.
fn adopt(
    orders: &mut impl Orders,
    mut descriptors: Vec<OwnedFd>,
    overrides: Vec<Value>,
    cause: AdoptionCause,
) -> AdoptionOutcome {
    let text = descriptors.pop().ok_or_else(|| io::Error::other("the file is missing")).and_then(content);
    let adoption = text.map_or_else(
        |error| Adoption::NeedsProcess(format!("the serving process did not receive the settings: {error}")),
        |text| orders.adopt(text, overrides, cause),
    );
    match adoption {
        Adoption::Adopted => AdoptionOutcome::Adopted,
        Adoption::NeedsProcess(reason) => AdoptionOutcome::NeedsProcess { reason: beginning(&reason) },
        Adoption::Refused(reason) => AdoptionOutcome::Refused { reason: beginning(&reason) },
    }
}

/// The content of a file that came with a message.
fn content(file: OwnedFd) -> io::Result<Vec<u8>> {
    let mut file = File::from(file);
    let mut content = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut content)?;
    Ok(content)
}

/// The bytes of a secret.
fn secret(text: &str) -> Option<[u8; 32]> {
    let mut secret = [0; 32];
    for (place, byte) in secret.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(secret)
}

/// The channel to the master for the final report.
#[derive(Debug)]
pub struct FinalReport {
    channel: Channel,
    answers: CommandAnswers,
}

impl FinalReport {
    /// Waits until all commands are answered ([`CommandAnswer::Later`]), and sends the final report, so that the counters are not
    /// lost.
    pub fn send(&self, report: Value) {
        self.answers.wait();
        let _ = reports::send(&self.channel, report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adopts all settings.
    struct Adopting;

    impl Orders for Adopting {
        fn leave(&mut self, _reason: StopReason) -> Option<Wait> {
            None
        }

        fn end(&mut self) {}

        fn reopen(&mut self) {}

        fn report(&mut self) -> Value {
            Value::Null
        }

        fn command(&mut self, _command: &Value) -> CommandAnswer {
            CommandAnswer::Now(Ok(String::new()))
        }

        fn adopt(&mut self, text: Vec<u8>, _overrides: Vec<Value>, _cause: AdoptionCause) -> Adoption {
            if text.is_empty() { Adoption::Adopted } else { Adoption::Refused(String::from_utf8(text).unwrap()) }
        }
    }

    #[test]
    fn settings_are_adopted_if_their_file_is_attached() {
        let outcome = adopt(&mut Adopting, Vec::new(), Vec::new(), AdoptionCause::Reload);
        assert!(
            matches!(&outcome, AdoptionOutcome::NeedsProcess { reason } if reason.ends_with("the file is missing"))
        );
        let outcome =
            adopt(&mut Adopting, vec![tempfile::tempfile().unwrap().into()], Vec::new(), AdoptionCause::Reload);
        assert!(matches!(outcome, AdoptionOutcome::Adopted));
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, b"no").unwrap();
        let outcome = adopt(&mut Adopting, vec![file.into()], Vec::new(), AdoptionCause::Reload);
        assert!(matches!(outcome, AdoptionOutcome::Refused { reason } if reason == "no"));
    }
}
