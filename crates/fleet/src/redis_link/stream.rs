//! The stream of events in Redis.

use std::time::Duration;

use redis::{Cmd, Value};

use super::{connection::text, error::FleetError};
use crate::{
    Event,
    events::{MAX_EVENTS, MAX_PAYLOAD},
};

/// The number of an entry: milliseconds since 1970 by the clock of Redis, and a count.
pub(super) type EntryId = (u64, u64);

/// An entry of the stream; without an event if it is something else, or this server's own.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) id: EntryId,
    pub(super) content: Content,
}

/// The content of an entry of the stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// An event of another server.
    Event(Event),
    /// This server's own.
    Own(Event),
    /// Not an event.
    Invalid,
}

/// Adds an event. Old ones are trimmed.
pub(super) fn add(key: &str, server: &str, kind: &str, payload: &[u8]) -> Cmd {
    let mut command = redis::cmd("XADD");
    command.arg(key).arg("MAXLEN").arg("~").arg(MAX_EVENTS).arg("*");
    command.arg("server").arg(server).arg("kind").arg(kind).arg("payload").arg(payload);
    command
}

/// Reads the entries after this one.
pub(super) fn read(key: &str, after: EntryId) -> Cmd {
    let mut command = redis::cmd("XREAD");
    command.arg("COUNT").arg(MAX_READ).arg("STREAMS").arg(key).arg(format!("{}-{}", after.0, after.1));
    command
}

/// The number of the last entry.
pub(super) fn last(key: &str) -> Cmd {
    let mut command = redis::cmd("XREVRANGE");
    command.arg(key).arg("+").arg("-").arg("COUNT").arg(1);
    command
}

/// Removes what is older than a week at this time, in milliseconds since 1970.
pub(super) fn trim(key: &str, now: u64) -> Cmd {
    let mut command = redis::cmd("XTRIM");
    command.arg(key).arg("MINID").arg("~").arg(now.saturating_sub(MAX_AGE));
    command
}

/// The number in the answer to [`last`]: zeros for an empty stream.
pub(super) fn last_id(answer: &Value) -> Result<EntryId, FleetError> {
    match answer {
        Value::Nil => Ok((0, 0)),
        Value::Array(entries) => match entries.first() {
            None => Ok((0, 0)),
            Some(entry) => entry_id(entry).ok_or_else(FleetError::unexpected),
        },
        _ => Err(FleetError::unexpected()),
    }
}

/// The entries in the answer to [`read`], at this time in milliseconds since 1970.
pub(super) fn entries(answer: Value, server: &str, now: u64) -> Result<Vec<Entry>, FleetError> {
    let streams = match answer {
        Value::Nil => return Ok(Vec::new()),
        Value::Array(streams) => streams,
        _ => return Err(FleetError::unexpected()),
    };
    let mut found = Vec::new();
    for stream in streams {
        let Value::Array(parts) = stream else { return Err(FleetError::unexpected()) };
        let Some(Value::Array(entries)) = parts.into_iter().nth(1) else { return Err(FleetError::unexpected()) };
        for entry in entries {
            let id = entry_id(&entry).ok_or_else(FleetError::unexpected)?;
            found.push(Entry { id, content: content(&entry, server, Duration::from_millis(now.saturating_sub(id.0))) });
        }
    }
    Ok(found)
}

fn content(entry: &Value, server: &str, age: Duration) -> Content {
    let Value::Array(parts) = entry else { return Content::Invalid };
    let Some(Value::Array(fields)) = parts.get(1) else { return Content::Invalid };
    let field = |name: &str| {
        let mut pairs = fields.chunks_exact(2);
        pairs.find_map(|pair| (text(pair.first()).as_deref() == Some(name)).then(|| &pair[1]))
    };
    let is_own = text(field("server")).as_deref() == Some(server);
    match (text(field("kind")), field("payload")) {
        (Some(kind), Some(Value::BulkString(payload))) if payload.len() <= MAX_PAYLOAD => {
            let event = Event { kind, payload: payload.clone(), age };
            if is_own { Content::Own(event) } else { Content::Event(event) }
        }
        _ => Content::Invalid,
    }
}

fn entry_id(entry: &Value) -> Option<EntryId> {
    let Value::Array(parts) = entry else { return None };
    let id = text(parts.first())?;
    let (time, count) = id.split_once('-')?;
    Some((time.parse().ok()?, count.parse().ok()?))
}

/// How many entries are read at once: with payloads of the greatest length, a quarter of what a connection may receive.
pub(super) const MAX_READ: usize = 500;

/// A week, in milliseconds: a server that starts learns of what was published in this time.
const MAX_AGE: u64 = 7 * 86_400_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Value {
        Value::BulkString(text.into())
    }

    fn entry(id: &str, fields: &[&str]) -> Value {
        Value::Array(vec![bulk(id), Value::Array(fields.iter().map(|field| bulk(field)).collect())])
    }

    fn answer(entry: Value) -> Value {
        Value::Array(vec![Value::Array(vec![bulk("key"), Value::Array(vec![entry])])])
    }

    #[test]
    fn entries_are_events_of_others_or_nothing() {
        let long = "x".repeat(MAX_PAYLOAD + 1);
        for (fields, expected) in [
            (&["server", "b", "kind", "ban", "payload", "x"][..], Some("ban x 5")),
            (&["payload", "x", "kind", "ban"], Some("ban x 5")),
            (&["server", "a", "kind", "ban", "payload", "x"], Some("own")),
            (&["kind", "ban"], None),
            (&["kind", "ban", "payload"], None),
            (&["kind", "ban", "payload", &long], None),
            (&[], None),
        ] {
            let found = entries(answer(entry("1000-2", fields)), "a", 6000).unwrap();
            assert_eq!((found.len(), found[0].id), (1, (1000, 2)));
            let text = match &found[0].content {
                Content::Event(event) => {
                    let payload = String::from_utf8(event.payload.clone()).unwrap();
                    Some(format!("{} {payload} {}", event.kind, event.age.as_secs()))
                }
                Content::Own(_) => Some("own".to_owned()),
                Content::Invalid => None,
            };
            assert_eq!(text.as_deref(), expected, "{fields:?}");
        }
    }

    #[test]
    fn other_answers_are_errors() {
        assert_eq!(entries(Value::Nil, "a", 0), Ok(Vec::new()));
        for wrong in [
            Value::Int(1),
            Value::Array(vec![Value::Int(1)]),
            Value::Array(vec![Value::Array(vec![bulk("key")])]),
            answer(Value::Int(1)),
            answer(entry("1000", &[])),
            answer(entry("-1-2", &[])),
            answer(entry("99999999999999999999-1", &[])),
        ] {
            assert!(entries(wrong.clone(), "a", 0).is_err(), "{wrong:?}");
        }
        assert_eq!(last_id(&Value::Array(vec![entry("7-8", &[])])), Ok((7, 8)));
        assert_eq!(last_id(&Value::Array(vec![])), Ok((0, 0)));
        assert!(last_id(&Value::Int(1)).is_err());
    }
}
