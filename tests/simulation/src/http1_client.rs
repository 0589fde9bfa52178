//! Clients over HTTP/1.1.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::pending,
    rc::Rc,
};

use serow_net::Socket;
use tokio::{
    sync::Notify,
    time::{sleep, timeout},
};

use crate::{
    observations::{End, Observations, now},
    origin::has_body,
    plan::{ClientPlan, Conduct, Malformation, Moment, RequestPlan, Version},
    wire::{Framing, Lost, Wire, chunk, send},
};

/// Carries out the plan of a client on this connection.
pub(crate) async fn run(socket: Rc<Socket>, plan: &ClientPlan, observations: &Observations) {
    let turns = Turns::default();
    let leaving = Leaving::default();
    let writing = write(&socket, plan, observations, &turns, &leaving);
    let mut reading = Reading { wire: Wire::new(Rc::clone(&socket)), observations, turns: &turns, leaving: &leaving };
    let write_on = async {
        writing.await;
        pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = leaving.happens() => {
            if leaving.is_reset.get() {
                socket.reset_on_close();
            }
            observations.trace(|| format!("client {} leaves", plan.requests[0].id.client));
            for request in turns.open.borrow_mut().drain(..) {
                observations.end(request.id, End::Left);
            }
        }
        () = reading.run(plan) => {}
        () = write_on => {}
    }
}

/// The requests whose responses have not come.
#[derive(Default)]
struct Turns {
    open: RefCell<VecDeque<RequestPlan>>,
    /// How many have ended.
    ended: Cell<usize>,
    /// Whether nothing is to be sent any more.
    is_over: Cell<bool>,
    changed: Notify,
    /// Whether the server asks for a body.
    continues: Notify,
    opened: Notify,
}

/// Whether the client leaves.
#[derive(Default)]
struct Leaving {
    is_reset: Cell<bool>,
    notify: Notify,
}

impl Leaving {
    fn begin(&self, is_reset: bool) {
        self.is_reset.set(is_reset);
        self.notify.notify_one();
    }

    async fn happens(&self) {
        self.notify.notified().await;
    }
}

async fn write(socket: &Rc<Socket>, plan: &ClientPlan, observations: &Observations, turns: &Turns, leaving: &Leaving) {
    for (number, request) in plan.requests.iter().enumerate() {
        // Behind a request without a body only: its response may be a refusal.
        let may_pipeline = number > 0 && plan.requests[number - 1].body.is_none();
        while !(request.is_pipelined && may_pipeline) && turns.ended.get() < number && !turns.is_over.get() {
            turns.changed.notified().await;
        }
        sleep(request.pause).await;
        if turns.is_over.get() {
            break;
        }
        turns.open.borrow_mut().push_back(request.clone());
        turns.opened.notify_one();
        observations.note(request.id, |requested| requested.began = Some(now()));
        observations
            .trace(|| format!("client {}: {} {} {:?}", request.id, request.method, request.target(), request.conduct));
        if write_request(socket, plan, request, turns, leaving).await.is_err() {
            break;
        }
        observations.note(request.id, |requested| requested.sent = Some(now()));
        if let Conduct::Leaves(departure) = request.conduct
            && let Moment::Waiting(time) = departure.moment
        {
            sleep(time).await;
            leaving.begin(departure.is_reset);
        }
    }
    turns.is_over.set(true);
    turns.opened.notify_one();
}

