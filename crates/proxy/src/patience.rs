//! How long a server is waited for.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use serow_net::Deadline;

use crate::{settings::UpstreamTimeouts, thread_local_pool::ThreadLocalPool};

/// How long the server of one exchange is waited for.
pub(crate) struct Patience {
    waiting: Waiting,
    deadline: Deadline,
    timeouts: UpstreamTimeouts,
}

/// What the server is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Nothing: it is the client's turn.
    Nothing,
    /// It is to take of the request.
    Taking,
    /// It is to begin with the response.
    Beginning,
    /// It is to go on with the response.
    GoingOn,
}

impl Patience {
    /// For an exchange of this upstream.
    pub(crate) fn new(pool: &ThreadLocalPool) -> Self {
        let (deadline, timeouts) = (pool.thread.deadlines.register(), pool.upstream.settings().timeouts);
        Self { waiting: Waiting::Nothing, deadline, timeouts }
    }

    /// Its time begins when what is waited for changes.
    pub(crate) fn wait_for(&mut self, waiting: Waiting) {
        if self.waiting == waiting {
            return;
        }
        self.waiting = waiting;
        match self.time() {
            Some(time) => self.deadline.set(time),
            None => self.deadline.clear(),
        }
    }

    /// The server has done something: its time begins again.
    pub(crate) fn note_progress(&mut self) {
        self.waiting = Waiting::Nothing;
    }

    /// Ready when it took too long; says how long it was given.
    pub(crate) fn poll_over(&self, context: &mut Context<'_>) -> Poll<Duration> {
        match self.time() {
            Some(time) => self.deadline.poll_expired(context).map(|()| time),
            None => Poll::Pending,
        }
    }

    fn time(&self) -> Option<Duration> {
        match self.waiting {
            Waiting::Nothing => None,
            Waiting::Taking | Waiting::GoingOn => Some(self.timeouts.transfer),
            Waiting::Beginning => Some(self.timeouts.response),
        }
    }
}
