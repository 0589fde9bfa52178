//! The answers of a generation to commands of the admin socket: some come later.

use std::{
    fmt, mem,
    sync::{Arc, Mutex, PoisonError},
    thread::{self, JoinHandle},
};

use serow_net::channel::Channel;

use super::messages::{FromGeneration, send};

/// The answer to [`Orders::command`](super::Orders::command).
pub enum CommandAnswer {
    /// The line about what was done, or why it was not.
    Now(Result<String, String>),
    /// This waits for it. Meanwhile, the process obeys other orders: the command may need them. The process does not end before
    /// it has answered.
    Later(Box<dyn FnOnce() -> Result<String, String> + Send>),
}

/// The threads that wait for answers. Clones have the same.
#[derive(Clone, Debug, Default)]
pub(super) struct CommandAnswers(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl CommandAnswers {
    /// Tells the master the outcome of the command with this number, at once or when it has come.
    pub(super) fn answer(&self, channel: &Channel, number: u64, answer: CommandAnswer) {
        // A master that has ended does not need it.
        let tell =
            move |channel: &Channel, outcome| drop(send(channel, &FromGeneration::CommandDone { number, outcome }));
        let wait = match answer {
            CommandAnswer::Now(outcome) => return tell(channel, outcome),
            CommandAnswer::Later(wait) => wait,
        };
        let spawned = channel.try_clone().and_then(|channel| {
            thread::Builder::new().name("serow-command".to_owned()).spawn(move || tell(&channel, wait()))
        });
        match spawned {
            Ok(thread) => {
                let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
            }
            Err(error) => tell(channel, Err(format!("the system refuses a thread: {error}"))),
        }
    }

    /// Waits until all are given.
    pub(super) fn wait(&self) {
        let threads = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // It has nothing to tell.
            let _ = thread.join();
        }
    }
}

impl From<Result<String, String>> for CommandAnswer {
    fn from(outcome: Result<String, String>) -> Self {
        Self::Now(outcome)
    }
}

impl fmt::Debug for CommandAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now(outcome) => f.debug_tuple("Now").field(outcome).finish(),
            Self::Later(_) => f.debug_struct("Later").finish_non_exhaustive(),
        }
    }
}
