//! Connections that wait for their next request: those of one thread to one server.

use std::{
    task::{Context, Waker},
    time::Duration,
};

use serow_client::Http1;
use serow_net::Moment;

/// Idle connections of one thread to one server. The one that was used last is used first, so that those which are not needed
/// grow old.
#[derive(Default)]
pub(crate) struct Pool {
    idle: Vec<Idle>,
}

struct Idle {
    connection: Http1,
    since: Moment,
}

impl Pool {
    /// A connection that looks usable: the server has neither closed it nor said anything, as far as is known without
    /// asking.
    pub(crate) fn take(&mut self, now: Moment, most: Duration) -> Option<Http1> {
        while let Some(mut idle) = self.idle.pop() {
            if now.since(idle.since) < most && is_usable(&mut idle.connection) {
                return Some(idle.connection);
            }
        }
        None
    }

    /// Keeps a connection, unless there are so many already.
    pub(crate) fn give(&mut self, connection: Http1, now: Moment, most: usize) {
        if self.idle.len() < most {
            self.idle.push(Idle { connection, since: now });
        }
    }

    /// Closes those that have waited for so long, and those that the server has closed.
    pub(crate) fn sweep(&mut self, now: Moment, most: Duration) {
        self.idle.retain_mut(|idle| now.since(idle.since) < most && is_usable(&mut idle.connection));
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.idle.is_empty()
    }
}

/// Costs no system call unless something has come.
fn is_usable(connection: &mut Http1) -> bool {
    connection.poll_unusable(&mut Context::from_waker(Waker::noop())).is_pending()
}
