//! The driver: waits for events, passes them to the machine, and executes its actions.

mod adoption;
pub(super) mod changes;
mod starting;

use std::{
    collections::{HashMap, HashSet},
    mem,
    path::Path,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use serde_json::Value;
use serow_net::time;
use tokio::{
    sync::{
        mpsc::{self, Receiver, Sender},
        oneshot,
    },
    time::sleep,
};

use self::changes::Changes;
use super::{
    Duties, MasterError,
    action::{Action, Source, Way},
    child::{Child, ReceivedMessage, SharedFiles},
    control::{Control, Events, GenerationReport, Reloaded, Report, Request, WantedProcess},
    ending::Ending,
    event::Event,
    gathering::Gathering,
    held::HeldSockets,
    messages::{AdminPlace, FromGeneration, ToGeneration},
    overrides::{NOBODY, Overrides},
    program_file::ProgramFile,
    quic_sockets::QuicSockets,
    server_generations::{GenerationStage, ServerGenerations},
};
use crate::{
    notifications::tell_parent,
    signals::{Caught, Signals},
};

/// The driver of a master.
pub(super) struct Driver<D> {
    duties: D,
    began: Instant,
    machine: ServerGenerations,
    held: HeldSockets,
    quic: QuicSockets,
    /// The secret with which all generations make stateless resets and tokens of QUIC, and the keys of session
    /// tickets, in hexadecimal.
    generation_secret: String,
    children: HashMap<u32, Child>,
    /// The settings of the starting generation or of the pending adoption, and of the serving generation.
    text: Vec<u8>,
    accepted: Vec<u8>,
    /// The program of the starting generation, and of the serving one.
    program: Option<ProgramFile>,
    accepted_program: Option<ProgramFile>,
    /// The place and the token of the admin socket.
    admin: (AdminPlace, Option<String>),
    control: Control,
    requests: Receiver<Request>,
    /// The reload requests, by number.
    asking: HashMap<u64, oneshot::Sender<Result<Reloaded, String>>>,
    asked: u64,
    changes: Changes,
    gathering: Option<Gathering>,
    overrides: Overrides,
    /// The files that generations share, once there is one.
    shared: Option<SharedFiles>,
    /// The bytes of the memory among them.
    shared_memory: usize,
    ended: Option<Value>,
    events: Events,
    /// Whether the starting generation or the pending adoption is a reload.
    reloading: bool,
    received: (Sender<ReceivedMessage>, Receiver<ReceivedMessage>),
    signals: Signals,
}

impl<D: Duties> Driver<D> {
    pub(super) fn new(duties: D, signals: Signals, shared_memory: usize) -> Self {
        let (control, requests) = Control::new();
        Self {
            duties,
            began: time::now(),
            machine: ServerGenerations::begin(Duration::ZERO),
            held: HeldSockets::default(),
            quic: QuicSockets::default(),
            generation_secret: random_secret(),
            children: HashMap::new(),
            text: Vec::new(),
            accepted: Vec::new(),
            program: None,
            accepted_program: None,
            admin: (AdminPlace::Off, None),
            control,
            requests,
            asking: HashMap::new(),
            asked: 0,
            changes: Changes::default(),
            gathering: None,
            overrides: Overrides::default(),
            shared: None,
            shared_memory,
            ended: None,
            events: Events::default(),
            reloading: false,
            received: mpsc::channel(MESSAGES_AHEAD),
            signals,
        }
    }

    /// Runs until the server is stopped and all generations have ended. Needs a local runtime of tokio.
    pub(super) async fn run(mut self) -> Result<(), MasterError> {
        loop {
            if let Some(outcome) = self.act() {
                return outcome;
            }
            if self.begin_changes() {
                continue;
            }
            self.answer_report();
            self.wait().await;
            while let Ok(message) = self.received.1.try_recv() {
                self.handle_message(message);
            }
            self.reap();
            self.handle(Event::Tick);
        }
    }

    fn handle(&mut self, event: Event) {
        self.machine.handle(time::now().duration_since(self.began), event);
    }

    /// Waits for an event, and passes it to the machine.
    async fn wait(&mut self) {
        let machine =
            self.machine.deadline().map(|deadline| deadline.saturating_sub(time::now().duration_since(self.began)));
        let report = self.gathering.as_ref().map(Gathering::remaining);
        let pause = machine.into_iter().chain(report).min().unwrap_or(Duration::MAX);
        tokio::select! {
            caught = self.signals.poll() => self.handle_signal(caught),
            Some(message) = self.received.1.recv() => self.handle_message(message),
            Some(request) = self.requests.recv() => self.handle_request(request),
            () = sleep(pause) => {}
        }
    }

    fn handle_signal(&mut self, caught: Caught) {
        match caught {
            Caught::Hangup => self.handle(Event::Reload { asking: None, process: WantedProcess::IfNeeded }),
            Caught::Stop(_) => self.handle(Event::Stop),
            Caught::Reopen => self.children.values().for_each(|child| child.tell(&ToGeneration::Reopen)),
            Caught::Child | Caught::Alarm => {}
        }
    }

    fn handle_request(&mut self, request: Request) {
        match request {
            Request::Reload { process, answer } => {
                self.asked += 1;
                self.asking.insert(self.asked, answer);
                self.handle(Event::Reload { asking: Some(self.asked), process });
            }
            // Only a second signal is urgent; `serow stop` may be run again to wait for longer.
            Request::Stop if self.machine.is_stopping() => {}
            Request::Stop => self.handle(Event::Stop),
            Request::Change { change, answer } => self.add_change(change, answer),
            Request::Command { command, persist, answer } => self.pass_on(command, persist, answer),
            Request::Report(answer) => match &mut self.gathering {
                Some(gathering) => gathering.add(answer),
                None => self.gather(answer),
            },
        }
    }

    /// Sends a command to the serving generation and to the draining ones.
    fn pass_on(&mut self, command: Value, persist: bool, answer: oneshot::Sender<Result<String, String>>) {
        let all: Vec<_> = self.machine.list().map(|(_, pid, stage)| (pid, stage)).collect();
        let Some((serving, _)) = all.iter().find(|(_, stage)| *stage == GenerationStage::Serving) else {
            // The asker may have gone.
            let _ = answer.send(Err("no generation is serving at present: try again".to_owned()));
            return;
        };
        let number = self.overrides.begin(*serving, command.clone(), persist, answer);
        for (pid, stage) in &all {
            let number = match stage {
                GenerationStage::Serving => number,
                GenerationStage::Draining => NOBODY,
                GenerationStage::Starting => continue,
            };
            if let Some(child) = self.children.get(pid) {
                child.tell(&ToGeneration::Command { number, command: command.clone() });
            }
        }
    }

    /// Requests the reports of the serving and draining generations; a starting one does not answer yet.
    fn gather(&mut self, answer: oneshot::Sender<Report>) {
        let started = self.machine.list().filter(|(_, _, stage)| *stage != GenerationStage::Starting);
        let asked: HashSet<_> = started.map(|(_, pid, _)| pid).collect();
        for pid in &asked {
            if let Some(child) = self.children.get_mut(pid) {
                child.ask_for_report();
            }
        }
        self.gathering = Some(Gathering::begin(asked, answer));
    }

    fn handle_message(&mut self, (pid, message): ReceivedMessage) {
        match message {
            FromGeneration::Listen { .. } | FromGeneration::ListenQuic { .. } | FromGeneration::Ready { .. }
                if !self.machine.awaits(pid) =>
            {
                tracing::warn!(pid, "ignored a request of a generation that only a starting one may send");
            }
            FromGeneration::Listen { listeners } => self.hand_over(pid, &listeners),
            FromGeneration::ListenQuic { addresses, workers } => self.hand_over_quic(pid, &addresses, workers),
            ready @ FromGeneration::Ready { .. } => self.handle_ready(pid, ready),
            FromGeneration::ReceivedChange { number, change } => self.add_change_of(pid, number, change),
            FromGeneration::Execute { number, command, persist } => self.execute_for(pid, number, command, persist),
            FromGeneration::Adopting { number } => self.handle(Event::BeginsToAdopt(pid, number)),
            FromGeneration::Adopted { number, .. } if !self.machine.awaits_adoption(pid, number) => {
                tracing::warn!(pid, "ignored an answer of a generation about settings that it did not have to adopt");
            }
            FromGeneration::Adopted { number, outcome } => self.handle_adoption(pid, number, outcome),
            FromGeneration::StoppedAccepting => self.handle(Event::StoppedAccepting(pid)),
            FromGeneration::Failed { reason } => self.handle(Event::Failed(pid, reason)),
            FromGeneration::Report { report } => {
                if let Some(child) = self.children.get_mut(&pid) {
                    child.take_report(report);
                }
                if let Some(gathering) = &mut self.gathering {
                    gathering.note(pid);
                }
            }
            FromGeneration::CommandDone { number, outcome } => {
                let remember = |remembered: &mut Vec<Value>, command: &Value| self.duties.remember(remembered, command);
                self.overrides.answer(pid, number, outcome, remember);
            }
            FromGeneration::Nonsense { error } => {
                tracing::error!(pid, error, "received an invalid message from a generation");
                if self.machine.awaits(pid) {
                    self.give_up(pid, format!("its messages are not compatible with this master ({error}); restart"));
                }
            }
            // One without its file.
            FromGeneration::LongReport | FromGeneration::Change { .. } | FromGeneration::Unknown => {}
        }
    }

    /// Fails the starting generation, for this reason.
    fn give_up(&mut self, pid: u32, reason: String) {
        self.handle(Event::Failed(pid, reason));
        kill(pid);
    }

    /// Reaps all children that have ended. As process 1 of a container this process also reaps orphans.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            let pid = pid.as_raw_nonzero().get().unsigned_abs();
            let Some(child) = self.children.get(&pid) else { continue };
            for message in child.remaining_messages() {
                self.handle_message((pid, message));
            }
            if let Some(report) = self.children.remove(&pid).and_then(|mut child| child.report.take()) {
                self.duties.add(self.ended.get_or_insert(Value::Null), &report);
            }
            if let Some(gathering) = &mut self.gathering {
                gathering.note(pid);
            }
            self.overrides.end(pid);
            let ending = Ending::from(status);
            self.quic.end(pid, ending != Ending::Done);
            self.handle(Event::Exited(pid, ending));
        }
    }

    /// Executes the machine's actions; returns the outcome at the end.
    fn act(&mut self) -> Option<Result<(), MasterError>> {
        while let Some(action) = self.machine.poll_action() {
            match action {
                Action::Exit if self.accepted.is_empty() && self.events.last_failure.is_some() => {
                    return Some(Err(MasterError::NotStarted(self.events.last_failure.take().unwrap_or_default())));
                }
                Action::Exit => return Some(Ok(())),
                Action::Reloading | Action::Adopt(..) | Action::Adopted(..) => self.reload(action),
                Action::NeedsProcess(_) | Action::NotAdopted(_) => self.reload(action),
                Action::Spawn(number, source) => {
                    let event = self.spawn(number, source).map_or_else(Event::NotSpawned, Event::Spawned);
                    self.handle(event);
                }
                Action::Serving(_, pid) => self.begin_serving(pid),
                Action::Alone(number, pid) => {
                    tell_parent("READY=1");
                    tracing::info!(pid, "generation {number} is serving");
                }
                Action::StillAccepts(number, pid) => tracing::warn!(
                    pid,
                    "generation {number} was replaced, and has not reported that it stopped accepting connections: it may \
                     still answer some with the old settings; 'serow status' shows whether it answers"
                ),
                Action::Leave(pid, way) => self.tell_to_stop(pid, way),
                Action::Kill(pid) => kill(pid),
                Action::Left(number, pid, Ending::Done) => tracing::info!(pid, "generation {number} has exited"),
                Action::Left(number, pid, ending) => {
                    tracing::warn!(pid, "generation {number} exited abnormally while draining ({ending})");
                }
                Action::Crashed(number, pid, ending) => {
                    self.events.crashes += 1;
                    tracing::error!(pid, "generation {number} crashed ({ending}); starting another one");
                }
                Action::NotStarted(number, failure) => self.note_failure(number, failure),
                Action::Answer(id, outcome) => self.answer_reload(id, outcome),
                Action::Close => {
                    tell_parent("STOPPING=1");
                    self.held.close();
                }
            }
        }
        None
    }

    fn answer_reload(&mut self, id: u64, outcome: Result<Reloaded, String>) {
        let Some(outcome) = self.end_changes(id, outcome) else { return };
        if let Some(answer) = self.asking.remove(&id) {
            // The asker may have gone.
            let _ = answer.send(outcome);
        }
    }

    fn spawn(&mut self, number: u64, source: Source) -> Result<u32, String> {
        self.text = match source {
            Source::File => self.duties.settings()?,
            Source::Accepted => self.accepted.clone(),
        };
        let command = self.duties.command();
        let program = command.get_program().to_owned();
        // Before it starts: one that changes meanwhile is another one.
        self.program = ProgramFile::at(Path::new(&program));
        let shared = match self.shared.take() {
            Some(shared) => shared,
            None => SharedFiles::create(self.shared_memory)
                .map_err(|error| format!("cannot create a file in memory: {error}"))?,
        };
        let shared = self.shared.insert(shared);
        let remembered = &self.overrides.remembered;
        let spawned = Child::spawn(
            command,
            number,
            &self.text,
            remembered,
            &self.generation_secret,
            shared,
            self.received.0.clone(),
        );
        let (pid, child) = spawned.map_err(|error| format!("cannot start {}: {error}", program.display()))?;
        self.children.insert(pid, child);
        Ok(pid)
    }

    fn begin_serving(&mut self, pid: u32) {
        self.accepted = mem::take(&mut self.text);
        self.accepted_program = self.program.take();
        // It did not get the commands that were executed while it started.
        self.remind(pid);
        // Before the old one begins to drain: from here on it gets no new connections.
        self.quic.begin_serving(pid);
        self.held.keep().iter().for_each(|line| tracing::warn!("{line}"));
        self.events.reloads += u64::from(mem::take(&mut self.reloading));
        self.events.last_failure = None;
    }

    /// Sends a generation the remembered overrides.
    fn remind(&self, pid: u32) {
        let Some(child) = self.children.get(&pid) else { return };
        let remembered = self.overrides.remembered.iter().cloned();
        remembered.for_each(|command| child.tell(&ToGeneration::Command { number: NOBODY, command }));
    }

    fn note_failure(&mut self, number: u64, failure: String) {
        self.held.give_up();
        if mem::take(&mut self.reloading) {
            self.events.failed_reloads += 1;
            tracing::error!(
                "reload failed, the old settings stay in effect: generation {number} did not start: {failure}"
            );
            tell_parent("READY=1");
        } else if number > 1 {
            tracing::error!("generation {number} did not start: {failure}");
        }
        self.events.last_failure = Some(failure);
    }

    fn tell_to_stop(&self, pid: u32, way: Way) {
        let word = match way {
            Way::Replaced => ToGeneration::Leave { replaced: true },
            Way::Stopped => ToGeneration::Leave { replaced: false },
            Way::AtOnce => ToGeneration::End,
        };
        if let Some(child) = self.children.get(&pid) {
            child.tell(&word);
        }
    }

    /// Sends the status report, once all generations have answered, or the time is over.
    fn answer_report(&mut self) {
        let Some(gathering) = self.gathering.take_if(|gathering| gathering.is_complete()) else { return };
        let generations = self.machine.list().map(|(number, pid, stage)| GenerationReport {
            number,
            pid,
            stage: stage.name(),
            report: self.children.get(&pid).and_then(|child| child.report.clone()),
            answers: stage != GenerationStage::Starting && !gathering.misses(pid),
        });
        let report = Report {
            generations: generations.collect(),
            ended: self.ended.clone(),
            events: self.events.clone(),
            remembered: self.overrides.remembered.clone(),
        };
        gathering.answer(&report);
    }
}

/// A process that has already ended does not need a signal.
fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// 32 random bytes, in hexadecimal.
fn random_secret() -> String {
    let mut secret = [0; 32];
    // Since Linux 3.17; without it no TLS handshake succeeds either.
    let _ = rustix::rand::getrandom(&mut secret, rustix::rand::GetRandomFlags::empty());
    secret.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The maximum number of queued messages: generations that send more have to wait.
const MESSAGES_AHEAD: usize = 64;
