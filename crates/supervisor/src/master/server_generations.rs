//! The master's state machine, without I/O or clock.
//!
//! ```text
//!                      ready                    reload: another starts
//!  Starting (first) ──────────▶ one serves ──────────────────────────▶ one serves, one starts
//!        │ fails                 ▲  ▲ │ it crashes                          │ ready: the old one drains; the reload
//!        │                       │  │ │                                     │   is done when it stopped accepting
//!        ▼                 ready │  └─┼──────────────────────────────────── │ fails: only reported
//!   the master ends              │    ▼                                     ▼
//!                               one starts in its place                one serves
//! ```
//!
//! A reload begins with an adoption instead, if the serving generation is able to adopt settings, and is not told to be
//! replaced: `adoption.rs`.
//!
//! [`ServerGenerations::handle`] takes events, with the time since a fixed moment; [`ServerGenerations::poll_action`] returns the
//! actions to execute. [`ServerGenerations::deadline`] is the time at which [`Event::Tick`] is due.

mod adoption;

use std::{collections::VecDeque, mem, time::Duration};

use self::adoption::{Adoption, ReloadRequests};
use super::{
    action::{Action, Source, Way},
    control::{ProcessOfReload, Reloaded},
    crashes::Crashes,
    ending::Ending,
    event::Event,
};

/// All generations, and the pending requests.
#[derive(Debug, Default)]
pub(crate) struct ServerGenerations {
    /// The number of the latest generation.
    number: u64,
    starting: Option<Attempt>,
    serving: Option<Running>,
    draining: Vec<Draining>,
    /// The adoption that the serving generation was asked for. None starts meanwhile.
    adoption: Option<Adoption>,
    /// The number of the latest adoption.
    adoptions: u64,
    /// The requests for the next reload; if there are any, a reload is due.
    asking: ReloadRequests,
    /// Set from the start of a generation until it is the only one that accepts connections.
    handover: Option<Handover>,
    crashes: Crashes,
    /// When the replacement of a crashed generation starts.
    next_start: Option<Duration>,
    stop: Stop,
    actions: VecDeque<Action>,
}

/// A generation that is starting.
#[derive(Debug)]
struct Attempt {
    number: u64,
    /// `None` until it is spawned.
    pid: Option<u32>,
    since: Duration,
    reason: Reason,
    /// The error that it reported, or why it was killed.
    failure: Option<String>,
}

#[derive(Debug)]
enum Reason {
    /// It is the first.
    First,
    /// A reload, for these requests.
    Reload(ReloadRequests),
    /// The serving one crashed.
    Crash,
}

#[derive(Debug)]
struct Running {
    number: u64,
    pid: u32,
    since: Duration,
    timeouts: StopTimeouts,
    /// Whether it may be asked to adopt other settings.
    adopts: bool,
}

#[derive(Debug)]
struct Draining {
    running: Running,
    /// When it is killed.
    until: Option<Duration>,
    /// How long the end of its accepting is waited for; `None` once it has come.
    accepts_until: Option<Duration>,
}

/// Generations accept connections beside the serving one.
#[derive(Debug, Default)]
struct Handover {
    /// The reload requests to answer, each with its outcome so far.
    asking: Vec<(u64, Reloaded)>,
    /// A generation that has not reported the end of its accepting in time.
    still_accepts: Option<u64>,
}

/// The maximum duration of draining, which the generation reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StopTimeouts {
    /// After it was replaced.
    pub(crate) replaced: Duration,
    /// When the server stops.
    pub(crate) stopped: Duration,
}

/// The progress of stopping.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stop {
    /// Not stopping.
    #[default]
    No,
    /// Gracefully.
    InOrder,
    /// At once.
    Hasty,
    Over,
}

/// The stage of a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GenerationStage {
    Starting,
    Serving,
    Draining,
}

impl ServerGenerations {
    /// Starts the first.
    pub(crate) fn begin(now: Duration) -> Self {
        let mut generations = Self::default();
        generations.start(now, Reason::First);
        generations
    }

