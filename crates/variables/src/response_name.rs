//! Values that are known once a server has responded, for the fields of the response.

use std::{io::Write, time::Duration};

use serow_message::{Attempt, Attempts, CacheStatus, Extensions};

/// A value that is known once the head of a response is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseName {
    /// The outcome in the cache, in nginx's words.
    CacheStatus,
    /// The servers that were tried.
    Address,
    /// The status of each.
    Status,
    /// How long the request waited until each had room for it.
    QueueTime,
    /// How long it took to connect to each.
    ConnectTime,
    /// How long it took until the head of its response was there.
    HeaderTime,
    /// How long its response took; until its head, if the body is still arriving.
    ResponseTime,
}

const NAMES: [(&str, ResponseName); 7] = [
    ("upstream_cache_status", ResponseName::CacheStatus),
    ("upstream_addr", ResponseName::Address),
    ("upstream_status", ResponseName::Status),
    ("upstream_queue_time", ResponseName::QueueTime),
    ("upstream_connect_time", ResponseName::ConnectTime),
    ("upstream_header_time", ResponseName::HeaderTime),
    ("upstream_response_time", ResponseName::ResponseTime),
];

impl ResponseName {
    /// The name with this text, in any case.
    pub(crate) fn find(written: &str) -> Option<Self> {
        NAMES.iter().find(|(name, _)| written.eq_ignore_ascii_case(name)).map(|(_, name)| *name)
    }

    /// All names.
    pub(crate) fn all() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// Appends the value of a response with these extensions; nothing where there is none. Of several attempts, each has a
    /// value, with commas between them.
    pub fn append(self, extensions: &Extensions, output: &mut Vec<u8>) {
        if self == Self::CacheStatus {
            let status = extensions.get::<CacheStatus>();
            return output.extend_from_slice(status.map_or("", CacheStatus::nginx_word).as_bytes());
        }
        let attempts = extensions.get::<Attempts>().map(Attempts::list).unwrap_or_default();
        for (number, attempt) in attempts.iter().enumerate() {
            if number > 0 {
                output.extend_from_slice(b", ");
            }
            self.append_of(attempt, output);
        }
    }

    fn append_of(self, attempt: &Attempt, output: &mut Vec<u8>) {
        let time = match self {
            Self::CacheStatus => None,
            Self::Address => return output.extend_from_slice(attempt.server().as_bytes()),
            Self::Status => {
                let status = attempt.status.as_ref().map_or("-", |status| status.as_str());
                return output.extend_from_slice(status.as_bytes());
            }
            Self::QueueTime => attempt.queue_time,
            Self::ConnectTime => attempt.connect_time,
            Self::HeaderTime => attempt.header_time,
            Self::ResponseTime => attempt.response_time.or(attempt.header_time),
        };
        append_seconds(time, output);
    }
}

fn append_seconds(time: Option<Duration>, output: &mut Vec<u8>) {
    match time {
        // Writing to memory does not fail.
        Some(time) => drop(write!(output, "{}.{:03}", time.as_secs(), time.subsec_millis())),
        None => output.push(b'-'),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serow_message::{HitState, StatusCode};

    use super::*;

    #[test]
    fn values_of_a_response_after_two_attempts() {
        let (mut extensions, attempts) = (Extensions::default(), Attempts::default());
        let values = |extensions: &Extensions| {
            NAMES.map(|(_, name)| {
                let mut value = Vec::new();
                name.append(extensions, &mut value);
                String::from_utf8(value).unwrap()
            })
        };
        assert_eq!(values(&extensions), [""; 7]);
        let [first, second] = ["127.0.0.1:1", "unix:/b"].map(|server| attempts.begin(&Arc::from(server)));
        attempts.note_failure(first, StatusCode::BAD_GATEWAY, Duration::from_millis(7));
        attempts.note_queue(second, Duration::ZERO);
        attempts.note_connection(second, Duration::from_micros(1_900));
        attempts.note_head(second, StatusCode::OK, Duration::from_millis(1_020));
        extensions.insert(attempts);
        extensions.insert(CacheStatus::Hit { ttl: 1, state: HitState::Fresh });
        let expected = ["HIT", "127.0.0.1:1, unix:/b", "502, 200", "-, 0.000", "-, 0.001", "-, 1.020", "0.007, 1.020"];
        assert_eq!(values(&extensions), expected);
    }
}
