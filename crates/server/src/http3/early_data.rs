//! Requests in early data (0-RTT): they arrive before the handshake is complete, and may be copies of what a client sent
//! earlier (RFC 8470). Those that do no harm when they are repeated are answered at once; the others wait.

use serow_http3::{Event, StreamId};
use serow_message::{Headers, Method};
use serow_streams::ReceivedRequest;

use super::handshake::{Deadline, EarlyRequests};
use crate::quic_handshakes::HandshakeGuard;

/// The handshake of a connection of a server that accepts early data, until it is complete.
pub(super) struct EarlyHandshake {
    pub(super) deadline: Deadline,
    /// It counts as a handshake in progress.
    _guard: HandshakeGuard,
    pub(super) held: HeldRequests,
}

/// Requests that wait for the end of the handshake, with what has arrived of them.
#[derive(Debug)]
pub(super) struct HeldRequests {
    early: EarlyRequests,
    events: Vec<Event>,
}

impl EarlyHandshake {
    pub(super) fn new(early: EarlyRequests, deadline: Deadline, guard: HandshakeGuard) -> Self {
        Self { deadline, _guard: guard, held: HeldRequests::new(early) }
    }
}

impl HeldRequests {
    fn new(early: EarlyRequests) -> Self {
        Self { early, events: Vec::new() }
    }

    /// Gives the event back if it may be handled now. A request that may is marked, so that the handler, and the servers
    /// that the proxy passes it on to, can refuse it (425, RFC 8470 §5.1).
    pub(super) fn admit(&mut self, event: Event) -> Option<Event> {
        match event {
            Event::Request(mut request) if self.early == EarlyRequests::Answered && may_be_repeated(&request) => {
                mark(&mut request.head.headers);
                Some(Event::Request(request))
            }
            Event::Request(request) => self.hold(Event::Request(request)),
            Event::Reset { stream, .. } | Event::Refused { stream, .. } if self.holds(stream) => {
                self.events.retain(|held| stream_of(held) != Some(stream));
                // The log has a line of refused requests.
                matches!(event, Event::Refused { .. }).then_some(event)
            }
            Event::Data { stream, .. } | Event::End { stream, .. } if self.holds(stream) => self.hold(event),
            other => Some(other),
        }
    }

    /// Whether the request of this stream waits. Its body waits in QUIC's windows, as one that no handler reads.
    pub(super) fn holds(&self, stream: StreamId) -> bool {
        self.events.iter().any(|event| stream_of(event) == Some(stream))
    }

    /// The events that were held, in the order of their arrival, once the handshake is complete.
    pub(super) fn release(self) -> Vec<Event> {
        self.events
    }

    fn hold(&mut self, event: Event) -> Option<Event> {
        self.events.push(event);
        None
    }
}

/// Whether a request does no harm when a copy of it is answered: its method is safe (RFC 9110 §9.2.1), and no body has to
/// be waited for.
fn may_be_repeated(request: &ReceivedRequest) -> bool {
    let is_safe = [Method::GET, Method::HEAD, Method::OPTIONS].contains(&request.head.method);
    is_safe && !request.has_body
}

/// A field that the client sends itself says the same (RFC 8470 §5.1).
fn mark(headers: &mut Headers) {
    if !headers.contains(EARLY_DATA) {
        // Name and value are valid.
        let _ = headers.append(EARLY_DATA, "1");
    }
}

fn stream_of(event: &Event) -> Option<StreamId> {
    match event {
        Event::Request(request) => Some(request.stream),
        Event::Refused { stream, .. }
        | Event::Data { stream, .. }
        | Event::End { stream, .. }
        | Event::Reset { stream, .. } => Some(*stream),
        Event::GoAway { .. } => None,
    }
}

/// RFC 8470 §5.1.
const EARLY_DATA: &str = "early-data";

#[cfg(test)]
mod tests {
    use serow_http3::ErrorCode;
    use serow_message::{RequestHead, Target, Version};

    use super::*;

    fn request(stream: u64, method: Method, has_body: bool) -> Event {
        let target = Target::parse("/".into(), false).unwrap();
        let head = RequestHead { method, target, version: Version::HTTP_3, headers: Headers::new() };
        let stream = StreamId::of_quic(stream);
        Event::Request(ReceivedRequest { stream, head, has_body, length: None, protocol: None })
    }

    fn data(stream: u64) -> Event {
        Event::Data { stream: StreamId::of_quic(stream), data: "abc".into() }
    }

    fn end(stream: u64) -> Event {
        Event::End { stream: StreamId::of_quic(stream), trailers: None }
    }

    #[test]
    fn safe_requests_without_a_body_are_answered_and_marked() {
        let mut held = HeldRequests::new(EarlyRequests::Answered);
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            let Some(Event::Request(request)) = held.admit(request(0, method, false)) else { panic!("it is held") };
            assert_eq!(request.head.headers.get_str("early-data"), Some("1"));
        }
        assert!(held.release().is_empty());
    }

    #[test]
    fn other_requests_wait() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PURGE", "get"] {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert!(HeldRequests::new(EarlyRequests::Answered).admit(request(0, method, false)).is_none());
        }
        for method in [Method::GET, Method::HEAD, Method::OPTIONS] {
            assert!(HeldRequests::new(EarlyRequests::Answered).admit(request(0, method, true)).is_none());
        }
    }

    #[test]
    fn all_requests_of_a_client_that_may_be_somebody_else_wait() {
        let mut held = HeldRequests::new(EarlyRequests::Held);
        assert!(held.admit(request(0, Method::GET, false)).is_none());
        assert_eq!(held.release().len(), 1);
    }

    #[test]
    fn a_held_request_is_released_with_its_body_and_without_a_mark() {
        let mut held = HeldRequests::new(EarlyRequests::Answered);
        assert!(held.admit(request(0, Method::POST, true)).is_none());
        assert!(held.admit(request(4, Method::GET, false)).is_some());
        assert!(held.admit(data(0)).is_none());
        assert!(held.admit(end(0)).is_none());
        assert!(held.holds(StreamId::of_quic(0)) && !held.holds(StreamId::of_quic(4)));
        let released = held.release();
        let [Event::Request(request), Event::Data { .. }, Event::End { .. }] = &released[..] else {
            panic!("{released:?}")
        };
        assert!(!request.head.headers.contains("early-data"));
    }

    #[test]
    fn a_held_request_that_is_reset_is_forgotten() {
        let mut held = HeldRequests::new(EarlyRequests::Answered);
        assert!(held.admit(request(0, Method::POST, true)).is_none());
        assert!(held.admit(data(0)).is_none());
        let reset = Event::Reset { stream: StreamId::of_quic(0), code: ErrorCode::REQUEST_CANCELLED };
        assert!(held.admit(reset).is_none());
        assert!(held.release().is_empty());
    }

    #[test]
    fn the_clients_own_mark_is_kept() {
        let mut headers = Headers::new();
        headers.append("Early-Data", "1").unwrap();
        mark(&mut headers);
        assert_eq!(headers.get_all("early-data").count(), 1);
    }
}
