//! What was tried to answer a request, for the access log.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serow_message::StatusCode;

use crate::server::Server;

/// What was tried to answer a request. It is in the extensions of responses where
/// [`ForwardingSettings::note_attempts`](crate::ForwardingSettings::note_attempts) asks for it; clones are handles to the same
/// list, whose last times come with the body.
#[derive(Clone, Debug, Default)]
pub struct Attempts {
    list: Arc<Mutex<Vec<Attempt>>>,
}

/// One server that was asked.
#[derive(Clone, Debug)]
pub struct Attempt {
    server: Arc<Server>,
    /// What it answered; where it did not, what the client would have got for that (502, 504). `None` as long as neither is
    /// known.
    pub status: Option<StatusCode>,
    /// How long the connection took, TLS included; zero for one that was there. `None` where there was none.
    pub connect_time: Option<Duration>,
    /// How long it took until the response's head was whole, from the beginning of the attempt on.
    pub header_time: Option<Duration>,
    /// How long it took until the last byte of the response, or until the attempt had failed.
    pub response_time: Option<Duration>,
}

impl Attempt {
    /// The server, as the status has it.
    #[must_use]
    pub fn server(&self) -> &str {
        self.server.name()
    }
}

impl Attempts {
    /// All of them by now, in their order.
    #[must_use]
    pub fn list(&self) -> Vec<Attempt> {
        self.lock().clone()
    }

    /// This server is asked.
    pub fn begin(&self, server: &Arc<Server>) {
        self.lock().push(Attempt {
            server: Arc::clone(server),
            status: None,
            connect_time: None,
            header_time: None,
            response_time: None,
        });
    }

    /// The latest attempt has its connection.
    pub fn note_connection(&self, took: Duration) {
        self.change(|attempt| attempt.connect_time = Some(took));
    }

    /// The latest attempt has a response's head.
    pub fn note_head(&self, status: StatusCode, took: Duration) {
        self.change(|attempt| (attempt.status, attempt.header_time) = (Some(status), Some(took)));
    }

    /// The latest attempt failed, for which the client would get this.
    pub fn note_failure(&self, status: StatusCode, took: Duration) {
        self.change(|attempt| (attempt.status, attempt.response_time) = (Some(status), Some(took)));
    }

    /// The latest attempt has its whole response, or was cut off.
    pub fn note_end(&self, took: Duration) {
        self.change(|attempt| attempt.response_time = Some(took));
    }

    fn change(&self, change: impl FnOnce(&mut Attempt)) {
        if let Some(attempt) = self.lock().last_mut() {
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
    use crate::{ServerSettings, Upstream, UpstreamSettings};

    #[test]
    fn attempts_one_after_the_other() {
        let server = |text: &str| ServerSettings::new(text.parse().unwrap());
        let upstream = Upstream::new(UpstreamSettings::new("app", vec![server("127.0.0.1:1"), server("127.0.0.1:2")]));
        let (attempts, servers) = (Attempts::default(), upstream.servers());
        let noted = attempts.clone();
        let time = Duration::from_millis;
        // Before there is one, there is nothing to note.
        noted.note_end(time(9));
        noted.begin(&servers[0]);
        noted.note_failure(StatusCode::BAD_GATEWAY, time(1));
        noted.begin(&servers[1]);
        noted.note_connection(time(2));
        noted.note_head(StatusCode::OK, time(3));
        noted.note_end(time(4));
        let [first, second] = &attempts.list()[..] else { panic!("two of them") };
        assert_eq!((first.server(), second.server()), ("127.0.0.1:1", "127.0.0.1:2"));
        assert_eq!((first.status, first.connect_time), (Some(StatusCode::BAD_GATEWAY), None));
        assert_eq!((first.header_time, first.response_time), (None, Some(time(1))));
        assert_eq!((second.status, second.connect_time), (Some(StatusCode::OK), Some(time(2))));
        assert_eq!((second.header_time, second.response_time), (Some(time(3)), Some(time(4))));
    }
}