    /// The next action, if any.
    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`Event::Tick`] is due, if ever.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let starting = self.starting.as_ref().and_then(Attempt::deadline);
        let draining = self.draining.iter().flat_map(|draining| [draining.until, draining.accepts_until]).flatten();
        // A generation that is already starting may make another one unnecessary.
        let next = self.next_start.filter(|_| self.starting.is_none());
        draining.chain(starting).chain(next).chain(self.adoption_deadline()).min()
    }

    /// The running generations: number, process id, and stage.
    pub(crate) fn list(&self) -> impl Iterator<Item = (u64, u32, GenerationStage)> {
        let starting =
            self.starting.iter().filter_map(|attempt| Some((attempt.number, attempt.pid?, GenerationStage::Starting)));
        let serving = self.serving.iter().map(|running| (running.number, running.pid, GenerationStage::Serving));
        let draining = self
            .draining
            .iter()
            .map(|Draining { running, .. }| (running.number, running.pid, GenerationStage::Draining));
        starting.chain(serving).chain(draining)
    }

    /// Whether the master is stopping, with all generations.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stop != Stop::No
    }

    /// Whether one serves and no reload is under way or due, so that the next one has its own requests only.
    pub(crate) fn is_idle(&self) -> bool {
        let is_under_way = self.starting.is_some() || self.adoption.is_some() || self.handover.is_some();
        self.serving.is_some() && !is_under_way && self.asking.is_empty()
    }

    /// Whether the process is starting, and may request sockets: a serving generation talks to untrusted clients, and
    /// may be compromised.
    pub(crate) fn awaits(&self, pid: u32) -> bool {
        self.starting.as_ref().is_some_and(|attempt| attempt.pid == Some(pid) && attempt.failure.is_none())
    }

    /// Handles an event.
    pub(crate) fn handle(&mut self, now: Duration, event: Event) {
        match event {
            Event::Spawned(pid) => {
                if let Some(attempt) = &mut self.starting {
                    attempt.pid = Some(pid);
                }
            }
            Event::NotSpawned(reason) => self.fail(now, reason),
            Event::Ready { pid, timeouts, adopts } => self.handle_ready(now, pid, timeouts, adopts),
            Event::StoppedAccepting(pid) => {
                let draining = self.draining.iter_mut().find(|draining| draining.running.pid == pid);
                draining.into_iter().for_each(|draining| draining.accepts_until = None);
            }
            Event::Failed(pid, reason) => {
                if let Some(attempt) = self.starting.as_mut().filter(|attempt| attempt.pid == Some(pid)) {
                    attempt.failure = Some(reason);
                }
            }
            Event::Exited(pid, ending) => self.handle_exit(now, pid, ending),
            Event::Reload { asking, process } if self.stop == Stop::No => self.asking.add(asking, process),
            Event::Reload { asking, .. } => self.refuse(asking, "the server is stopping"),
            Event::BeginsToAdopt(pid, number) => self.note_begin_of_adoption(pid, number),
            Event::Adopted(pid, number) => self.handle_adopted(pid, number),
            Event::NotAdopted(pid, number, obstacle) => self.handle_not_adopted(pid, number, obstacle),
            Event::Stop => self.handle_stop(now),
            Event::Tick => self.handle_time(now),
        }
        self.end_handover();
        self.go_on(now);
    }

    /// Reports that the serving generation is the only one that accepts connections, once it is.
    fn end_handover(&mut self) {
        if self.draining.iter().any(|draining| draining.accepts_until.is_some()) {
            return;
        }
        let Some(Handover { asking, still_accepts }) = self.handover.take() else { return };
        if let Some(Running { number, pid, .. }) = self.serving {
            self.actions.push_back(Action::Alone(number, pid));
        }
        let answers = asking.into_iter().map(|(id, reloaded)| (id, Reloaded { still_accepts, ..reloaded }));
        self.actions.extend(answers.map(|(id, reloaded)| Action::Answer(id, Ok(reloaded))));
    }

    /// Starts or ends what the state allows now.
    fn go_on(&mut self, now: Duration) {
        match self.stop {
            Stop::No if self.starting.is_none() && self.adoption.is_none() => {
                if !self.asking.is_empty() {
                    self.begin_reload(now);
                } else if self.next_start.is_some_and(|start| start <= now) {
                    self.start(now, Reason::Crash);
                }
            }
            Stop::InOrder | Stop::Hasty if self.list().next().is_none() => {
                self.stop = Stop::Over;
                self.actions.push_back(Action::Exit);
            }
            _ => {}
        }
    }

    fn start(&mut self, now: Duration, reason: Reason) {
        self.number += 1;
        self.next_start = None;
        let source = match reason {
            Reason::First | Reason::Reload(_) => Source::File,
            Reason::Crash => Source::Accepted,
        };
        if let Reason::Reload(asking) = &reason {
            // With an adoption, the reload has begun already.
            self.actions.push_back(asking.obstacle().map_or(Action::Reloading, Action::NeedsProcess));
        }
        self.actions.push_back(Action::Spawn(self.number, source));
        self.starting = Some(Attempt { number: self.number, pid: None, since: now, reason, failure: None });
    }

    fn handle_ready(&mut self, now: Duration, pid: u32, timeouts: StopTimeouts, adopts: bool) {
        // A process that is being killed is not ready, even if it reported so before.
        if !self.awaits(pid) {
            return;
        }
        let Some(attempt) = self.starting.take() else { return };
        let running = Running { number: attempt.number, pid, since: now, timeouts, adopts };
        self.next_start = None;
        self.actions.push_back(Action::Serving(attempt.number, pid));
        if let Some(old) = self.serving.replace(running) {
            self.leave(now, old, Way::Replaced);
        }
        let handover = self.handover.get_or_insert_default();
        if let Reason::Reload(asking) = attempt.reason {
            let process = ProcessOfReload::New { reason: asking.obstacle() };
            let reloaded = Reloaded { number: attempt.number, process, still_accepts: None };
            handover.asking.extend(asking.ids().map(|id| (id, reloaded.clone())));
        }
    }

    fn leave(&mut self, now: Duration, running: Running, way: Way) {
        self.actions.push_back(Action::Leave(running.pid, way));
        let timeout = match way {
            Way::Replaced => running.timeouts.replaced,
            Way::Stopped => running.timeouts.stopped,
            Way::AtOnce => Duration::ZERO,
        };
        let until = now.checked_add(timeout).and_then(|until| until.checked_add(EXTRA));
        let accepts_until = (way == Way::Replaced).then(|| now.saturating_add(ACCEPTING_TIMEOUT));
        self.draining.push(Draining { running, until, accepts_until });
    }

    fn handle_exit(&mut self, now: Duration, pid: u32, ending: Ending) {
        if let Some(place) = self.draining.iter().position(|draining| draining.running.pid == pid) {
            let Draining { running, .. } = self.draining.remove(place);
            self.actions.push_back(Action::Left(running.number, pid, ending));
        } else if let Some(running) = self.serving.take_if(|running| running.pid == pid) {
            self.actions.push_back(Action::Crashed(running.number, pid, ending));
            self.give_up_adoption("the process that served has crashed");
            self.replace_crashed(now, now.saturating_sub(running.since));
        } else if let Some(attempt) = self.starting.as_mut().filter(|attempt| attempt.pid == Some(pid)) {
            let failure = attempt.failure.take();
            self.fail(now, failure.unwrap_or_else(|| format!("it ended before it was ready: {ending}")));
        }
    }

    /// Schedules the replacement of a generation that crashed after serving for this long.
    fn replace_crashed(&mut self, now: Duration, lived: Duration) {
        if self.stop == Stop::No {
            let pause = self.crashes.pause(lived);
            // A generation that is already starting takes its place; if it fails, another one has to.
            self.next_start = Some(now.saturating_add(pause));
        }
    }

    /// Handles the failure of the starting generation.
    fn fail(&mut self, now: Duration, failure: String) {
        let Some(attempt) = self.starting.take() else { return };
        if self.stop == Stop::No {
            self.actions.push_back(Action::NotStarted(attempt.number, failure.clone()));
        }
        match attempt.reason {
            Reason::First if self.stop == Stop::No => self.stop = Stop::InOrder,
            Reason::First => {}
            Reason::Reload(asking) => {
                self.refuse(asking.ids(), &failure);
                // It had replaced the start of a crashed generation's replacement.
                if self.serving.is_none() && self.next_start.is_none() {
                    self.replace_crashed(now, Duration::ZERO);
                }
            }
            Reason::Crash => self.replace_crashed(now, Duration::ZERO),
        }
    }

    fn refuse(&mut self, asking: impl IntoIterator<Item = u64>, failure: &str) {
        let answers = asking.into_iter().map(|id| Action::Answer(id, Err(failure.to_owned())));
        self.actions.extend(answers);
    }

    fn handle_stop(&mut self, now: Duration) {
        let way = match self.stop {
            Stop::No => {
                self.actions.push_back(Action::Close);
                self.stop = Stop::InOrder;
                Way::Stopped
            }
            Stop::InOrder => {
                self.stop = Stop::Hasty;
                Way::AtOnce
            }
            Stop::Hasty | Stop::Over => return,
        };
        self.next_start = None;
        if let Some(attempt) = &mut self.starting {
            attempt.failure.get_or_insert_with(|| "the server is stopping".to_owned());
            self.actions.extend(attempt.pid.map(Action::Kill));
        }
        let adopting = self.adoption.take().map(Adoption::end).unwrap_or_default();
        let asking = mem::take(&mut self.asking);
        self.refuse(adopting.ids().chain(asking.ids()), "the server is stopping");
        let running = mem::take(&mut self.draining).into_iter().map(|draining| draining.running);
        for running in running.chain(self.serving.take()).collect::<Vec<_>>() {
            self.leave(now, running, way);
        }
    }

    fn handle_time(&mut self, now: Duration) {
        if self.adoption_deadline().is_some_and(|deadline| deadline <= now) {
            self.give_up_adoption("the serving process has not answered");
        }
        if let Some(attempt) = &mut self.starting
            && attempt.deadline().is_some_and(|deadline| deadline <= now)
        {
            let seconds = START_TIMEOUT.as_secs();
            attempt.failure = Some(format!("it was not ready after {seconds} s, and was killed"));
            self.actions.extend(attempt.pid.map(Action::Kill));
        }
        for draining in &mut self.draining {
            if draining.accepts_until.take_if(|until| *until <= now).is_some() {
                let Running { number, pid, .. } = draining.running;
                self.actions.push_back(Action::StillAccepts(number, pid));
                self.handover.iter_mut().for_each(|handover| handover.still_accepts = Some(number));
            }
        }
        for draining in self.draining.iter_mut().filter(|draining| draining.until.is_some_and(|until| until <= now)) {
            draining.until = None;
            self.actions.push_back(Action::Kill(draining.running.pid));
        }
    }
}

impl Attempt {
    /// When it is killed; once.
    fn deadline(&self) -> Option<Duration> {
        let waits = self.pid.is_some() && self.failure.is_none();
        waits.then(|| self.since.saturating_add(START_TIMEOUT))
    }
}

/// The maximum duration of a start. Reading settings, certificates and folders takes milliseconds; this allows for a
/// disk or name server that hangs.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a reload waits for the end of accepting in the generation before, which takes milliseconds: one that hangs
/// does not delay the answer for longer.
const ACCEPTING_TIMEOUT: Duration = Duration::from_secs(5);

/// The time after which a generation that exceeds its own stop timeout is killed.
const EXTRA: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
