//! The servers behind the proxy: each request says with its field `x-id` what becomes of it.

use std::{rc::Rc, time::Duration};

use serow_net::{Socket, simulated::Inbox};
use tokio::{
    task::spawn_local,
    time::{sleep, timeout},
};

use crate::{
    observations::{Observations, Seen, now},
    plan::{Answer, Fault, Id, Plan, ResponseFraming, pattern},
    wire::{Framing, Head, Lost, Wire, chunk, send},
};

/// Starts the servers of a plan.
pub(crate) fn start(plan: &Rc<Plan>, observations: &Rc<Observations>) {
    for (place, port) in plan.settings.ports().enumerate() {
        if place == 0 && plan.settings.refusing {
            continue;
        }
        let inbox = Inbox::open(port);
        let (plan, observations) = (Rc::clone(plan), Rc::clone(observations));
        spawn_local(async move {
            loop {
                let socket = inbox.accept().await;
                let connection = Connection { plan: Rc::clone(&plan), observations: Rc::clone(&observations) };
                spawn_local(connection.serve(socket));
            }
        });
    }
}

/// A connection of the proxy.
struct Connection {
    plan: Rc<Plan>,
    observations: Rc<Observations>,
}

/// Whether the connection goes on behind an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Request,
    Close,
    Reset,
}

impl Connection {
    async fn serve(self, socket: Socket) {
        let mut wire = Wire::new(Rc::new(socket));
        for number in 0.. {
            let idle = self.plan.settings.server_idle.unwrap_or(FOR_EVER);
            let Ok(head) = timeout(idle, wire.head()).await else { return };
            let head = match head {
                Ok(Some(head)) => head,
                // The client may have left within the head.
                Ok(None) | Err(Lost::Reset | Lost::Closed) => return,
                Err(Lost::Malformed) => return self.observations.violate("a server receives no head".to_owned()),
            };
            match self.exchange(&mut wire, &head, number > 0).await {
                Next::Request => {}
                Next::Close => return,
                Next::Reset => return wire.socket.reset_on_close(),
            }
        }
    }

    async fn exchange(&self, wire: &mut Wire, head: &Head, is_reused: bool) -> Next {
        let id: Option<Id> = head.value("x-id").and_then(|id| id.parse().ok());
        let Some((id, request)) = id.and_then(|id| Some((id, self.plan.request(id)?))) else {
            self.observations.violate(format!("a server receives a request that nobody has sent: {head:?}"));
            return Next::Close;
        };
        let method = head.line.split(' ').next().unwrap_or_default().to_owned();
        let (place, attempt) = {
            let mut seen = self.observations.seen.borrow_mut();
            let attempt = seen.iter().filter(|seen| seen.id == id).count();
            let (method, body) = (method.clone(), Vec::new());
            seen.push(Seen { id, attempt, is_reused, method, body, is_whole: false, at: now() });
            (seen.len() - 1, attempt)
        };
        let answer = request.answer(attempt);
        self.observations.trace(|| format!("server: {} ({id}), attempt {attempt}: {answer:?}", head.line));
        if answer.fault == Fault::ClosesEarly {
            return Next::Close;
        }
        if answer.reads_body && self.receive(wire, head, place).await.is_err() {
            return Next::Close;
        }
        sleep(answer.delay).await;
        match self.answer(wire, id, &method, answer).await {
            Some(Next::Request) if !answer.reads_body => match self.receive(wire, head, place).await {
                Ok(()) => Next::Request,
                Err(_) => Next::Close,
            },
            Some(next) => {
                if next == Next::Close && !answer.reads_body {
                    let _ = timeout(LINGER, self.receive(wire, head, place)).await;
                }
                next
            }
            None => Next::Close,
        }
    }

    /// Receives the body of a request.
    async fn receive(&self, wire: &mut Wire, head: &Head, place: usize) -> Result<(), Lost> {
        let framing = head.framing().unwrap_or(Framing::Length(0));
        let mut take = |piece: &[u8]| {
            if let Some(seen) = self.observations.seen.borrow_mut().get_mut(place) {
                seen.body.extend_from_slice(piece);
            }
        };
        let outcome = wire.body(framing, &mut take).await;
        if let (Ok(()), Some(seen)) = (outcome, self.observations.seen.borrow_mut().get_mut(place)) {
            seen.is_whole = true;
        }
        if outcome == Err(Lost::Malformed) {
            self.observations.violate(format!("a server receives a malformed body: {head:?}"));
        }
        outcome
    }

