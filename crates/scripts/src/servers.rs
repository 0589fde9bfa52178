//! The servers that scripts ask.

use std::{fmt, pin::Pin, sync::Arc};

use crate::{Fetch, NoFetch};

/// The servers that scripts ask.
#[derive(Clone)]
pub struct Servers {
    /// Those that speak HTTP.
    pub fetch: Arc<dyn Fetch>,
    /// Redis, if there is one.
    pub redis: Option<Arc<dyn Redis>>,
}

/// Sends commands of scripts to Redis.
pub trait Redis: Send + Sync {
    /// Sends a command, as in `["GET", "key"]`, and returns the answer; or why there is none.
    fn call(&self, words: Vec<Vec<u8>>) -> RedisAnswered;
}

/// The future of an answer of Redis.
pub type RedisAnswered = Pin<Box<dyn Future<Output = Result<RedisValue, String>>>>;

/// An answer of Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedisValue {
    /// There is no such key.
    Nil,
    /// A number.
    Number(i64),
    /// A text, or a status as `OK`.
    Text(Vec<u8>),
    /// Several answers.
    List(Vec<RedisValue>),
}

impl Default for Servers {
    /// None.
    fn default() -> Self {
        Self { fetch: Arc::new(NoFetch), redis: None }
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Servers").field("redis", &self.redis.is_some()).finish_non_exhaustive()
    }
}