/// Sends a request as its conduct has it.
async fn write_request(
    socket: &Socket,
    plan: &ClientPlan,
    request: &RequestPlan,
    turns: &Turns,
    leaving: &Leaving,
) -> std::io::Result<()> {
    let (head, content) = (head(request, plan.version), request.content());
    let in_head = match request.conduct {
        Conduct::StallsInHead(bytes) => Some((bytes, None)),
        Conduct::Leaves(departure) => match departure.moment {
            Moment::InHead(bytes) => Some((bytes, Some(departure.is_reset))),
            _ => None,
        },
        _ => None,
    };
    if let Some((bytes, leaves)) = in_head {
        send(socket, &head[..bytes.min(head.len() - 1)]).await?;
        stop(leaves, leaving).await;
    }
    send(socket, &head).await?;
    let Some(body) = request.body else { return Ok(()) };
    if body.is_expected {
        let _ = timeout(PATIENCE, turns.continues.notified()).await;
        if turns.is_over.get() {
            return Ok(());
        }
    }
    let in_body = match request.conduct {
        Conduct::StallsInBody(bytes) => Some((bytes, None)),
        Conduct::Leaves(departure) => match departure.moment {
            Moment::InBody(bytes) => Some((bytes, Some(departure.is_reset))),
            _ => None,
        },
        _ => None,
    };
    let (pause_at, pause) = body.pause.unwrap_or_default();
    let end = in_body.map_or(content.len(), |(bytes, _)| bytes);
    for piece in [&content[..pause_at.min(end)], &content[pause_at.min(end)..end]] {
        if !piece.is_empty() {
            send(socket, &if body.is_chunked { chunk(piece) } else { piece.to_vec() }).await?;
        }
        if piece.len() == pause_at {
            sleep(pause).await;
        }
    }
    if let Some((_, leaves)) = in_body {
        stop(leaves, leaving).await;
    }
    if request.conduct == Conduct::Malformed(Malformation::BadChunk) {
        send(socket, b"x\r\n").await?;
    } else if body.is_chunked {
        send(socket, &chunk(b"")).await?;
    }
    Ok(())
}

/// Leaves, or sends nothing more.
async fn stop(leaves: Option<bool>, leaving: &Leaving) {
    if let Some(is_reset) = leaves {
        leaving.begin(is_reset);
    }
    pending().await
}

/// The head of a request.
fn head(request: &RequestPlan, version: Version) -> Vec<u8> {
    let minor = u8::from(version != Version::Http10);
    let mut head = format!("{} {} HTTP/1.{minor}\r\nx-id: {}\r\n", request.method, request.target(), request.id);
    let malformation = match request.conduct {
        Conduct::Malformed(malformation) => Some(malformation),
        _ => None,
    };
    if malformation != Some(Malformation::NoHost) {
        head.push_str("host: a.example\r\n");
    }
    if request.body.is_some_and(|body| body.is_expected) {
        head.push_str("expect: 100-continue\r\n");
    }
    match (request.body, malformation) {
        (Some(_), Some(Malformation::BadChunk)) => head.push_str("transfer-encoding: chunked\r\n"),
        (Some(body), _) if body.is_chunked => head.push_str("transfer-encoding: chunked\r\n"),
        (Some(body), _) => head.push_str(&format!("content-length: {}\r\n", body.length)),
        (None, _) => {}
    }
    head.push_str(match malformation {
        Some(Malformation::TwoLengths) => "content-length: 5\r\ncontent-length: 6\r\n",
        Some(Malformation::LengthAndChunked) => "content-length: 5\r\ntransfer-encoding: chunked\r\n",
        Some(Malformation::UnknownCoding) => "transfer-encoding: xchunked\r\n",
        Some(Malformation::ChunkedTwice) => "transfer-encoding: chunked, chunked\r\n",
        Some(Malformation::SpaceBeforeColon) => "content-type : text/plain\r\n",
        Some(Malformation::Null) => "x-null: a\0b\r\n",
        Some(Malformation::TwoHosts) => "host: b.example\r\n",
        Some(Malformation::BareReturn) => "x-return: a\rb\r\n",
        _ => "",
    });
    if malformation == Some(Malformation::LargeHead) {
        head.push_str(&format!("x-large: {}\r\n", "a".repeat(40_000)));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

struct Reading<'a> {
    wire: Wire,
    observations: &'a Observations,
    turns: &'a Turns,
    leaving: &'a Leaving,
}

impl Reading<'_> {
    /// Reads responses until the connection ends, or the client closes it.
    async fn run(&mut self, plan: &ClientPlan) {
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
        let head = loop {
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
                break head;
            }
            if status == 100 {
                self.turns.continues.notify_one();
            }
            self.observations.note(id, |requested| requested.received.hints += 1);
        };
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
}

/// How long a client waits for 100 Continue (RFC 9110 §10.1.1).
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(1_200);

/// Longer than the server waits for a reader.
const STOPPED: std::time::Duration = std::time::Duration::from_secs(60);
