//! Responses of HTTP/1.1.

use std::{future::pending, time::Duration};

use tokio::{sync::Notify, time::sleep};

use super::{Leaving, Turns};
use crate::{
    observations::{End, Observations, now},
    origin::has_body,
    plan::{ClientPlan, Conduct, Moment, RequestPlan},
    wire::{Framing, Head, Lost, Wire},
};

/// Reads the responses of a connection.
pub(super) struct Reading<'a> {
    pub(super) wire: Wire,
    pub(super) observations: &'a Observations,
    pub(super) turns: &'a Turns,
    pub(super) leaving: &'a Leaving,
}

impl Reading<'_> {
    /// Reads responses until the connection ends, or the client closes it.
    pub(super) async fn run(&mut self, plan: &ClientPlan) {
        loop {
            let request = loop {
                let request = self.turns.open.borrow().front().cloned();
                match request {
                    Some(request) => break Some(request),
                    None if self.turns.is_over.get() => break None,
                    None => {
                        tokio::select! {
                            biased;
                            () = self.turns.opened.notified() => {}
                            received = self.wire.receive() => {
                                self.check_nothing(received, plan);
                                if received.is_err() {
                                    return self.over();
                                }
                            }
                        }
                    }
                }
            };
            let Some(request) = request else { break };
            let goes_on = self.response(&request).await;
            self.turns.open.borrow_mut().pop_front();
            self.turns.ended.set(self.turns.ended.get() + 1);
            self.turns.changed.notify_one();
            if !goes_on {
                break;
            }
        }
        self.over();
        let has_stopped = plan.requests.iter().any(|request| matches!(request.conduct, Conduct::StopsReading(_)));
        if plan.stays && !has_stopped {
            let received = self.wire.receive().await;
            self.check_nothing(received, plan);
            self.observations.closed.borrow_mut().insert(plan.requests[0].id.client, now());
        }
    }

    /// Nothing is sent any more, and the requests behind get no response.
    fn over(&self) {
        self.turns.is_over.set(true);
        self.turns.changed.notify_one();
        let open: Vec<_> = self.turns.open.borrow_mut().drain(..).collect();
        for request in open {
            self.observations.end(request.id, End::Closed);
        }
    }

    /// Behind the last response comes only the end.
    fn check_nothing(&self, received: Result<(), Lost>, plan: &ClientPlan) {
        if received.is_ok() && self.wire.has_input() {
            let client = plan.requests[0].id.client;
            self.observations.violate(format!("client {client} receives bytes that it has not asked for"));
        }
    }

    /// Reads the response to a request; whether another may follow.
    async fn response(&mut self, request: &RequestPlan) -> bool {
        let id = request.id;
        let end = match self.read(request).await {
            Ok(goes_on) => {
                self.observations.end(id, End::Whole);
                return goes_on;
            }
            Err(Lost::Closed) => End::Closed,
            Err(Lost::Reset) => End::Reset,
            Err(Lost::Malformed) => {
                self.observations.violate(format!("client {id} receives a malformed response"));
                End::Closed
            }
        };
        self.observations.end(id, end);
        false
    }

    async fn read(&mut self, request: &RequestPlan) -> Result<bool, Lost> {
        let id = request.id;
        let head = self.read_head(request).await?;
        let closes = head.value("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let status = self.observations.requests.borrow()[&id].received.status.unwrap_or_default();
        if request.method == "HEAD" || !has_body(status) {
            return Ok(!closes);
        }
        let framing = head.framing().unwrap_or(Framing::UntilClose);
        let mut count = 0;
        let most = match request.conduct {
            Conduct::StopsReading(bytes) => Some(bytes),
            Conduct::Leaves(departure) => match departure.moment {
                Moment::Receiving(bytes) => Some(bytes),
                _ => None,
            },
            _ => None,
        };
        let reached = Notify::new();
        let mut take = |piece: &[u8]| {
            self.observations.note(id, |requested| requested.received.body.extend_from_slice(piece));
            count += piece.len();
            if most.is_some_and(|most| count >= most) {
                reached.notify_one();
            }
        };
        tokio::select! {
            biased;
            () = reached.notified() => {}
            outcome = self.wire.body(framing, &mut take) => {
                outcome?;
                return Ok(!closes && framing != Framing::UntilClose);
            }
        }
        if let Conduct::Leaves(departure) = request.conduct {
            self.leaving.begin(departure.is_reset);
            return pending().await;
        }
        // The server gives up some time; what is on its way is not looked at.
        sleep(STOPPED).await;
        Err(Lost::Closed)
    }

    /// Reads the heads of a response to the last one.
    async fn read_head(&mut self, request: &RequestPlan) -> Result<Head, Lost> {
        let id = request.id;
        loop {
            let head = self.wire.head().await?.ok_or(Lost::Closed)?;
            let status = head.line.split(' ').nth(1).and_then(|status| status.parse::<u16>().ok());
            let status = status.ok_or(Lost::Malformed)?;
            self.observations.trace(|| format!("client {id}: {} {:?}", head.line, head.fields));
            if status >= 200 {
                // A client does not send a body that is not wanted any more, and closes.
                if request.body.is_some_and(|body| body.is_expected) && self.observations.is_unsent(id) {
                    self.turns.is_over.set(true);
                }
                self.turns.continues.notify_one();
                self.observations.note(id, |requested| {
                    requested.received.status = Some(status);
                    requested.received.fields.clone_from(&head.fields);
                });
                return Ok(head);
            }
            if status == 100 {
                self.turns.continues.notify_one();
            }
            self.observations.note(id, |requested| requested.received.hints += 1);
        }
    }
}

/// Longer than the server waits for a reader.
const STOPPED: Duration = Duration::from_secs(60);
