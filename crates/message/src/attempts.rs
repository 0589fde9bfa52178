//! The attempts to answer a request, for the access log.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
    vec::Vec,
};

use crate::StatusCode;

/// The attempts to answer a request. They are in the extensions of responses if the proxy's setting `note_attempts` is
/// set; clones are handles to the same list, whose last times arrive with the body.
#[derive(Clone, Debug, Default)]
pub struct Attempts {
    list: Arc<Mutex<Vec<Attempt>>>,
}

/// An attempt at one server.
#[derive(Clone, Debug)]
pub struct Attempt {
    server: Arc<str>,
    /// How long the request waited until the server had room for it, since it arrived or since the attempt before.
    /// `None` where no server got it.
    pub queue_time: Option<Duration>,
    /// The status of its response; without a response, the status for the client (502, 504). `None` until one of them
    /// is known.
    pub status: Option<StatusCode>,
    /// How long opening the connection took, TLS included; zero for a reused one. `None` without a connection.
    pub connect_time: Option<Duration>,
    /// The time from the start of the attempt to the end of the response's head.
    pub header_time: Option<Duration>,
    /// How long it took until the last byte of the response, or until the attempt had failed.
    pub response_time: Option<Duration>,
}

impl Attempt {
    /// The name of the server, as in the status.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }
}

impl Attempts {
    /// All of them by now, in their order.
    #[must_use]
    pub fn list(&self) -> Vec<Attempt> {
        self.lock().clone()
    }

    /// An attempt at the server with this name begins; returns its index in the list.
    pub fn begin(&self, server: &Arc<str>) -> usize {
        let mut list = self.lock();
        list.push(Attempt {
            server: Arc::clone(server),
            queue_time: None,
            status: None,
            connect_time: None,
            header_time: None,
            response_time: None,
        });
        list.len() - 1
    }

    /// The last attempt, if it is at this server, or a new one; for a request that is at one server at a time, and at
    /// none twice.
    pub fn current(&self, server: &Arc<str>) -> usize {
        let list = self.lock();
        match list.last() {
            Some(last) if last.server == *server => list.len() - 1,
            _ => {
                drop(list);
                self.begin(server)
            }
        }
    }

    /// The attempt at this place had to wait for the server.
    pub fn note_queue(&self, place: usize, took: Duration) {
        self.change(place, |attempt| attempt.queue_time = Some(took));
    }

    /// The attempt at this place has its connection.
    pub fn note_connection(&self, place: usize, took: Duration) {
        self.change(place, |attempt| attempt.connect_time = Some(took));
    }

    /// The attempt at this place has a response's head.
    pub fn note_head(&self, place: usize, status: StatusCode, took: Duration) {
        self.change(place, |attempt| (attempt.status, attempt.header_time) = (Some(status), Some(took)));
    }

    /// The attempt with this index failed; the client would get this status.
    pub fn note_failure(&self, place: usize, status: StatusCode, took: Duration) {
        self.change(place, |attempt| (attempt.status, attempt.response_time) = (Some(status), Some(took)));
    }

    /// The attempt with this index has its complete response, or was cut off.
    pub fn note_end(&self, place: usize, took: Duration) {
        self.change(place, |attempt| attempt.response_time = Some(took));
    }

    fn change(&self, place: usize, change: impl FnOnce(&mut Attempt)) {
        if let Some(attempt) = self.lock().get_mut(place) {
            change(attempt);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Attempt>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_one_after_the_other() {
        let (attempts, servers) = (Attempts::default(), ["127.0.0.1:1", "127.0.0.1:2"].map(Arc::from));
        let noted = attempts.clone();
        let time = Duration::from_millis;
        // Without an attempt, there is nothing to record.
        noted.note_end(0, time(9));
        let (first, second) = (noted.begin(&servers[0]), noted.begin(&servers[1]));
        noted.note_connection(second, time(2));
        noted.note_head(second, StatusCode::OK, time(3));
        noted.note_failure(first, StatusCode::BAD_GATEWAY, time(1));
        noted.note_end(second, time(4));
        let [first, second] = &attempts.list()[..] else { panic!("two of them") };
        assert_eq!((first.server(), second.server()), ("127.0.0.1:1", "127.0.0.1:2"));
        assert_eq!((first.status, first.connect_time), (Some(StatusCode::BAD_GATEWAY), None));
        assert_eq!((first.header_time, first.response_time), (None, Some(time(1))));
        assert_eq!((second.status, second.connect_time), (Some(StatusCode::OK), Some(time(2))));
        assert_eq!((second.header_time, second.response_time), (Some(time(3)), Some(time(4))));
    }
}
