//! Redis for scripts: that of the fleet.

use std::sync::Arc;

use serow_fleet::{Fleet, RedisAnswer};
use serow_scripts::{Redis, RedisAnswered, RedisValue};

/// Redis for scripts.
pub(crate) struct FleetRedis(pub(crate) Arc<Fleet>);

impl Redis for FleetRedis {
    fn call(&self, words: Vec<Vec<u8>>) -> RedisAnswered {
        let fleet = Arc::clone(&self.0);
        Box::pin(async move {
            let answer = fleet.commands().call(words).await;
            answer.map(value).map_err(|failure| failure.to_string())
        })
    }
}

fn value(answer: RedisAnswer) -> RedisValue {
    match answer {
        RedisAnswer::Nil => RedisValue::Nil,
        RedisAnswer::Number(number) => RedisValue::Number(number),
        RedisAnswer::Text(text) => RedisValue::Text(text),
        RedisAnswer::List(answers) => RedisValue::List(answers.into_iter().map(value).collect()),
    }
}
