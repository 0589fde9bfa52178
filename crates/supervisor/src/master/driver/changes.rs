//! Changes of the settings beside the file: those that come while a reload is under way are made together in the next one, and
//! one by one where that fails. They come over the admin socket, or from the serving generation.

use std::collections::VecDeque;

use serde_json::Value;
use tokio::sync::oneshot;

use super::Driver;
use crate::master::{
    Duties,
    control::{ChangeError, Changed, Reloaded, STOPPING, WantedProcess},
    event::Event,
    server_generations::GenerationStage,
};

/// The answer to a change.
pub(in crate::master) type ChangeAnswer = oneshot::Sender<Result<Changed, ChangeError>>;

/// A change that was requested.
#[derive(Debug)]
struct AskedChange {
    change: Value,
    /// The generation that asked for it, if it was one.
    generation: Option<u32>,
    answer: ChangeAnswer,
}

/// The changes that were requested.
#[derive(Debug, Default)]
pub(super) struct Changes {
    waiting: VecDeque<AskedChange>,
    /// How many of those that wait are made alone, since they could not be made together.
    alone: usize,
    /// Those that are being made, with the number of their reload.
    made: Option<(u64, Vec<AskedChange>)>,
}

impl Changes {
    /// The number of the reload that makes changes, if one does.
    pub(super) fn reload(&self) -> Option<u64> {
        self.made.as_ref().map(|(reload, _)| *reload)
    }
}

impl<D: Duties> Driver<D> {
    /// Adds a change.
    pub(super) fn add_change(&mut self, change: Value, answer: ChangeAnswer) {
        self.changes.waiting.push_back(AskedChange { change, generation: None, answer });
    }

    /// Adds a change that a generation asks for. Only the serving one may, and if it has announced that it will: it talks to
    /// untrusted clients, and may be compromised.
    pub(super) fn add_change_of(&mut self, pid: u32, number: u64, change: Value) {
        let Some(child) = self.children.get(&pid) else { return };
        let (answer, answered) = oneshot::channel();
        child.tell_outcome(number, answered);
        let obstacle = if let Some(obstacle) = self.obstacle_of(pid) {
            Some(obstacle)
        } else if self.changes.waiting.len() >= MAX_WAITING {
            Some("too many changes wait: try again later")
        } else {
            None
        };
        match obstacle {
            // The asker may have gone.
            Some(obstacle) => drop(answer.send(Err(ChangeError::NotNow(obstacle.to_owned())))),
            None => self.changes.waiting.push_back(AskedChange { change, generation: Some(pid), answer }),
        }
    }

    /// Executes a command that a generation asks for, as one from the admin socket. Likewise, only the serving one may ask.
    pub(super) fn execute_for(&mut self, pid: u32, number: u64, command: Value, persist: bool) {
        let Some(child) = self.children.get(&pid) else { return };
        let (answer, answered) = oneshot::channel();
        child.tell_executed(number, answered);
        match self.obstacle_of(pid) {
            Some(obstacle) => drop(answer.send(Err(obstacle.to_owned()))),
            None => self.pass_on(command, persist, answer),
        }
    }

    /// Why a generation cannot ask for changes.
    fn obstacle_of(&self, pid: u32) -> Option<&'static str> {
        let is_serving =
            self.machine.list().any(|(_, serving, stage)| serving == pid && stage == GenerationStage::Serving);
        match self.children.get(&pid) {
            Some(child) if child.may_change && is_serving => None,
            Some(child) if child.may_change => Some("only the process that serves can change the settings"),
            _ => Some("this process has not announced changes of the settings"),
        }
    }

    /// Begins the next changes where no reload is under way, whose requests would get their outcome. Whether some have begun.
    pub(super) fn begin_changes(&mut self) -> bool {
        if self.machine.is_stopping() {
            let stopping = ChangeError::NotNow(STOPPING.to_owned());
            answer_all(self.changes.waiting.drain(..), &stopping);
            return false;
        }
        if self.changes.made.is_some() || !self.machine.is_idle() {
            return false;
        }
        let mut made = Vec::new();
        while made.is_empty() || self.changes.alone == 0 && made.len() < MAX_TOGETHER {
            let Some(asked) = self.changes.waiting.pop_front() else { break };
            self.changes.alone = self.changes.alone.saturating_sub(1);
            // Another one may serve by now, which knows better.
            let proposed = if asked.generation.is_some_and(|pid| !self.is_serving(pid)) {
                Err(ChangeError::NotNow("only the process that serves can change the settings".to_owned()))
            } else {
                self.duties.propose(&asked.change).map_err(ChangeError::Refused)
            };
            match proposed {
                Ok(()) => made.push(asked),
                Err(error) => drop(asked.answer.send(Err(error))),
            }
        }
        if made.is_empty() {
            return false;
        }
        self.asked += 1;
        self.changes.made = Some((self.asked, made));
        self.handle(Event::Reload { asking: Some(self.asked), process: WantedProcess::IfNeeded });
        true
    }

    fn is_serving(&self, pid: u32) -> bool {
        self.machine.list().any(|(_, serving, stage)| serving == pid && stage == GenerationStage::Serving)
    }

    /// Ends the changes whose reload has this number; gives the outcome back where it is not of changes.
    pub(super) fn end_changes(
        &mut self,
        id: u64,
        outcome: Result<Reloaded, String>,
    ) -> Option<Result<Reloaded, String>> {
        let Some((_, made)) = self.changes.made.take_if(|(reload, _)| *reload == id) else { return Some(outcome) };
        match outcome {
            Ok(reloaded) => self.keep_changes(made, &reloaded),
            Err(reason) => {
                self.duties.withdraw();
                if made.len() == 1 {
                    answer_all(made, &ChangeError::Invalid(reason));
                } else {
                    // One of them is wrong: the others are not to suffer.
                    self.changes.alone = made.len();
                    made.into_iter().rev().for_each(|change| self.changes.waiting.push_front(change));
                }
            }
        }
        None
    }

    fn keep_changes(&mut self, made: Vec<AskedChange>, reloaded: &Reloaded) {
        let mut kept = self.duties.keep().into_iter();
        let mut is_taken_back = false;
        for AskedChange { answer, .. } in made {
            let outcome = kept.next().unwrap_or_else(|| Err("the change was not proposed".to_owned()));
            is_taken_back |= outcome.is_err();
            let outcome = outcome.map(|kept| Changed { reloaded: reloaded.clone(), kept });
            let _ = answer.send(outcome.map_err(ChangeError::NotKept));
        }
        if is_taken_back {
            // It would be gone after a restart.
            self.handle(Event::Reload { asking: None, process: WantedProcess::IfNeeded });
        }
    }
}

fn answer_all(changes: impl IntoIterator<Item = AskedChange>, error: &ChangeError) {
    for AskedChange { answer, .. } in changes {
        let _ = answer.send(Err(error.clone()));
    }
}

/// Changes that are made at the same time: each is written to the disk by itself, during which the master does nothing else.
const MAX_TOGETHER: usize = 256;

/// Changes that wait when a generation asks for another one: a compromised one is not to fill the memory of the master.
const MAX_WAITING: usize = 1024;
