//! The texts beside the drawings.

use std::time::Duration;

use super::{Ending, Outcome, Recording, Resource, figures};
use crate::report;

/// How it went as a whole: `2 resources, 1.40 MB in 92.9 s; connected in 300 ms, TLS in 301 ms`.
pub(super) fn summary(recording: &Recording) -> String {
    let resources = match recording.resources.len() {
        1 => "1 resource".to_owned(),
        several => format!("{several} resources"),
    };
    let (bytes, time) = (figures::bytes(recording.bytes()), figures::time(recording.elapsed));
    let connected = figures::time(recording.connecting);
    let handshake = recording.handshake.map(|time| format!(", TLS in {}", figures::time(time))).unwrap_or_default();
    format!("{resources}, {bytes} in {time}; connected in {connected}{handshake}")
}

/// The protocol: `HTTP/2, TLS 1.3`; and the priority signals, if they are those of RFC 7540.
pub(super) fn protocol(recording: &Recording) -> String {
    let version = recording.encryption.as_ref().and_then(|encryption| encryption.split(',').next());
    let encryption = version.map(|version| format!(", {version}")).unwrap_or_default();
    let signals = match recording.signals {
        super::Signals::Rfc9218 => String::new(),
        signals => format!(", priorities of {}", signals.name()),
    };
    format!("{}{encryption}{signals}", report::version(recording.version))
}

/// Why it ended before everything had come, if so.
pub(super) fn ending(recording: &Recording) -> Option<String> {
    let after = figures::time(recording.elapsed);
    match &recording.ending {
        Ending::Complete => None,
        Ending::Silence(time) => Some(format!("Given up after {after}: nothing came for {}.", figures::time(*time))),
        Ending::Broken(how) => Some(format!("The connection ended after {after}: {how}.")),
        Ending::Interrupted => Some(format!("Stopped after {after}.")),
    }
}

/// A path in at most so many characters; the end of it tells more than the beginning.
pub(super) fn name(path: &str, most: usize) -> String {
    let length = path.chars().count();
    if length <= most {
        return path.to_owned();
    }
    let kept = path.chars().skip(length - most.saturating_sub(1));
    std::iter::once('…').chain(kept).collect()
}

/// The requested priority, and those that followed: `u=5 → u=1`; empty without any.
pub(super) fn priorities(resource: &Resource) -> String {
    let first = resource.spec.priority.map(|priority| priority.as_str());
    let changes = resource.changes.iter().map(|(_, priority)| priority.as_str());
    if resource.changes.is_empty() {
        return first.unwrap_or_default().to_owned();
    }
    let all: Vec<_> = [first.unwrap_or("–")].into_iter().chain(changes).collect();
    all.join(" → ")
}

/// The outcome of a resource that did not come whole.
pub(super) fn trouble(resource: &Resource) -> Option<String> {
    Some(match &resource.outcome {
        Outcome::Whole => return None,
        Outcome::Unasked => "not asked for".to_owned(),
        Outcome::Incomplete => "not whole".to_owned(),
        Outcome::Reset(code) => format!("reset: {code}"),
        Outcome::Refused => "refused".to_owned(),
    })
}

/// The status, where it is not one of success.
pub(super) fn odd_status(resource: &Resource) -> Option<u16> {
    resource.status.filter(|status| !(200..300).contains(status))
}

/// How long the first byte took from when it was asked for.
pub(super) fn wait(resource: &Resource) -> Option<Duration> {
    resource.head?.checked_sub(resource.asked?)
}