    /// Sends the response; `None` if the proxy has gone.
    async fn answer(&self, wire: &mut Wire, id: Id, method: &str, answer: &Answer) -> Option<Next> {
        let socket = Rc::clone(&wire.socket);
        for _ in 0..answer.hints {
            send(&socket, b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n").await.ok()?;
        }
        match answer.fault {
            Fault::Closes => return Some(Next::Close),
            Fault::Resets => return Some(Next::Reset),
            Fault::Hangs => {
                wire.linger(FOR_EVER).await;
                return Some(Next::Close);
            }
            Fault::BadHead => {
                send(&socket, b"HTTP/1.1 OK 200\r\n\r\n").await.ok()?;
                return Some(Next::Close);
            }
            Fault::TwoLengths => {
                send(&socket, b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc").await.ok()?;
                return Some(Next::Close);
            }
            Fault::CutsHead => {
                send(&socket, b"HTTP/1.1 200 OK\r\nx-id: ").await.ok()?;
                return Some(Next::Close);
            }
            _ => {}
        }
        let body = pattern('d', id, answer.length);
        send(&socket, head(id, answer).as_bytes()).await.ok()?;
        if method != "HEAD" && has_body(answer.status) && !send_body(&socket, &body, answer).await? {
            if matches!(answer.fault, Fault::HangsInBody(_)) {
                wire.linger(FOR_EVER).await;
            }
            return Some(if matches!(answer.fault, Fault::ResetsBody(_)) { Next::Reset } else { Next::Close });
        }
        if answer.fault == Fault::SendsTwo {
            send(&socket, UNSOLICITED).await.ok()?;
        }
        let closes = !answer.keeps || answer.framing == ResponseFraming::UntilClose;
        Some(if closes { Next::Close } else { Next::Request })
    }
}

fn head(id: Id, answer: &Answer) -> String {
    let mut head = format!("HTTP/1.1 {} Status\r\nx-id: {id}\r\n", answer.status);
    match answer.framing {
        // RFC 9110 §8.6: not with 204; with 304, that of the representation.
        ResponseFraming::Length if answer.status != 204 => {
            head.push_str(&format!("content-length: {}\r\n", answer.length));
        }
        ResponseFraming::Chunked if has_body(answer.status) => head.push_str("transfer-encoding: chunked\r\n"),
        _ => {}
    }
    if answer.is_fresh {
        head.push_str("cache-control: max-age=1\r\n");
    }
    if !answer.keeps || answer.framing == ResponseFraming::UntilClose {
        head.push_str("connection: close\r\n");
    }
    head.push_str("\r\n");
    head
}

/// Sends a body, whole or as far as the fault allows; whether it is whole.
async fn send_body(socket: &Socket, body: &[u8], answer: &Answer) -> Option<bool> {
    let end = answer.fault.cut().map_or(body.len(), |cut| cut.min(body.len()));
    let middle = if answer.pause.is_zero() { end } else { end / 2 };
    for (piece, pause) in [(&body[..middle], answer.pause), (&body[middle..end], Duration::ZERO)] {
        if !piece.is_empty() {
            let is_chunked = answer.framing == ResponseFraming::Chunked;
            send(socket, &if is_chunked { chunk(piece) } else { piece.to_vec() }).await.ok()?;
        }
        sleep(pause).await;
    }
    if answer.fault.cut().is_some() {
        return Some(false);
    }
    if answer.framing == ResponseFraming::Chunked {
        send(socket, &chunk(b"")).await.ok()?;
    }
    Some(true)
}

/// Whether a response with this status has a body (RFC 9110 §6.4.1).
pub(crate) fn has_body(status: u16) -> bool {
    !matches!(status, 204 | 304)
}

/// A response that no request has asked for.
const UNSOLICITED: &[u8] = b"HTTP/1.1 200 OK\r\nx-id: 999.999\r\ncontent-length: 6\r\n\r\npoison";

/// How long a server that closes goes on receiving a body.
const LINGER: Duration = Duration::from_millis(900);

/// Longer than any run.
const FOR_EVER: Duration = Duration::from_secs(100_000);
