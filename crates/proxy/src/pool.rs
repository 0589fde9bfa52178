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
    connection: Box<Http1>,
    since: Moment,
}

/// How much is done to find out whether a connection is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Care {
    /// What is known already must do; the request can be sent again.
    Look,
    /// The system is asked, which costs a call: the request cannot be sent again once it was sent.
    Ask,
}

impl Pool {
    /// A connection that is usable: the server has neither closed it nor said anything.
    pub(crate) fn take(&mut self, care: Care, now: Moment, most: Duration) -> Option<Box<Http1>> {
        while let Some(mut idle) = self.idle.pop() {
            let is_quiet = care == Care::Look || idle.connection.wire().socket().is_quiet();
            if is_quiet && now.since(idle.since) < most && is_usable(&mut idle.connection) {
                return Some(idle.connection);
            }
        }
        None
    }

    /// Keeps a connection, unless there are so many already.
    pub(crate) fn give(&mut self, connection: Box<Http1>, now: Moment, most: usize) {
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
