//! Everything that came, as json.

use std::{fmt::Write, time::Duration, time::UNIX_EPOCH};

use serde_json::{Value, json};

use super::{Ending, Outcome, Recording, Resource, caption};
use crate::report;

/// Everything that came, as a json object with a resource on each line. Names stay as they are, others may come;
/// `format` changes if one ever has to go.
///
/// Times are in seconds, to the microsecond, from when the connection was open; `null` is what did not happen.
///
/// | name | what |
/// | --- | --- |
/// | `connection` | how long it took to open, without TLS and TLS alone; what TLS agreed upon |
/// | `began` | the beginning by the wall clock (since 1970) and by `CLOCK_MONOTONIC`, for packet traces |
/// | `ending` | `complete`, or why it ended before |
/// | `resources` | in the order of the command line |
/// | … `sent` | bytes sent on the connection up to the end of its request, encryption included |
/// | … `pieces` | of the body: when, how many bytes, and how many were received on the connection before, or before its record of TLS |
/// | … `outcome` | `whole`, `incomplete`, `reset`, `refused`, `unasked` |
#[must_use]
pub fn json(recording: &Recording) -> String {
    let head = json!({
        "format": 1,
        "origin": recording.origin.to_string(),
        "socket": recording.socket,
        "version": report::version(recording.version),
        "signals": recording.signals.name(),
        "connection": {
            "connect": seconds(recording.connecting),
            "tls": recording.handshake.map(seconds),
            "encryption": recording.encryption,
        },
        "began": {
            "unix": seconds(recording.began.duration_since(UNIX_EPOCH).unwrap_or_default()),
            "monotonic": seconds(recording.clock),
        },
        "elapsed": seconds(recording.elapsed),
        "bytes": recording.bytes(),
        "ending": match &recording.ending {
            Ending::Complete => "complete".to_owned(),
            Ending::Interrupted => "interrupted".to_owned(),
            Ending::Silence(_) | Ending::Broken(_) => caption::ending(recording).unwrap_or_default(),
        },
    });
    let mut text = String::from("{");
    for (name, value) in head.as_object().into_iter().flatten() {
        // Writing to memory does not fail.
        let _ = write!(text, "\n  {}: {value},", Value::from(name.as_str()));
    }
    text.push_str("\n  \"resources\": [");
    for (number, of) in recording.resources.iter().enumerate() {
        let comma = if number > 0 { "," } else { "" };
        let _ = write!(text, "{comma}\n    {}", resource(of));
    }
    text.push_str("\n  ]\n}\n");
    text
}

fn resource(resource: &Resource) -> Value {
    let (outcome, code) = match &resource.outcome {
        Outcome::Whole => ("whole", None),
        Outcome::Incomplete => ("incomplete", None),
        Outcome::Reset(code) => ("reset", Some(code.to_string())),
        Outcome::Refused => ("refused", None),
        Outcome::Unasked => ("unasked", None),
    };
    let changes = resource.changes.iter().map(|(moment, priority)| json!([seconds(*moment), priority.as_str()]));
    let pieces = resource.pieces.iter().map(|piece| json!([seconds(piece.moment), piece.bytes, piece.place]));
    json!({
        "path": resource.spec.path,
        "priority": resource.spec.priority.map(|priority| priority.as_str()),
        "after": seconds(resource.spec.after),
        "asked": resource.asked.map(seconds),
        "sent": resource.sent,
        "status": resource.status,
        "first_byte": resource.head.map(seconds),
        "end": resource.end.map(seconds),
        "bytes": resource.bytes(),
        "outcome": outcome,
        "reset": code,
        "changes": changes.collect::<Vec<_>>(),
        "pieces": pieces.collect::<Vec<_>>(),
    })
}

/// To the microsecond.
fn seconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e6
}
