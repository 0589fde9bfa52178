//! The connection for commands of scripts, apart from the exchanges of the fleet: neither waits for the other.

use std::{future::pending, sync::Arc, time::Duration};

use redis::{Cmd, Value};
use tokio::{
    sync::{Mutex, Semaphore},
    task::JoinSet,
    time::{Instant, timeout_at},
};

use super::{
    connection::{Bound, Connection, Connector, too_slow},
    error::FleetError,
};
use crate::{
    Fleet,
    commands::{QueuedCommand, RedisAnswer, RedisFailure},
};

/// Sends the commands of scripts, for ever. Each is answered by its own deadline, which began when it was queued.
pub(super) async fn run(fleet: &Fleet) {
    let Some(mut queue) = fleet.commands().take_receiver() else { return pending().await };
    let link = Arc::new(CommandLink {
        place: fleet.settings.place(),
        timeout: fleet.settings.timeout,
        state: Mutex::new(LinkState {
            connector: Connector::new(Arc::clone(&fleet.settings), Bound::Replies),
            connection: None,
            failure: None,
        }),
    });
    let (places, mut commands) = (Arc::new(Semaphore::new(MAX_IN_FLIGHT)), JoinSet::new());
    while let Some(command) = queue.recv().await {
        // Those in flight were queued before, so they end before the deadline of this one. It is never closed.
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
        let link = Arc::clone(&link);
        commands.spawn(async move {
            link.answer(command).await;
            drop(place);
        });
        while commands.try_join_next().is_some() {}
    }
    pending().await
}

struct CommandLink {
    place: String,
    timeout: Duration,
    /// Locked for longer only while a connection is opened.
    state: Mutex<LinkState>,
}

struct LinkState {
    connector: Connector,
    connection: Option<Arc<Connection>>,
    /// Why the last connection was not opened, and until when the next is not tried.
    failure: Option<(FleetError, Instant)>,
}

impl CommandLink {
    async fn answer(&self, command: QueuedCommand) {
        let QueuedCommand { deadline, words, answer } = command;
        // Those that have waited too long behind others must not open a connection each.
        let is_late = Instant::now() >= deadline;
        let found = if is_late { Err(too_slow(self.timeout)) } else { self.call(&words, deadline).await };
        // The client may have left meanwhile.
        let _ = answer.send(found.map_err(|error| RedisFailure(format!("Redis at {}: {error}", self.place))));
    }

    /// The answer to a command, or why there is none.
    async fn call(&self, words: &[Vec<u8>], deadline: Instant) -> Result<RedisAnswer, FleetError> {
        let is_late = |_| Err(too_slow(self.timeout));
        let connection = timeout_at(deadline, self.connection()).await.unwrap_or_else(is_late)?;
        let mut command = Cmd::new();
        for word in words {
            command.arg(&word[..]);
        }
        let Ok(answered) = timeout_at(deadline, connection.send(&command)).await else {
            // Commands that are behind this one there have their own deadlines; others get another connection.
            self.leave(&connection);
            return Err(too_slow(self.timeout));
        };
        let value = answered.inspect_err(|_| self.leave(&connection))?;
        answer(FleetError::checked(value)?, MAX_DEPTH)
    }

    async fn connection(&self) -> Result<Arc<Connection>, FleetError> {
        let mut state = self.state.lock().await;
        // Redis may have ended a connection that was not used for long.
        if let Some(connection) = state.connection.as_ref().filter(|connection| connection.is_open()) {
            return Ok(Arc::clone(connection));
        }
        if let Some((error, until)) = &state.failure
            && Instant::now() < *until
        {
            return Err(error.clone());
        }
        match state.connector.connect().await {
            Ok(connection) => {
                state.connector.keep(&connection.node);
                let connection = Arc::new(connection);
                (state.connection, state.failure) = (Some(Arc::clone(&connection)), None);
                Ok(connection)
            }
            Err(error) => {
                state.failure = Some((error.clone(), Instant::now() + RETRY_PAUSE));
                Err(error)
            }
        }
    }

    /// No other command is sent over this connection.
    fn leave(&self, connection: &Arc<Connection>) {
        // While another one is opened, it is not in use any more.
        if let Ok(mut state) = self.state.try_lock() {
            state.connection.take_if(|open| Arc::ptr_eq(open, connection));
        }
    }
}

fn answer(value: Value, depth: usize) -> Result<RedisAnswer, FleetError> {
    match value {
        Value::Nil => Ok(RedisAnswer::Nil),
        Value::Int(number) => Ok(RedisAnswer::Number(number)),
        Value::BulkString(bytes) => Ok(RedisAnswer::Text(bytes)),
        Value::SimpleString(text) => Ok(RedisAnswer::Text(text.into_bytes())),
        Value::Okay => Ok(RedisAnswer::Text(b"OK".to_vec())),
        Value::Array(values) if depth > 0 => {
            let answers = values.into_iter().map(|value| answer(value, depth - 1));
            Ok(RedisAnswer::List(answers.collect::<Result<_, _>>()?))
        }
        _ => Err(FleetError::unexpected()),
    }
}

/// Commands that are sent before the first of them is answered: their answers are in memory at the same time.
const MAX_IN_FLIGHT: usize = 64;

/// A Redis that is away does not get a connection for each request.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// How deep lists may be in lists: those of XREAD are four deep.
const MAX_DEPTH: usize = 16;
