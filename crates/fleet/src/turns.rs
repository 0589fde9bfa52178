//! Turns: one of several servers does something, and the others take its result.

use std::time::Duration;

use crate::{Fleet, RedisAnswer, RedisFailure};

/// Whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// That of the server that asks.
    Ours,
    /// That of another one, which has not finished.
    Elsewhere,
    /// Another one has finished, with this.
    Done(Vec<u8>),
}

/// The result of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnResult {
    /// A later one takes the place of an earlier one.
    pub version: u32,
    /// The result.
    pub value: Vec<u8>,
    /// How long it is kept.
    pub lifetime: Duration,
}

impl Fleet {
    /// Takes the turn for what has this name, unless another server has it, or there is a result later than this version.
    /// Without an end, the turn ends after some time.
    ///
    /// # Errors
    ///
    /// Redis cannot be used.
    pub async fn take_turn(
        &self,
        name: &str,
        version: u32,
        holder: &str,
        time: Duration,
    ) -> Result<Turn, RedisFailure> {
        let arguments = [version.to_string(), holder.to_owned(), time.as_millis().to_string()];
        match self.call_turn(TAKE, name, arguments.map(String::into_bytes).to_vec()).await? {
            RedisAnswer::Number(1) => Ok(Turn::Ours),
            RedisAnswer::Number(_) => Ok(Turn::Elsewhere),
            RedisAnswer::Text(value) => Ok(Turn::Done(value)),
            RedisAnswer::Nil | RedisAnswer::List(_) => {
                Err(RedisFailure("Redis answers with something else".to_owned()))
            }
        }
    }

    /// Ends the turn of this holder, with a result or without.
    ///
    /// # Errors
    ///
    /// Redis cannot be used.
    pub async fn end_turn(&self, name: &str, holder: &str, result: Option<TurnResult>) -> Result<(), RedisFailure> {
        let mut arguments = vec![holder.as_bytes().to_vec()];
        // A key without a time would stay for ever.
        if let Some(result) = result.filter(|result| !result.lifetime.is_zero()) {
            let lifetime = result.lifetime.as_millis().to_string();
            arguments.extend([result.version.to_string().into_bytes(), result.value, lifetime.into_bytes()]);
        }
        self.call_turn(END, name, arguments).await.map(|_| ())
    }

    async fn call_turn(&self, script: &str, name: &str, arguments: Vec<Vec<u8>>) -> Result<RedisAnswer, RedisFailure> {
        let [turn, result] = ["turn", "result"].map(|kind| self.settings.key(&format!("{kind}:{name}")).into_bytes());
        let mut words = vec![b"EVAL".to_vec(), script.as_bytes().to_vec(), b"2".to_vec(), turn, result];
        words.extend(arguments);
        self.commands().call(words).await
    }
}

/// Returns the result if it is later than the version, 1 if the turn is the holder's from now on, 0 if it is another's.
///
/// Keys: the turn, the result. Arguments: the version, the holder, the milliseconds after which the turn ends by itself.
const TAKE: &str = "
local result = redis.pcall('GET', KEYS[2])
if type(result) == 'string' then
    local version, value = string.match(result, '^(%d+) (.*)$')
    if version and tonumber(version) > tonumber(ARGV[1]) then
        return value
    end
end
if redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[3]) or redis.pcall('GET', KEYS[1]) == ARGV[2] then
    return 1
end
return 0
";

/// Ends the turn of the holder, and keeps its result unless there is a later one.
///
/// Keys: the turn, the result. Arguments: the holder; the version, the result, its lifetime in milliseconds.
const END: &str = "
if redis.pcall('GET', KEYS[1]) == ARGV[1] then
    redis.call('PEXPIRE', KEYS[1], 0)
end
if ARGV[2] then
    local result = redis.pcall('GET', KEYS[2])
    local version = type(result) == 'string' and tonumber(string.match(result, '^(%d+) '))
    if result == false or (version and version < tonumber(ARGV[2])) then
        redis.call('SET', KEYS[2], ARGV[2] .. ' ' .. ARGV[3], 'PX', ARGV[4])
    end
end
return 1
";
