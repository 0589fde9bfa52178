//! What others wish of the generation that serves: who waits for an answer, and what is remembered.

use std::collections::HashMap;

use serde_json::Value;
use tokio::sync::oneshot;

/// The wishes that are under way, and those that are remembered.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    asked: u64,
    waiting: HashMap<u64, Waiting>,
    /// What later generations are told.
    pub(super) remembered: Vec<Value>,
}

/// A wish that a generation was told.
#[derive(Debug)]
struct Waiting {
    pid: u32,
    wish: Value,
    persist: bool,
    answer: oneshot::Sender<Result<String, String>>,
}

impl Wishes {
    /// The generation with this process is told a wish; gives its number.
    pub(super) fn begin(
        &mut self,
        pid: u32,
        wish: Value,
        persist: bool,
        answer: oneshot::Sender<Result<String, String>>,
    ) -> u64 {
        self.asked += 1;
        self.waiting.insert(self.asked, Waiting { pid, wish, persist, answer });
        self.asked
    }

    /// A generation says what came of a wish. One that was fulfilled and is to persist is given to `remember`.
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
        let Some(Waiting { wish, persist, answer, .. }) = self.waiting.remove(&number) else { return };
        if persist && outcome.is_ok() {
            remember(&mut self.remembered, &wish);
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

/// The number of wishes that nobody waits for.
pub(super) const NOBODY: u64 = 0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_from_those_who_were_asked() {
        let mut wishes = Wishes::default();
        let remember = |remembered: &mut Vec<Value>, wish: &Value| remembered.push(wish.clone());
        let (first, mut first_answer) = oneshot::channel();
        let (second, mut second_answer) = oneshot::channel();
        let number = wishes.begin(7, "a".into(), true, first);
        wishes.begin(7, "b".into(), true, second);
        wishes.answer(8, number, Ok("forged".to_owned()), remember);
        wishes.answer(7, NOBODY, Ok("reminded".to_owned()), remember);
        assert!(first_answer.try_recv().is_err() && wishes.remembered.is_empty());
        wishes.answer(7, number, Ok("done".to_owned()), remember);
        assert_eq!(first_answer.try_recv(), Ok(Ok("done".to_owned())));
        assert_eq!(wishes.remembered, [Value::from("a")]);
        wishes.end(7);
        assert!(second_answer.try_recv().is_ok_and(|answer| answer.is_err()));
        assert_eq!(wishes.remembered.len(), 1);
    }
}
