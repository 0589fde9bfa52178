//! Changes of the settings that the serving generation asks the master for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use serow_net::channel::Channel;
use tokio::sync::oneshot;

use super::{
    control::{ChangeError, Changed, STOPPING},
    messages::{self, FromGeneration},
    reports,
};

/// A handle with which a thread of the serving generation changes the settings beside the file, see
/// [`Parent::change_requests`](super::Parent::change_requests). Clones are handles to the same.
#[derive(Clone, Debug)]
pub struct ChangeRequests(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    channel: Channel,
    state: Mutex<State>,
}

/// The requests that wait for their outcome, by number.
#[derive(Debug, Default)]
struct State {
    /// Whether the master takes changes: one of an older version would not answer.
    is_taken: bool,
    has_ended: bool,
    asked: u64,
    waiting: HashMap<u64, oneshot::Sender<Result<Changed, ChangeError>>>,
    executed: HashMap<u64, oneshot::Sender<Result<String, String>>>,
}

impl ChangeRequests {
    /// Sends requests over this channel.
    pub(super) fn new(channel: Channel) -> Self {
        Self(Arc::new(Shared { channel, state: Mutex::default() }))
    }

    /// Makes a change, as [`Control::change`](super::Control::change) does: it is in effect, and kept, when this returns. The
    /// process may be replaced meanwhile, since the settings need another one; the outcome comes all the same. Works in any
    /// runtime, also while the same process adopts the settings on another thread.
    ///
    /// # Errors
    ///
    /// Why the change was not made; the settings are as before then.
    pub async fn change(&self, change: &Value) -> Result<Changed, ChangeError> {
        let (number, answered) = self.begin()?;
        let sent = serde_json::to_vec(change)
            .map_err(std::io::Error::from)
            .and_then(|text| reports::send_with_file(&self.0.channel, &FromGeneration::Change { number }, &text));
        if let Err(error) = sent {
            self.lock().waiting.remove(&number);
            return Err(ChangeError::NotNow(format!("the master cannot be asked for the change: {error}")));
        }
        answered.await.unwrap_or_else(|_| Err(ended()))
    }

    /// Has the master send a command to the serving generation, which is this one, and to the draining ones, as
    /// [`Control::command`](super::Control::command) does: later generations get it as well, if it persists. Returns what was
    /// done. The command is shorter than 200 KB.
    ///
    /// # Errors
    ///
    /// Why the command was not executed.
    pub async fn command(&self, command: Value, persist: bool) -> Result<String, String> {
        let (answer, answered) = oneshot::channel();
        let number = {
            let mut state = self.lock();
            let number = state.next_number()?;
            state.executed.insert(number, answer);
            number
        };
        let request = FromGeneration::Execute { number, command, persist };
        if let Err(error) = messages::send(&self.0.channel, &request) {
            self.lock().executed.remove(&number);
            return Err(format!("the master cannot be asked for the command: {error}"));
        }
        answered.await.unwrap_or_else(|_| Err(STOPPING.to_owned()))
    }

    fn begin(&self) -> Result<(u64, oneshot::Receiver<Result<Changed, ChangeError>>), ChangeError> {
        let mut state = self.lock();
        let (answer, answered) = oneshot::channel();
        let number = state.next_number().map_err(|reason| ChangeError::NotNow(reason.to_owned()))?;
        state.waiting.insert(number, answer);
        Ok((number, answered))
    }

    /// Notes whether the master takes changes.
    pub(super) fn set_taken(&self, is_taken: bool) {
        self.lock().is_taken = is_taken;
    }

    /// Handles the outcome of a request.
    pub(super) fn answer(&self, number: u64, outcome: Result<Changed, ChangeError>) {
        if let Some(answer) = self.lock().waiting.remove(&number) {
            // The asker may have gone.
            let _ = answer.send(outcome);
        }
    }

    /// Handles the outcome of a command.
    pub(super) fn answer_command(&self, number: u64, outcome: Result<String, String>) {
        if let Some(answer) = self.lock().executed.remove(&number) {
            let _ = answer.send(outcome);
        }
    }

    /// Fails all requests: the master has ended.
    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        state.waiting.clear();
        state.executed.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// The number of the next request, or why there is none.
    fn next_number(&mut self) -> Result<u64, &'static str> {
        if self.has_ended {
            return Err(STOPPING);
        }
        if !self.is_taken {
            return Err("the master of this server is of an older version, without such changes: restart the server");
        }
        self.asked += 1;
        Ok(self.asked)
    }
}

fn ended() -> ChangeError {
    ChangeError::NotNow(STOPPING.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_master_that_does_not_take_changes_or_has_ended_is_not_waited_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (ours, _theirs) = Channel::pair().unwrap();
        let requests = ChangeRequests::new(ours);
        let outcome = runtime.block_on(requests.change(&json!(1)));
        assert!(matches!(outcome, Err(ChangeError::NotNow(reason)) if reason.contains("older version")));
        requests.set_taken(true);
        let outcome = runtime.block_on(async {
            let request = requests.clone();
            let (outcome, ()) = tokio::join!(async move { request.change(&json!(2)).await }, async { requests.end() });
            outcome
        });
        assert_eq!(outcome, Err(ended()));
        assert_eq!(runtime.block_on(requests.change(&json!(3))), Err(ended()));
    }

    #[test]
    fn a_request_that_cannot_be_sent_fails() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (ours, theirs) = Channel::pair().unwrap();
        let requests = ChangeRequests::new(ours);
        requests.set_taken(true);
        drop(theirs);
        let outcome = runtime.block_on(requests.change(&json!(1)));
        assert!(matches!(outcome, Err(ChangeError::NotNow(reason)) if reason.contains("cannot be asked")));
        assert!(requests.lock().waiting.is_empty());
    }
}
