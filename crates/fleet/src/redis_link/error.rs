//! Why Redis cannot be used.

use std::fmt;

use redis::{ErrorKind, RedisError, ServerErrorKind, Value};
use serow_message::RedisPlace;

/// Why Redis cannot be used, as the error log says it: no name of a key, no value and no password is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FleetError {
    pub(super) reason: Reason,
    text: String,
    /// The node of a cluster that has the keys.
    pub(super) moved: Option<RedisPlace>,
}

/// The kind of an error: each has its own warning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// There is no connection.
    Unreachable,
    /// No answer came in time.
    Timeout,
    /// Redis refuses the user or the command.
    Refused,
    /// It is a replica, it starts, or its cluster is down.
    NotReady,
    /// Redis has answered with something else than what was asked for.
    Unexpected,
    /// Something else is stored under the keys of the fleet.
    ForeignValue,
}

impl FleetError {
    pub(super) fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self { reason, text: text.into(), moved: None }
    }

    /// Text that Redis has sent is shortened, and stays on one line.
    pub(super) fn of(error: &RedisError) -> Self {
        let reason = match error.kind() {
            ErrorKind::Io if error.is_timeout() => Reason::Timeout,
            ErrorKind::Io => Reason::Unreachable,
            ErrorKind::AuthenticationFailed => Reason::Refused,
            ErrorKind::Server(
                ServerErrorKind::BusyLoading
                | ServerErrorKind::ClusterDown
                | ServerErrorKind::MasterDown
                | ServerErrorKind::ReadOnly
                | ServerErrorKind::Moved
                | ServerErrorKind::Ask
                | ServerErrorKind::TryAgain,
            ) => Reason::NotReady,
            ErrorKind::Server(_) | ErrorKind::Extension => Reason::Refused,
            _ => Reason::Unexpected,
        };
        let text: String =
            error.to_string().chars().filter(|character| !character.is_control()).take(MAX_TEXT).collect();
        Self { reason, text, moved: error.redirect_node().and_then(|(address, _)| moved_to(address)) }
    }

    /// An answer that is not an error of Redis.
    pub(super) fn checked(value: Value) -> Result<Value, Self> {
        value.extract_error().map_err(|error| Self::of(&error))
    }

    pub(super) fn unexpected() -> Self {
        Self::new(Reason::Unexpected, "it answers with something else than what was asked for: is it Redis?")
    }
}

/// The node in an answer of another one: `10.0.0.1:6379`. One that does not know its own address writes `:6379` or
/// `?:6379`: it is tried again when it does.
fn moved_to(address: &str) -> Option<RedisPlace> {
    let (host, port) = address.rsplit_once(':')?;
    let host = host.trim_matches(['[', ']']);
    (!matches!(host, "" | "?")).then_some(())?;
    Some(RedisPlace::Tcp(host.to_owned(), port.parse().ok()?))
}

impl fmt::Display for FleetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Enough for a message of Redis.
const MAX_TEXT: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_of_a_cluster_are_found_in_answers() {
        for (address, expected) in [
            ("10.0.0.1:6379", Some(("10.0.0.1", 6379))),
            ("redis.internal:1", Some(("redis.internal", 1))),
            ("2001:db8::1:6379", Some(("2001:db8::1", 6379))),
            ("[2001:db8::1]:6379", Some(("2001:db8::1", 6379))),
            (":6379", None),
            ("?:6379", None),
            ("10.0.0.1", None),
            ("10.0.0.1:99999", None),
            ("", None),
        ] {
            let expected = expected.map(|(host, port)| RedisPlace::Tcp(host.to_owned(), port));
            assert_eq!(moved_to(address), expected, "{address}");
        }
    }
}
