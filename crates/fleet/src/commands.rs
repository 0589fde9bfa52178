//! Commands that scripts send to Redis.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use tokio::sync::{
    mpsc::{self, error::TrySendError},
    oneshot,
};

/// Sends commands to Redis over a connection that all of them share: it takes no command that waits, or that changes the
/// connection for the others.
pub struct RedisCommands {
    sender: mpsc::Sender<QueuedCommand>,
    /// Until the thread that talks to Redis takes it.
    receiver: Mutex<Option<mpsc::Receiver<QueuedCommand>>>,
}

/// What Redis answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedisAnswer {
    /// There is no such key.
    Nil,
    /// A number.
    Number(i64),
    /// A text, or a status as `OK`.
    Text(Vec<u8>),
    /// Several answers.
    List(Vec<RedisAnswer>),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedisFailure(pub String);

/// A command that waits for its answer.
pub(crate) struct QueuedCommand {
    pub(crate) words: Vec<Vec<u8>>,
    pub(crate) answer: oneshot::Sender<Result<RedisAnswer, RedisFailure>>,
}

impl RedisCommands {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }

    /// The commands to send; nothing if somebody has them already.
    pub(crate) fn take_receiver(&self) -> Option<mpsc::Receiver<QueuedCommand>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Sends a command, as in `["GET", "key"]`, and returns the answer.
    ///
    /// # Errors
    ///
    /// Redis cannot be used, answers with an error, or the command is not one for a shared connection.
    pub async fn call(&self, words: Vec<Vec<u8>>) -> Result<RedisAnswer, RedisFailure> {
        check(&words)?;
        let (answer, answered) = oneshot::channel();
        let stopped = || RedisFailure("the server stops".to_owned());
        self.sender.try_send(QueuedCommand { words, answer }).map_err(|error| match error {
            TrySendError::Full(_) => RedisFailure(format!("{MAX_QUEUED} commands wait for Redis already")),
            TrySendError::Closed(_) => stopped(),
        })?;
        answered.await.unwrap_or_else(|_| Err(stopped()))
    }
}

/// Whether a command may be sent over a connection that others use as well.
fn check(words: &[Vec<u8>]) -> Result<(), RedisFailure> {
    let Some(name) = words.first().filter(|name| !name.is_empty()) else {
        return Err(RedisFailure("there is no command: write one as in \"GET\", \"key\"".to_owned()));
    };
    let is = |word: &[u8], names: &[&str]| names.iter().any(|name| word.eq_ignore_ascii_case(name.as_bytes()));
    let waits = is(name, &WAITING) || (is(name, &STREAMS) && words[1..].iter().any(|word| is(word, &["BLOCK"])));
    if waits || is(name, &OF_CONNECTION) {
        let name = String::from_utf8_lossy(name).to_uppercase();
        return Err(RedisFailure(format!(
            "{name} waits or changes the connection, which all requests share: several steps at once are a script of Redis \
             (EVAL)"
        )));
    }
    Ok(())
}

impl fmt::Debug for RedisCommands {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RedisCommands").finish_non_exhaustive()
    }
}

impl fmt::Display for RedisFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for RedisFailure {}

/// Commands that wait for others: all behind them would wait as well.
const WAITING: [&str; 14] = [
    "BLMOVE",
    "BLMPOP",
    "BLPOP",
    "BRPOP",
    "BRPOPLPUSH",
    "BZMPOP",
    "BZPOPMAX",
    "BZPOPMIN",
    "MONITOR",
    "PSUBSCRIBE",
    "SSUBSCRIBE",
    "SUBSCRIBE",
    "WAIT",
    "WAITAOF",
];

/// Commands that wait with BLOCK.
const STREAMS: [&str; 2] = ["XREAD", "XREADGROUP"];

/// Commands after which the connection is another one.
const OF_CONNECTION: [&str; 13] = [
    "ASKING", "AUTH", "CLIENT", "DISCARD", "EXEC", "HELLO", "MULTI", "QUIT", "READONLY", "RESET", "SELECT", "UNWATCH",
    "WATCH",
];

/// As many as requests wait when Redis is slow: more would only fill the memory.
const MAX_QUEUED: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_others_would_feel_are_refused() {
        let check =
            |text: &str| check(&text.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>()).is_ok();
        for text in ["GET a", "xread STREAMS a 0", "EVAL x 0", "SET block 1", "subscribed"] {
            assert!(check(text), "{text}");
        }
        for text in
            ["", "blpop a 0", "SUBSCRIBE a", "XREAD block 0 STREAMS a 0", "multi", "Client REPLY OFF", "select 1"]
        {
            assert!(!check(text), "{text}");
        }
        assert!(super::check(&[]).is_err());
    }
}
