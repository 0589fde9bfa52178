//! Commands to the serving generation: those that wait for an answer, and the overrides that are remembered.

use std::collections::HashMap;

use serde_json::Value;
use tokio::sync::oneshot;

/// The commands in progress, and the remembered overrides.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    asked: u64,
    waiting: HashMap<u64, Waiting>,
    /// The overrides that later generations get.
    pub(super) remembered: Vec<Value>,
}

/// A command that was sent to a generation.
#[derive(Debug)]
struct Waiting {
    pid: u32,
    command: Value,
    persist: bool,
    answer: oneshot::Sender<Result<String, String>>,
}

impl Overrides {
    /// Registers a command to the generation with this process id; returns its number.
    pub(super) fn begin(
        &mut self,
        pid: u32,
        command: Value,
        persist: bool,
        answer: oneshot::Sender<Result<String, String>>,
    ) -> u64 {
        self.asked += 1;
        self.waiting.insert(self.asked, Waiting { pid, command, persist, answer });
        self.asked
    }

    /// Handles the outcome of a command. Calls `remember` for an executed one that persists.
    pub(super) fn answer(
        &mut self,
        pid: u32,
        number: u64,
        outcome: Result<String, String>,
        remember: impl FnOnce(&mut Vec<Value>, &Value),
    ) {
        // Draining generations, and new ones that got remembered overrides, answer as well.
        if self.waiting.get(&number).is_none_or(|waiting| waiting.pid != pid) {
            return;
        }
        let Some(Waiting { command, persist, answer, .. }) = self.waiting.remove(&number) else { return };
        if persist && outcome.is_ok() {
            remember(&mut self.remembered, &command);
        }
        // The asker may have gone.
        let _ = answer.send(outcome);
    }

    /// Fails the commands to a process that has ended.
    pub(super) fn end(&mut self, pid: u32) {
        for (_, waiting) in self.waiting.extract_if(|_, waiting| waiting.pid == pid) {
            let _ = waiting.answer.send(Err("the generation ended before it answered: try again".to_owned()));
        }
    }
}

/// The number of commands whose outcome is ignored.
pub(super) const NOBODY: u64 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_generation_that_got_the_command_can_answer_it() {
        let mut overrides = Overrides::default();
        let remember = |remembered: &mut Vec<Value>, command: &Value| remembered.push(command.clone());
        let (first, mut first_answer) = oneshot::channel();
        let (second, mut second_answer) = oneshot::channel();
        let number = overrides.begin(7, "a".into(), true, first);
        overrides.begin(7, "b".into(), true, second);
        overrides.answer(8, number, Ok("forged".to_owned()), remember);
        overrides.answer(7, NOBODY, Ok("reminded".to_owned()), remember);
        assert!(first_answer.try_recv().is_err() && overrides.remembered.is_empty());
        overrides.answer(7, number, Ok("done".to_owned()), remember);
        assert_eq!(first_answer.try_recv(), Ok(Ok("done".to_owned())));
        assert_eq!(overrides.remembered, [Value::from("a")]);
        overrides.end(7);
        assert!(second_answer.try_recv().is_ok_and(|answer| answer.is_err()));
        assert_eq!(overrides.remembered.len(), 1);
    }
}
