//! Changes of the settings beside the file: one after the other, each alone in its reload.

use std::{collections::VecDeque, mem};

use serde_json::Value;
use tokio::sync::oneshot;

use super::Driver;
use crate::master::{
    Duties,
    control::{ChangeError, Changed, Reloaded, WantedProcess},
    event::Event,
};

/// The answer to a change.
pub(in crate::master) type ChangeAnswer = oneshot::Sender<Result<Changed, ChangeError>>;

/// The changes that were requested.
#[derive(Debug, Default)]
pub(super) struct Changes {
    waiting: VecDeque<(Value, ChangeAnswer)>,
    /// The one that is being made, with the number of its reload.
    made: Option<(u64, ChangeAnswer)>,
}

impl<D: Duties> Driver<D> {
    /// Adds a change.
    pub(super) fn add_change(&mut self, change: Value, answer: ChangeAnswer) {
        self.changes.waiting.push_back((change, answer));
    }

    /// Begins the next change where no reload is under way, whose requests would get its outcome. Whether one has begun.
    pub(super) fn begin_change(&mut self) -> bool {
        if self.machine.is_stopping() {
            for (_, answer) in mem::take(&mut self.changes.waiting) {
                // The asker may have gone.
                let _ = answer.send(Err(ChangeError::Invalid("the server is stopping".to_owned())));
            }
            return false;
        }
        if self.changes.made.is_some() || !self.machine.is_idle() {
            return false;
        }
        while let Some((change, answer)) = self.changes.waiting.pop_front() {
            match self.duties.propose(&change) {
                Ok(()) => {
                    self.asked += 1;
                    self.changes.made = Some((self.asked, answer));
                    self.handle(Event::Reload { asking: Some(self.asked), process: WantedProcess::IfNeeded });
                    return true;
                }
                Err(refusal) => drop(answer.send(Err(ChangeError::Refused(refusal)))),
            }
        }
        false
    }

    /// Ends the change whose reload has this number; gives the outcome back where it is not of a change.
    pub(super) fn end_change(
        &mut self,
        id: u64,
        outcome: Result<Reloaded, String>,
    ) -> Option<Result<Reloaded, String>> {
        let Some((_, answer)) = self.changes.made.take_if(|(reload, _)| *reload == id) else { return Some(outcome) };
        let outcome = match outcome {
            Ok(reloaded) => match self.duties.keep() {
                Ok(kept) => Ok(Changed { reloaded, kept }),
                Err(reason) => {
                    // It would be gone after a restart: it is taken back.
                    self.duties.withdraw();
                    self.handle(Event::Reload { asking: None, process: WantedProcess::IfNeeded });
                    Err(ChangeError::NotKept(reason))
                }
            },
            Err(reason) => {
                self.duties.withdraw();
                Err(ChangeError::Invalid(reason))
            }
        };
        // The asker may have gone.
        let _ = answer.send(outcome);
        None
    }
}
