//! The supervisor's state machine, without I/O or clock.
//!
//! ```text
//!            first start                     all are up
//!  (new) ───────────────────▶ Starting ─────────────────────▶ Running ◀─────────────┐
//!                              ▲  │ ▲                          │  │                 │ old workers
//!              a worker failed │  │ │ a worker died, HUP,      │  │                 │ are told to end
//!                              └──┘ └──── automatic restart ───┘  │                 │
//!                                 │ all are up, and replace       │               Delaying
//!                                 └───────────────────────────────┼────────────────▶┘
//!                                           TERM, INT, QUIT       ▼
//!                                  from any of them ─────────▶ Stopping ──▶ Ended, when all workers have
//! ```
//!
//! [`Machine::handle`] takes events, with the time since a fixed moment; [`Machine::poll_action`] returns the actions
//! to execute. [`Machine::deadline`] is the time at which [`Event::Tick`] is due.

mod action;
mod event;
mod settings;
mod start;
#[cfg(test)]
mod tests;
mod worker;

use std::{collections::VecDeque, time::Duration};

use self::start::Start;
pub use self::{
    action::Action,
    event::Event,
    settings::{MachineSettings, Readiness, Rules},
    worker::Worker,
};

/// The state.
#[derive(Debug)]
pub struct Machine {
    settings: MachineSettings,
    rules: Rules,
    phase: Phase,
    /// The number of the latest start.
    generation: u64,
    current: Vec<Worker>,
    /// Those that are, or will be, replaced.
    old: Vec<Worker>,
    /// New generations that are wanted and not yet begun.
    wanted: u32,
    /// When the latest start was complete.
    complete_since: Duration,
    actions: VecDeque<Action>,
}

#[derive(Debug)]
enum Phase {
    New,
    Starting(Start),
    /// The old workers go on beside the new ones until then.
    Delaying(Duration),
    Running,
    /// Since this time.
    Stopping(Duration),
    Ended,
}

impl Machine {
    /// Nothing runs yet: the first [`Event::Tick`] begins.
    #[must_use]
    pub fn new(settings: MachineSettings, rules: Rules) -> Self {
        Self {
            settings,
            rules,
            phase: Phase::New,
            generation: 0,
            current: Vec::new(),
            old: Vec::new(),
            wanted: 0,
            complete_since: Duration::ZERO,
            actions: VecDeque::new(),
        }
    }

