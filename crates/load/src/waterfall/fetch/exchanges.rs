//! The exchanges of a connection, and what is noted of them.

use std::{
    collections::VecDeque,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use serow_client::ClientError;
use serow_message::RequestHead;
use serow_net::monotonic;
use serow_streams::{ClientEvent, OpenError, StreamId};

use crate::{
    Batch, BatchError, Parts,
    multiplexed::Connection,
    waterfall::{Outcome, Piece, Plan, Recording, Resource, Signals, agenda::AgendaStep, chain::Chain},
};

/// The exchanges of a connection.
pub(super) struct Exchanges<C> {
    connection: C,
    recording: Recording,
    heads: Vec<RequestHead>,
    /// The stream of each resource that was asked for.
    streams: Vec<Option<StreamId>>,
    /// Due, and not asked for yet: the server allows so many streams at once.
    waiting: VecDeque<usize>,
    chain: Chain,
    /// Bytes of the frame of DATA being received that are noted already.
    noted: usize,
    /// Bytes received on the connection before what was received last.
    place: u64,
    /// The server has said that it leaves, and why.
    go_away: Option<String>,
    broken: Option<ClientError>,
}

impl<C: Connection> Exchanges<C> {
    /// None yet; all are to be asked for on this connection.
    pub(super) fn new(plan: &Plan, connection: C, recording: Recording) -> Result<Self, BatchError> {
        let heads = plan.specs.iter().map(|spec| {
            let mut headers = plan.headers.clone();
            if let (Some(priority), Signals::Rfc9218) = (spec.priority, plan.signals) {
                headers.retain(|(name, _)| !name.eq_ignore_ascii_case("priority"));
                headers.push(("priority".to_owned(), priority.as_str().to_owned()));
            }
            let host = &plan.origin.authority();
            let (method, body) = ("GET", Bytes::new());
            let batch = Batch::new(&Parts { method, path: &spec.path, host, headers: &headers, body, close: false })?;
            batch.requests().first().map(|written| written.head.clone()).ok_or(BatchError::Incomplete)
        });
        Ok(Self {
            heads: heads.collect::<Result<_, _>>()?,
            streams: vec![None; plan.specs.len()],
            connection,
            recording,
            waiting: VecDeque::new(),
            chain: Chain::default(),
            noted: 0,
            place: 0,
            go_away: None,
            broken: None,
        })
    }

    /// The recording of all of them.
    pub(super) fn into_recording(self) -> Recording {
        self.recording
    }

    /// Why the connection is of no more use, if so.
    pub(super) fn broken(&self) -> Option<&ClientError> {
        self.broken.as_ref()
    }

    /// The error code of the server's GOAWAY as a message, if there was one.
    pub(super) fn farewell(&self) -> Option<String> {
        self.go_away.as_ref().map(|code| format!("the server ended the connection with {code}"))
    }

    /// The received bytes that were not understood.
    pub(super) fn not_understood(&self) -> &[u8] {
        self.connection.not_understood()
    }

    /// Whether the server has not said a word.
    pub(super) fn is_mute(&self) -> bool {
        self.connection.received() == 0
    }

    /// Whether something was asked for, or is due, and is not over.
    pub(super) fn are_in_flight(&self) -> bool {
        !self.waiting.is_empty() || self.recording.resources.iter().any(is_in_flight)
    }

    /// When [`Self::handle_timeout`] is to be called.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.connection.deadline()
    }

    /// The deadline may have passed.
    pub(super) fn handle_timeout(&mut self) {
        self.connection.handle_timeout(monotonic());
    }

    /// Does what is due.
    pub(super) fn take_step(&mut self, step: AgendaStep) {
        match step {
            AgendaStep::Ask(resource) => self.waiting.push_back(resource),
            AgendaStep::Change(resource, priority) => {
                let stream = self.streams.get(resource).copied().flatten();
                let found = self.recording.resources.get_mut(resource).filter(|resource| is_in_flight(resource));
                if let (Some(stream), Some(found)) = (stream, found) {
                    self.connection.set_priority(stream, priority);
                    found.changes.push((monotonic() - self.recording.clock, priority));
                }
            }
        }
    }

    /// Opens as many requests as the server allows.
    pub(super) fn open_requests(&mut self) {
        while let Some(resource) = self.waiting.front().copied() {
            match self.open(resource) {
                Err(OpenError::WouldBlock) => return,
                Ok(()) => {}
                Err(OpenError::GoAway | OpenError::Usage) => {
                    if let Some(resource) = self.recording.resources.get_mut(resource) {
                        resource.outcome = Outcome::Refused;
                    }
                }
            }
            self.waiting.pop_front();
        }
    }

    fn open(&mut self, number: usize) -> Result<(), OpenError> {
        let resources = &mut self.recording.resources;
        let (Some(head), Some(resource)) = (self.heads.get(number), resources.get_mut(number)) else {
            return Err(OpenError::Usage);
        };
        let priority = resource.spec.priority.filter(|_| self.recording.signals == Signals::Rfc7540);
        let dependency = priority.map(|priority| self.chain.dependency(priority));
        let scheme = self.recording.origin.scheme_name();
        let stream = self.connection.open(head, &Bytes::new(), scheme, dependency)?;
        self.chain.note_opened(stream, priority.unwrap_or_default());
        self.streams[number] = Some(stream);
        resource.asked = Some(monotonic() - self.recording.clock);
        resource.outcome = Outcome::Incomplete;
        Ok(())
    }

    /// Sends what the kernel takes.
    pub(super) fn flush(&mut self, context: &mut Context<'_>) {
        match self.connection.poll_flush(context) {
            Poll::Ready(Ok(())) => {
                let sent = self.connection.wire_bytes().sent;
                let resources = self.recording.resources.iter_mut();
                for resource in resources.filter(|resource| resource.asked.is_some() && resource.sent.is_none()) {
                    resource.sent = Some(sent);
                }
            }
            Poll::Ready(Err(broken)) => self.note_broken(broken),
            Poll::Pending => {}
        }
    }

    /// Says goodbye, as far as the kernel takes it.
    pub(super) fn take_leave(&mut self, context: &mut Context<'_>) {
        self.connection.begin_shutdown();
        self.connection.close(context, true);
    }

    /// Takes what has come; says whether anything has.
    pub(super) fn take_events(&mut self, context: &mut Context<'_>) -> bool {
        let received = self.connection.received();
        while self.broken.is_none() {
            let (before, place) = (self.connection.received(), self.connection.wire_bytes().received);
            let polled = self.connection.poll_receive(context, monotonic());
            if self.connection.received() != before {
                self.place = place;
            }
            match polled {
                Poll::Ready(Ok(event)) => self.handle(event),
                Poll::Ready(Err(broken)) => self.note_broken(broken),
                Poll::Pending => break,
            }
        }
        self.note_beginning();
        self.connection.received() != received
    }

    fn handle(&mut self, event: ClientEvent<C::Code>) {
        let now = monotonic() - self.recording.clock;
        match event {
            ClientEvent::Response(response) if response.is_informational() => {}
            ClientEvent::Response(response) => {
                if let Some(resource) = self.find(response.stream) {
                    resource.head = Some(now);
                    resource.status = Some(response.head.status.as_u16());
                }
                if !response.has_body {
                    self.end(response.stream, Outcome::Whole, now);
                }
            }
            ClientEvent::Data { stream, data } => {
                self.connection.note_consumed(stream, data.len());
                let rest = data.len().saturating_sub(std::mem::take(&mut self.noted));
                self.note_data(stream, rest, now);
            }
            ClientEvent::End { stream, .. } => self.end(stream, Outcome::Whole, now),
            ClientEvent::Reset { stream, code } if code == C::REFUSED => self.end(stream, Outcome::Refused, now),
            ClientEvent::Reset { stream, code } => self.end(stream, Outcome::Reset(code.to_string()), now),
            ClientEvent::GoAway { code } => self.go_away = Some(code.to_string()),
        }
    }

    /// Notes the beginning of a frame of DATA whose end has not come: on a slow link that may take a second.
    fn note_beginning(&mut self) {
        let Some((stream, come)) = self.connection.unfinished_data() else { return };
        if self.find(stream).is_some_and(|resource| is_in_flight(resource)) {
            self.note_data(stream, come - self.noted.min(come), monotonic() - self.recording.clock);
            self.noted = come;
        }
    }

    fn note_data(&mut self, stream: StreamId, bytes: usize, moment: Duration) {
        let place = self.place;
        if let Some(resource) = self.find(stream).filter(|_| bytes > 0) {
            resource.pieces.push(Piece { moment, bytes: bytes as u64, place });
        }
    }

    fn end(&mut self, stream: StreamId, outcome: Outcome, moment: Duration) {
        self.chain.note_ended(stream);
        if let Some(resource) = self.find(stream).filter(|resource| is_in_flight(resource)) {
            resource.end = Some(moment);
            resource.outcome = outcome;
        }
    }

    fn note_broken(&mut self, broken: ClientError) {
        self.broken.get_or_insert(broken);
    }

    fn find(&mut self, stream: StreamId) -> Option<&mut Resource> {
        let number = self.streams.iter().position(|of| *of == Some(stream))?;
        self.recording.resources.get_mut(number)
    }
}

/// Whether it was asked for and is not over.
fn is_in_flight(resource: &Resource) -> bool {
    resource.asked.is_some() && resource.end.is_none()
}
