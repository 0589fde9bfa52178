//! What others command of the generation that serves: who waits for an answer, and what is remembered.

use std::collections::HashMap;

use serde_json::Value;
use tokio::sync::oneshot;

/// The overrides that are under way, and those that are remembered.
#[derive(Debug, Default)]
pub(super) struct Overrides {
    asked: u64,
    waiting: HashMap<u64, Waiting>,
    /// What later generations are told.
    pub(super) remembered: Vec<Value>,
}

/// A command that a generation was told.
#[derive(Debug)]
struct Waiting {
    pid: u32,
    command: Value,
    persist: bool,
    answer: oneshot::Sender<Result<String, String>>,
}

impl Overrides {
    /// The generation with this process is told a command; gives its number.
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

    /// A generation says what came of a command. One that was fulfilled and is to persist is given to `remember`.
    pub(super) fn answer(
        &mut self,
        pid: u32,
        number: u64,
        outcome: Result<String, String>,
        remember: impl FnOnce(&mut Vec<Value>, &Value),
    ) {
        // Those that were not waited for were told to generations that leave, or by way of reminding.
        if self.waiting.get(&number).is_none_or(|waiting| waiting.pid != pid) {
            return;
        }
        let Some(Waiting { command, persist, answer, .. }) = self.waiting.remove(&number) else { return };
        if persist && outcome.is_ok() {
            remember(&mut self.remembered, &command);
        }
        // Who asked may have gone.
        let _ = answer.send(outcome);
    }

    /// A process has ended: it answers no more.
    pub(super) fn end(&mut self, pid: u32) {
        for (_, waiting) in self.waiting.extract_if(|_, waiting| waiting.pid == pid) {
            let _ = waiting.answer.send(Err("the generation that was asked has ended: ask again".to_owned()));
        }
    }
}

/// The number of overrides that nobody waits for.
pub(super) const NOBODY: u64 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_from_those_who_were_asked() {
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