    /// Sets the rules that hold from now on.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
    }

    /// Takes the next action, if there is one.
    pub fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`Event::Tick`] is due, if ever.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        match &self.phase {
            Phase::New => Some(Duration::ZERO),
            Phase::Starting(start) => start.deadline(&self.settings),
            Phase::Delaying(until) => Some(*until),
            Phase::Running => self.rules.auto_restart.map(|interval| {
                let interval = if self.old.is_empty() { interval } else { interval.saturating_mul(2) };
                self.complete_since.saturating_add(interval)
            }),
            Phase::Stopping(_) | Phase::Ended => None,
        }
    }

    /// Takes notice of what happened.
    pub fn handle(&mut self, now: Duration, event: Event) {
        match event {
            Event::Stop(signal) => self.stop(now, signal),
            Event::Exited(pid, status) => self.handle_exit(now, pid, status),
            Event::Hangup => self.wanted = self.wanted.saturating_add(1),
            Event::Tick if matches!(self.phase, Phase::New) => self.begin(self.settings.workers),
            Event::Tick => self.handle_time(now),
            Event::Spawned { .. } | Event::NotSpawned(_) | Event::Notified(_) | Event::Healthy(_) => {
                if let Phase::Starting(start) = &mut self.phase {
                    start.handle(now, &event, &self.settings, &mut self.actions);
                }
            }
        }
        self.go_on(now);
    }

    /// Whatever the state allows by now.
    fn go_on(&mut self, now: Duration) {
        if let Phase::Starting(start) = &mut self.phase
            && let Some(workers) = start.take_complete()
        {
            self.current.extend(workers);
            self.complete_since = now;
            self.write_status();
            self.actions.push_back(Action::Ready);
            self.phase = Phase::Running;
            if self.old.iter().any(|worker| !worker.told_to_end) {
                self.hand_over(now);
            }
        }
        if matches!(self.phase, Phase::Running) && self.wanted > 0 {
            self.wanted -= 1;
            self.log("received HUP, spawning a new worker".to_owned());
            self.replace();
        }
    }

    fn handle_time(&mut self, now: Duration) {
        match &mut self.phase {
            Phase::Starting(start) => {
                start.handle_time(now, &self.settings, &mut self.generation, &mut self.actions);
            }
            Phase::Delaying(until) if *until <= now => self.end_old(),
            Phase::Running if self.wanted == 0 => self.restart_by_time(now),
            _ => {}
        }
    }

    fn restart_by_time(&mut self, now: Duration) {
        let Some(interval) = self.rules.auto_restart else { return };
        let elapsed = now.saturating_sub(self.complete_since);
        let forced = match (elapsed >= interval, self.old.is_empty()) {
            (true, true) => "",
            (true, false) if elapsed >= interval.saturating_mul(2) => "forced, ",
            _ => return,
        };
        self.log(format!("autorestart triggered ({forced}interval={})", seconds(interval)));
        self.replace();
    }

    /// Begins to start so many workers.
    fn begin(&mut self, count: usize) {
        self.generation += 1;
        self.phase = Phase::Starting(Start::new(self.generation, count, &mut self.actions));
    }

    /// Begins a generation that replaces what runs.
    fn replace(&mut self) {
        self.old.append(&mut self.current);
        self.begin(self.settings.workers);
    }

    /// The new workers are up: the old ones have to go, at once or a little later.
    fn hand_over(&mut self, now: Duration) {
        let signal = &self.settings.signal_on_hup;
        self.log(format!("new worker is now running, sending {signal} to old workers:{}", list(&self.old)));
        let delay = self.rules.kill_old_delay;
        if delay.is_zero() {
            return self.end_old();
        }
        self.log(format!("sleeping {} secs before killing old workers", seconds(delay)));
        self.phase = Phase::Delaying(now.saturating_add(delay));
    }

    fn end_old(&mut self) {
        self.phase = Phase::Running;
        self.log("killing old workers".to_owned());
        self.kill_old(self.settings.signal_on_hup.clone());
    }

    fn kill_old(&mut self, signal: String) {
        self.old.iter_mut().for_each(|worker| worker.told_to_end = true);
        if !self.old.is_empty() {
            self.actions.push_back(Action::Kill(signal, sorted(&self.old)));
        }
    }

    fn handle_exit(&mut self, now: Duration, pid: u32, status: i32) {
        if let Some(place) = self.old.iter().position(|worker| worker.pid == pid) {
            self.old.remove(place);
            match self.phase {
                Phase::Stopping(_) => self.log(format!("worker {pid} died, status:{status}")),
                _ => self.log(format!("old worker {pid} died, status:{status}")),
            }
            self.write_status();
        } else if let Some(place) = self.current.iter().position(|worker| worker.pid == pid) {
            let worker = self.current.remove(place);
            self.log(format!("worker {pid} died unexpectedly with status:{status}, restarting"));
            let place = worker.next_start(self.settings.interval).max(now);
            match &mut self.phase {
                Phase::Starting(start) => start.add(place),
                _ => self.phase = Phase::Starting(Start::waiting(place)),
            }
            self.handle_time(now);
        } else if let Phase::Starting(start) = &mut self.phase {
            start.handle_exit(now, pid, status, &self.settings, &mut self.actions);
        }
        self.end_if_alone();
    }

    fn stop(&mut self, now: Duration, signal: &'static str) {
        let phase = match self.phase {
            Phase::Stopping(since) if now.saturating_sub(since) >= MIN_GRACE => {
                self.log(format!("received {signal} again, sending KILL to all workers:{}", list(&self.old)));
                return self.kill_old("KILL".to_owned());
            }
            // It is under way, and takes as long as the workers take.
            Phase::Stopping(_) | Phase::Ended => return,
            _ => std::mem::replace(&mut self.phase, Phase::Stopping(now)),
        };
        self.old.append(&mut self.current);
        if let Phase::Starting(start) = phase {
            self.old.extend(start.into_workers());
        }
        let passed_on = if signal == "TERM" { self.settings.signal_on_term.clone() } else { "TERM".to_owned() };
        self.log(format!("received {signal}, sending {passed_on} to all workers:{}", list(&self.old)));
        self.kill_old(passed_on);
        self.end_if_alone();
    }

    fn end_if_alone(&mut self) {
        if matches!(self.phase, Phase::Stopping(_)) && self.old.is_empty() {
            self.phase = Phase::Ended;
            self.log("exiting".to_owned());
            self.actions.push_back(Action::Exit);
        }
    }

    fn log(&mut self, line: String) {
        self.actions.push_back(Action::Log(line));
    }

    /// Server::Starter sorts the lines as text.
    fn write_status(&mut self) {
        let mut lines: Vec<_> = self.current.iter().chain(&self.old).map(|w| (w.generation, w.pid)).collect();
        lines.sort_by_key(|(generation, pid)| (generation.to_string(), *pid));
        self.actions.push_back(Action::WriteStatus(lines));
    }
}

/// A second signal within this time after the first is the same one: a terminal and a process manager send it to all
/// processes of a group, and the supervisor may get it from both.
const MIN_GRACE: Duration = Duration::from_secs(1);

/// Process ids, sorted as text, as Server::Starter does.
fn sorted(workers: &[Worker]) -> Vec<u32> {
    let mut pids: Vec<_> = workers.iter().map(|worker| worker.pid).collect();
    pids.sort_by_key(u32::to_string);
    pids
}

fn list(workers: &[Worker]) -> String {
    match sorted(workers)[..] {
        [] => "none".to_owned(),
        ref pids => pids.iter().map(u32::to_string).collect::<Vec<_>>().join(","),
    }
}

/// `2`, or `0.5`.
fn seconds(span: Duration) -> String {
    span.as_secs_f64().to_string()
}
