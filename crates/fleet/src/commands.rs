//! Commands that scripts send to Redis.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
    time::Instant,
};

/// Sends commands to Redis over a connection that all of them share: it takes no command that waits, or that changes the
/// connection for the others.
pub struct RedisCommands {
    /// How long an answer may take, from the call on.
    timeout: Duration,
    sender: mpsc::Sender<QueuedCommand>,
    /// Until the thread that talks to Redis takes it.
    receiver: Mutex<Option<mpsc::Receiver<QueuedCommand>>>,
}

/// An answer of Redis.
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
    /// The time at which the caller gives up, whether Redis has received the command or not.
    pub(crate) deadline: Instant,
    pub(crate) words: Vec<Vec<u8>>,
    pub(crate) answer: oneshot::Sender<Result<RedisAnswer, RedisFailure>>,
}

impl RedisCommands {
    pub(crate) fn new(timeout: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(MAX_QUEUED);
        Self { timeout, sender, receiver: Mutex::new(Some(receiver)) }
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
        let deadline = Instant::now() + self.timeout;
        self.sender.try_send(QueuedCommand { deadline, words, answer }).map_err(|error| match error {
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
    let refused = if waits || is(name, &OF_CONNECTION) {
        "waits or changes the connection, which all requests share: several steps at once are a script of Redis (EVAL)"
    } else if is(name, &OF_SERVER) || is_of_server(name, words.get(1).map_or(b"", |word| &word[..])) {
        "stops Redis, or makes it another server, for all that use it: run it with redis-cli"
    } else {
        return Ok(());
    };
    Err(RedisFailure(format!("{} {refused}", String::from_utf8_lossy(name).to_uppercase())))
}

/// Whether a part of a command is one of [`OF_SERVER`], though others are not.
fn is_of_server(name: &[u8], part: &[u8]) -> bool {
    OF_SERVER_IN_PART.iter().any(|(command, parts)| {
        name.eq_ignore_ascii_case(command.as_bytes())
            && parts.iter().any(|refused| part.eq_ignore_ascii_case(refused.as_bytes()))
    })
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

/// Commands that wait for others: all behind them would wait as well; and those with which Redis sends what nobody has
/// asked for, or nothing where an answer is expected. All of Redis 7.4 and Valkey 8 with the flag `blocking` or `pubsub`.
const WAITING: [&str; 19] = [
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
    "PSYNC",
    "PUNSUBSCRIBE",
    "SSUBSCRIBE",
    "SUBSCRIBE",
    "SUNSUBSCRIBE",
    "SYNC",
    "UNSUBSCRIBE",
    "WAIT",
    "WAITAOF",
];

/// Commands that wait with BLOCK.
const STREAMS: [&str; 2] = ["XREAD", "XREADGROUP"];

/// Commands after which the connection is another one.
const OF_CONNECTION: [&str; 15] = [
    "ASKING",
    "AUTH",
    "CLIENT",
    "DISCARD",
    "EXEC",
    "HELLO",
    "MULTI",
    "QUIT",
    "READONLY",
    "READWRITE",
    "REPLCONF",
    "RESET",
    "SELECT",
    "UNWATCH",
    "WATCH",
];

/// Commands after which Redis is away, or has the data of another server: no request may have such an effect.
const OF_SERVER: [&str; 8] =
    ["DEBUG", "FAILOVER", "PFDEBUG", "REPLICAOF", "RESTORE-ASKING", "SHUTDOWN", "SLAVEOF", "SWAPDB"];

/// Of these commands, only some parts are.
const OF_SERVER_IN_PART: [(&str, &[&str]); 2] =
    [("CLUSTER", &["FAILOVER", "FORGET", "MEET", "REPLICATE", "RESET"]), ("SCRIPT", &["DEBUG", "KILL"])];

/// As many as requests wait when Redis is slow: more would only fill the memory.
const MAX_QUEUED: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_others_would_feel_are_refused() {
        let check =
            |text: &str| check(&text.split(' ').map(|word| word.as_bytes().to_vec()).collect::<Vec<_>>()).is_ok();
        for text in [
            "GET a",
            "xread STREAMS a 0",
            "CLUSTER INFO",
            "script LOAD x",
            "PUBLISH a b",
            "EVAL x 0",
            "SET block 1",
            "subscribed",
        ] {
            assert!(check(text), "{text}");
        }
        for text in [
            "",
            "blpop a 0",
            "SYNC",
            "psync ? -1",
            "REPLCONF ack 1",
            "READWRITE",
            "unsubscribe",
            "PUNSUBSCRIBE a",
            "SUNSUBSCRIBE",
            "shutdown nosave",
            "DEBUG SLEEP 10",
            "failover",
            "SLAVEOF no one",
            "replicaof a 1",
            "swapdb 0 1",
            "cluster RESET hard",
            "script debug yes",
            "SUBSCRIBE a",
            "XREAD block 0 STREAMS a 0",
            "multi",
            "Client REPLY OFF",
            "select 1",
        ] {
            assert!(!check(text), "{text}");
        }
        assert!(super::check(&[]).is_err());
    }
}
