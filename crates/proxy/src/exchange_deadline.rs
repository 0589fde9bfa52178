//! How long a server is waited for.

use std::{
    task::{Context, Poll, ready},
    time::Duration,
};

use serow_gateway::BufferedSender;
use serow_net::Deadline;

use crate::{
    settings::{ForwardingTimeouts, UpstreamTimeouts},
    thread_local_pool::ThreadLocalPool,
};

/// How long the server of one exchange is waited for.
pub(crate) struct ExchangeDeadline {
    waiting: AwaitedStep,
    deadline: Deadline,
    timeouts: UpstreamTimeouts,
}

/// The step that the server has to take next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AwaitedStep {
    /// None: the client has to act.
    Nothing,
    /// Accept more of the request.
    TakeRequest,
    /// Ask for the body, or respond without it (RFC 9110 §10.1.1).
    AskForBody,
    /// Begin the response.
    BeginResponse,
    /// Send more of the response.
    ContinueResponse,
    /// None: the client has to read, or what comes is buffered.
    ReadResponse,
}

impl ExchangeDeadline {
    /// For an exchange of this upstream.
    pub(crate) fn new(pool: &ThreadLocalPool) -> Self {
        let (deadline, timeouts) = (pool.thread.deadlines.register(), pool.upstream.settings().timeouts);
        Self { waiting: AwaitedStep::Nothing, deadline, timeouts }
    }

    /// Puts the time limits of a route in the place of those of the upstream.
    pub(crate) fn set_timeouts(&mut self, timeouts: &ForwardingTimeouts) {
        let ForwardingTimeouts { response, transfer, total: _ } = timeouts;
        self.timeouts.response = response.unwrap_or(self.timeouts.response);
        self.timeouts.transfer = transfer.unwrap_or(self.timeouts.transfer);
    }

    /// The deadline restarts when the awaited step changes.
    pub(crate) fn wait_for(&mut self, waiting: AwaitedStep) {
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
        self.waiting = AwaitedStep::Nothing;
    }

    /// The client wants more: its time to read begins again with the next piece.
    #[inline]
    pub(crate) fn note_read(&mut self) {
        if self.waiting == AwaitedStep::ReadResponse {
            self.note_progress();
        }
    }

    /// Ready when the client did not read in time, and what comes is buffered from now on. Not where it may not be.
    #[inline]
    pub(crate) fn poll_unread(&mut self, sender: &mut BufferedSender, context: &mut Context<'_>) -> Poll<()> {
        if !sender.may_buffer() {
            self.wait_for(AwaitedStep::Nothing);
            return Poll::Pending;
        }
        self.wait_for(AwaitedStep::ReadResponse);
        ready!(self.poll_over(context));
        sender.begin_buffering();
        Poll::Ready(())
    }

    /// Ready when the deadline has passed; returns the time limit.
    pub(crate) fn poll_over(&self, context: &mut Context<'_>) -> Poll<Duration> {
        match self.time() {
            Some(time) => self.deadline.poll_expired(context).map(|()| time),
            None => Poll::Pending,
        }
    }

    fn time(&self) -> Option<Duration> {
        match self.waiting {
            AwaitedStep::Nothing => None,
            AwaitedStep::TakeRequest | AwaitedStep::ContinueResponse => Some(self.timeouts.transfer),
            AwaitedStep::AskForBody => Some(MAX_EXPECTATION),
            AwaitedStep::ReadResponse => Some(BufferedSender::DEADLINE),
            AwaitedStep::BeginResponse => Some(self.timeouts.response),
        }
    }
}

/// How long a server may take to ask for a body. One of HTTP/1.0, and many a small one, never does; the body is sent then, as
/// RFC 9110 §10.1.1 asks for. curl waits as long.
const MAX_EXPECTATION: Duration = Duration::from_secs(1);
