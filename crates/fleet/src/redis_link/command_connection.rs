//! The connection for commands of scripts, apart from the exchanges of the fleet: neither waits for the other.

use std::{future::pending, sync::Arc};

use redis::{Pipeline, Value};

use super::{
    connection::{Connection, Connector},
    error::FleetError,
};
use crate::{
    Fleet,
    commands::{QueuedCommand, RedisAnswer, RedisFailure},
};

/// Sends the commands of scripts, for ever. What waits is sent together.
pub(super) async fn run(fleet: &Fleet) {
    let Some(mut queue) = fleet.commands().take_receiver() else { return pending().await };
    let mut link = CommandLink { connector: Connector::new(Arc::clone(&fleet.settings)), connection: None };
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, MAX_BATCH).await > 0 {
        let place = fleet.settings.place();
        let mut answers = link.call(&batch).await.map(Vec::into_iter);
        for QueuedCommand { answer, .. } in batch.drain(..) {
            let found = match &mut answers {
                Ok(answers) => answers.next().unwrap_or_else(|| Err(FleetError::unexpected())),
                Err(error) => Err(error.clone()),
            };
            // The client may have left meanwhile.
            let _ = answer.send(found.map_err(|error| RedisFailure(format!("Redis at {place}: {error}"))));
        }
    }
    pending().await
}

struct CommandLink {
    connector: Connector,
    connection: Option<Connection>,
}

impl CommandLink {
    /// The answers to commands, or why there are none.
    async fn call(&mut self, batch: &[QueuedCommand]) -> Result<Vec<Result<RedisAnswer, FleetError>>, FleetError> {
        let mut pipeline = Pipeline::new();
        for QueuedCommand { words, .. } in batch {
            let mut command = redis::Cmd::new();
            for word in words {
                command.arg(&word[..]);
            }
            pipeline.add_command(command);
        }
        // Redis may have ended a connection that was not used for long.
        let mut connection = match self.connection.take().filter(Connection::is_open) {
            Some(connection) => connection,
            None => {
                let connection = self.connector.connect().await?;
                self.connector.keep(&connection.node);
                connection
            }
        };
        // After an error, answers of these commands may still come: they must not become those of others.
        let values = connection.call_all(&pipeline).await?;
        self.connection = Some(connection);
        Ok(values.into_iter().map(|value| answer(FleetError::checked(value)?, MAX_DEPTH)).collect())
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

/// Commands that are sent together: enough to spare round trips, and few enough that one answer waits for little.
const MAX_BATCH: usize = 64;

/// How deep lists may be in lists: those of XREAD are four deep.
const MAX_DEPTH: usize = 16;
