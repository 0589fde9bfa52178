//! The part of an exchange that is about the journal: its questions as calls of scripts, and what their answers mean.
//!
//! Redis has three keys: `journal`, a hash of subjects with the entries; `journal-order`, the subjects sorted by the numbers
//! that Redis gives to entries as they come; and `journal-head`, with the number of the last one and an epoch, which tells a
//! Redis that has lost everything.

use redis::{Cmd, Value};

use super::{connection::text, error::FleetError};
use crate::{
    FleetSettings, MAX_COMMAND, MAX_SUBJECT,
    journal::{JournalAnswer, JournalRequest, Listed},
};

/// The call that asks a question.
pub(super) fn command(settings: &FleetSettings, request: &JournalRequest, candidate: &str) -> Cmd {
    let mut command = redis::cmd("EVAL");
    let mut begin = |script: &str| {
        command.arg(script).arg(3);
        for key in ["journal", "journal-order", "journal-head"] {
            command.arg(settings.key(key));
        }
    };
    match request {
        JournalRequest::Add { epoch, entries } => {
            begin(ADD);
            command.arg(candidate).arg(epoch);
            for entry in entries {
                command.arg(&entry.subject).arg(entry.value());
            }
        }
        JournalRequest::Get { subjects } => {
            begin(GET);
            command.arg(MAX_ANSWER).arg(MAX_VALUE);
            for (_, subject) in subjects {
                command.arg(subject);
            }
        }
        JournalRequest::Remove { entries } => {
            begin(REMOVE);
            for (stamp, subject) in entries {
                command.arg(subject).arg(stamp.to_string());
            }
        }
        JournalRequest::List { after } => {
            begin(LIST);
            command.arg(candidate).arg(*after).arg(PAGE).arg(MAX_SUBJECT);
        }
    }
    command
}

/// Reads the answer to a question.
pub(super) fn answer(request: &JournalRequest, answer: Value) -> Result<JournalAnswer, FleetError> {
    let Value::Array(parts) = answer else { return Err(FleetError::unexpected()) };
    match request {
        JournalRequest::Add { .. } => Ok(JournalAnswer::Added { epoch: epoch(parts.first())? }),
        JournalRequest::Remove { .. } => Ok(JournalAnswer::Removed),
        JournalRequest::Get { subjects } if parts.is_empty() && !subjects.is_empty() => Err(FleetError::unexpected()),
        JournalRequest::Get { .. } => {
            let value = |part: &Value| match part {
                Value::Nil => Ok(None),
                // Without text in UTF-8, it is not an entry.
                Value::BulkString(bytes) => Ok(Some(String::from_utf8_lossy(bytes).into_owned())),
                _ => Err(FleetError::unexpected()),
            };
            Ok(JournalAnswer::Got { values: parts.iter().map(value).collect::<Result<_, _>>()? })
        }
        JournalRequest::List { .. } => {
            let [epoch_part, Value::Int(last), lines @ ..] = &parts[..] else { return Err(FleetError::unexpected()) };
            let line = |line: &[Value]| {
                let [subject, stamp, number] = line else { return None };
                let number = text(Some(number))?.parse().ok()?;
                // Something else has a number as well, after which the list goes on.
                let entry = text(Some(subject)).zip(text(Some(stamp)).and_then(|stamp| stamp.parse().ok()));
                Some(Listed { entry, number })
            };
            let page = lines.chunks(3).map(line).collect::<Option<_>>().ok_or_else(FleetError::unexpected)?;
            Ok(JournalAnswer::Listed {
                epoch: epoch(Some(epoch_part))?,
                last: u64::try_from(*last).unwrap_or(0),
                page,
                is_full: lines.len() >= 3 * PAGE,
            })
        }
    }
}

fn epoch(part: Option<&Value>) -> Result<String, FleetError> {
    text(part).filter(|epoch| epoch.len() <= 64).ok_or_else(FleetError::unexpected)
}

/// Adds entries that are later than those about their subjects, if Redis has the epoch. Returns the epoch that it has.
///
/// Stamps have 36 characters, which compare as the stamps do. Keys: the entries, their order, the head. Arguments: an epoch in
/// case Redis has none, the expected one; for each entry its subject and its value.
const ADD: &str = "
redis.call('HSETNX', KEYS[3], 'epoch', ARGV[1])
local epoch = redis.call('HGET', KEYS[3], 'epoch')
if epoch == ARGV[2] then
    for at = 3, #ARGV, 2 do
        local before = redis.call('HGET', KEYS[1], ARGV[at])
        local is_entry = before and string.match(before, '^%d+%x+ ') and string.sub(before, 37, 37) == ' '
        if not is_entry or string.sub(before, 1, 36) < string.sub(ARGV[at + 1], 1, 36) then
            redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1])
            redis.call('ZADD', KEYS[2], redis.call('HINCRBY', KEYS[3], 'last', 1), ARGV[at])
        end
    end
end
return { epoch }
";

/// Returns the values of the first subjects, as many as fit into an answer, and at least one. One that is too long is empty.
///
/// Keys: likewise. Arguments: the bytes of an answer and of a value; the subjects.
const GET: &str = "
local values, left = {}, tonumber(ARGV[1])
for at = 3, #ARGV do
    local value = redis.call('HGET', KEYS[1], ARGV[at])
    if value and #value > tonumber(ARGV[2]) then
        value = ''
    end
    left = left - (value and #value or 0)
    if left < 0 and at > 3 then
        break
    end
    values[at - 2] = value
end
return values
";

/// Removes entries if they have these stamps.
///
/// Keys: likewise. Arguments: for each entry its subject and its stamp.
const REMOVE: &str = "
for at = 1, #ARGV, 2 do
    local value = redis.call('HGET', KEYS[1], ARGV[at])
    if value and string.sub(value, 1, 36) == ARGV[at + 1] then
        redis.call('HDEL', KEYS[1], ARGV[at])
        redis.call('ZREM', KEYS[2], ARGV[at])
    end
end
return {}
";

/// Returns the epoch, the number of the last entry that came, and a page of subjects, stamps and numbers.
///
/// Keys: likewise. Arguments: an epoch in case Redis has none, the number after which the page begins, the lines of a page, the
/// longest subject.
const LIST: &str = "
redis.call('HSETNX', KEYS[3], 'epoch', ARGV[1])
local head = redis.call('HMGET', KEYS[3], 'epoch', 'last')
local answer = { head[1], tonumber(head[2] or 0) }
local page = redis.call('ZRANGE', KEYS[2], '(' .. ARGV[2], '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[3], 'WITHSCORES')
for at = 1, #page, 2 do
    local value = #page[at] <= tonumber(ARGV[4]) and redis.call('HGET', KEYS[1], page[at])
    answer[#answer + 1] = value and page[at] or ''
    answer[#answer + 1] = value and string.sub(value, 1, 36) or ''
    answer[#answer + 1] = page[at + 1]
end
return answer
";

/// Lines of a page: Redis takes less than a millisecond for them.
const PAGE: usize = 500;

/// The bytes of the values in an answer: an exchange may receive eight times as much.
const MAX_ANSWER: usize = 1 << 20;

/// The bytes of a value.
const MAX_VALUE: usize = MAX_COMMAND + 64;
