//! Connections that wait for their next request: those of one thread to one server.

use std::{
    collections::VecDeque,
    task::{Context, Poll, Waker},
    time::Duration,
};

use serow_client::{Http1, IdleHttp1};
use serow_net::{Moment, event_loop_turn};

use crate::{server::Server, upstream::Upstream};

/// Idle connections of one thread to one server. Those that were used last are used first, so that those which are not
/// needed grow old.
#[derive(Default)]
pub(crate) struct Pool {
    idle: Vec<Idle>,
    /// Those whose last response had no content by its nature, the oldest first: see [`SETTLING`].
    settling: VecDeque<Idle>,
}

struct Idle {
    connection: IdleHttp1,
    since: Moment,
}

impl Pool {
    /// A connection on which another request may be sent: the server has neither closed it nor sent anything.
    pub(crate) fn take(&mut self, upstream: &Upstream, server: &Server, now: Moment) -> Option<Box<Http1>> {
        let keep = upstream.settings().keep;
        self.settle(now, keep.idle);
        while let Some(Idle { connection, since }) = self.pop() {
            if now.since(since) >= keep.idle_time {
                continue;
            }
            match connection.into_active() {
                Ok(connection) => return Some(connection),
                Err(why) => upstream.note_unusable(server, why, now),
            }
        }
        None
    }

    /// Keeps a connection, unless there are so many already.
    pub(crate) fn give(&mut self, upstream: &Upstream, connection: IdleHttp1, now: Moment) {
        let max_idle = upstream.settings().keep.idle;
        let (settles, idle) = (connection.may_be_overrun(), Idle { connection, since: now });
        if !settles && self.idle.len() < max_idle {
            self.idle.push(idle);
        } else if settles && self.settling.len() < SETTLING_FACTOR.saturating_mul(max_idle) {
            self.settling.push_back(idle);
        }
    }

    /// Closes those that have waited for so long, and those that cannot be used any more.
    pub(crate) fn sweep(&mut self, upstream: &Upstream, server: &Server, now: Moment) {
        let keep = upstream.settings().keep;
        self.settle(now, keep.idle);
        self.idle.retain_mut(|Idle { connection, since }| {
            let unusable = connection.poll_unusable(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(why) = unusable {
                upstream.note_unusable(server, why, now);
            }
            unusable.is_pending() && now.since(*since) < keep.idle_time
        });
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.idle.is_empty() && self.settling.is_empty()
    }

    /// The one that was used last of those that the event loop has watched since; no call is needed to know their
    /// state.
    #[inline]
    fn pop(&mut self) -> Option<Idle> {
        let turn = event_loop_turn();
        match self.idle.iter().rposition(|idle| idle.connection.is_watched_in(turn)) {
            Some(place) => Some(self.idle.remove(place)),
            None => self.idle.pop(),
        }
    }

    /// Those that have settled become like the others, unless there are so many already.
    #[inline]
    fn settle(&mut self, now: Moment, max_idle: usize) {
        while let Some(first) = self.settling.front()
            && now.since(first.since) >= SETTLING
        {
            let first = self.settling.pop_front();
            if self.idle.len() < max_idle {
                self.idle.extend(first);
            }
        }
    }
}

/// How long a connection waits before it can serve another client after a response to HEAD, or with 204 or 304. Servers
/// that send content with those do so in a second write, which comes a moment after the first: Python's `http.server`
/// within a tenth of a millisecond, one on a busy machine after some turns of the scheduler.
const SETTLING: Duration = Duration::from_millis(50);

/// How many connections may settle for each that may be idle: with 64, some 5,000 such responses each second go by
/// without another connection being opened.
const SETTLING_FACTOR: usize = 4;

#[cfg(test)]
mod tests;
