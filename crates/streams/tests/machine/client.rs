//! A client's handling of servers: those that break rules, and those that keep them.

use core::time::Duration;

use serow_message::{BodyLength, Headers, Method, RequestHead, Target};
use serow_streams::{BodyOrder, Follows, OpenError, StreamId};

use super::{script::localised, turns::headers};
use crate::protocol::{self, Asking, CANCELLED, Client, ClientEvent, Limits, REJECTED, Writer, nth};

pub(crate) const NOW: Duration = Duration::from_secs(5);

/// A client, and the server that talks to it.
pub(crate) struct Served {
    pub(crate) client: Client,
    pub(crate) writer: Writer,
}

impl Served {
    /// Before the server's settings.
    pub(crate) fn new(limits: Limits) -> Self {
        Self { client: protocol::client(limits, NOW), writer: Writer::default() }
    }

    /// Behind the server's settings, which allow an extended CONNECT.
    pub(crate) fn begun(limits: Limits) -> Self {
        let mut served = Self::new(limits);
        assert!(!served.client.has_settings());
        assert_eq!(served.told(protocol::SERVER_BEGINNING), [""; 0]);
        assert!(served.client.has_settings());
        served
    }

    /// Begins a request to `https://a/` or, with CONNECT, to `a:443`.
    pub(crate) fn ask(&mut self, method: Method, length: BodyLength) -> StreamId {
        let (stream, follows) =
            protocol::open(&mut self.client, &head(method), length, Asking::default()).expect("a stream");
        assert_eq!(follows == Follows::Fin, length == BodyLength::Known(0));
        stream
    }

    /// The server says lines for both versions. Gives what happened: events in words, then how the connection failed,
    /// if it did.
    pub(crate) fn told(&mut self, lines: &[&str]) -> Vec<String> {
        let mut told = Vec::new();
        for line in lines {
            let note = |event| told.push(describe(&event));
            let failure = protocol::receive_line(&mut self.client, &mut self.writer, &localised(line), note);
            if let Some(code) = failure {
                told.push(format!("close {code}"));
                break;
            }
        }
        told
    }
}

fn describe(event: &ClientEvent) -> String {
    match event {
        ClientEvent::Response(response) => {
            let (end, length) = (if response.has_body { "" } else { " end" }, response.length);
            format!("response {}{end} {length:?}", response.head.status.as_u16())
        }
        ClientEvent::Data { data, .. } => format!("data {}", data.escape_ascii()),
        ClientEvent::End { trailers, .. } => format!("end {}", trailers.as_ref().map_or(0, Headers::len)),
        ClientEvent::Reset { code, .. } => format!("reset {code}"),
        ClientEvent::GoAway { .. } => "goaway".into(),
    }
}

fn head(method: Method) -> RequestHead {
    let target = match method {
        Method::CONNECT => Target::parse("a:443".into(), true),
        _ => Target::parse("https://a/".into(), false),
    };
    let headers = Headers::new();
    RequestHead { method, target: target.expect("a target"), version: protocol::VERSION, headers }
}

/// A name, lines of the server, and what happens.
pub(crate) type Mistake<'a> = (&'a str, &'a [&'a str], &'a [&'a str]);

/// Checks mistakes in responses to a GET.
pub(crate) fn check_mistakes(cases: &[Mistake<'_>]) {
    for (name, lines, expected) in cases {
        let mut served = Served::begun(Limits { body: 20, ..Limits::default() });
        served.ask(Method::GET, BodyLength::Known(0));
        let told: Vec<String> = lines.iter().flat_map(|line| served.told(&[line])).collect();
        let expected: Vec<String> = expected.iter().map(|line| localised(line)).collect();
        assert_eq!(told, expected, "{name}");
    }
}

#[test]
fn mistakes_of_servers() {
    check_mistakes(&[
        ("RFC 9113 §8.3.2, RFC 9114 §4.3.2: no :status", &["HEADERS #1 | x: 1"], &["reset MALFORMED"]),
        (
            "RFC 9113 §8.3, RFC 9114 §4.3: a request's field",
            &["HEADERS #1 | :status: 200 | :path: /"],
            &["reset MALFORMED"],
        ),
        ("RFC 9113 §8.6, RFC 9114 §4.5: 101", &["HEADERS #1 | :status: 101"], &["reset MALFORMED"]),
        ("RFC 9113 §8.1, RFC 9114 §4.1: 103 is not the last", &["HEADERS #1 end | :status: 103"], &["reset MALFORMED"]),
        (
            "RFC 9113 §8.1.1, RFC 9114 §4.1.2: less than content-length",
            &["HEADERS #1 | :status: 200 | content-length: 4", "DATA #1 abc", protocol::EMPTY_END],
            &["response 200 Some(4)", "data abc", "reset MALFORMED"],
        ),
        (
            "RFC 9113 §8.1.1, RFC 9114 §4.1.2: more than content-length",
            &["HEADERS #1 | :status: 200 | content-length: 2", "DATA #1 end abc"],
            &["response 200 Some(2)", "reset MALFORMED"],
        ),
        ("RFC 9113 §8.1, RFC 9114 §4.1: cut off", &["CUT #1 EXCESSIVE"], &["reset EXCESSIVE"]),
        (
            "a body beyond our limit",
            &["HEADERS #1 | :status: 200", "DATA #1 size 40"],
            &["response 200 None", "reset CANCELLED"],
        ),
    ]);
}

#[test]
fn informational_responses_without_end() {
    let mut served = Served::begun(Limits::default());
    served.ask(Method::GET, BodyLength::Known(0));
    for _ in 0..64 {
        assert_eq!(served.told(&["HEADERS #1 | :status: 103"]), ["response 103 end None"]);
    }
    assert_eq!(served.told(&["HEADERS #1 | :status: 103"]), [localised("reset EXCESSIVE")]);
}

#[test]
fn responses_without_content() {
    let mut served = Served::begun(Limits::default());
    served.ask(Method::HEAD, BodyLength::Known(0));
    let head = "HEADERS #1 end | :status: 200 | content-length: 9";
    assert_eq!(served.told(&[head]), ["response 200 end Some(9)"]);
    served.ask(Method::GET, BodyLength::Known(0));
    let end = protocol::EMPTY_END.replace("#1", "#2");
    assert_eq!(served.told(&["HEADERS #2 | :status: 204", &end]), ["response 204 None", "end 0"]);
    assert_eq!(served.client.active_streams(), 0);
}

#[test]
fn a_tunnel() {
    let mut served = Served::begun(Limits::default());
    let stream = served.ask(Method::CONNECT, BodyLength::Unknown);
    assert_eq!(served.told(&["HEADERS #1 | :status: 200", "DATA #1 x"]), ["response 200 None", "data x"]);
    let mut output = Vec::new();
    let written = served.client.write_data(stream, b"ping", false, &mut output);
    assert_eq!(protocol::follows(written, &output), Ok(Follows::More));
    assert!(output.ends_with(b"ping"));
}

#[test]
fn a_refused_tunnel_is_a_response_like_others() {
    let mut served = Served::begun(Limits::default());
    served.ask(Method::CONNECT, BodyLength::Unknown);
    let lines = ["HEADERS #1 | :status: 403", "DATA #1 x", "HEADERS #1 end | x: 1"];
    assert_eq!(served.told(&lines), ["response 403 None", "data x", "end 1"]);
}

#[test]
fn another_protocol_where_the_server_allows_it() {
    let target = Target::parse("https://a/chat".into(), false).expect("a target");
    let head = RequestHead { target, ..head(Method::CONNECT) };
    let asking = Asking { protocol: Some("websocket"), ..Asking::default() };
    let mut client = Served::new(Limits::default()).client;
    assert_eq!(protocol::open(&mut client, &head, BodyLength::Unknown, asking), Err(OpenError::Usage));
    let mut client = Served::begun(Limits::default()).client;
    assert!(client.allows_extended_connect());
    assert!(protocol::open(&mut client, &head, BodyLength::Unknown, asking).is_ok());
}

#[test]
fn requests_that_a_server_does_not_look_at() {
    let mut served = Served::begun(Limits::default());
    for _ in 0..3 {
        served.ask(Method::GET, BodyLength::Known(0));
    }
    let [second, first] = protocol::GO_AWAYS;
    let rejected = format!("reset {REJECTED}");
    assert_eq!(served.told(&[second]), ["goaway", &rejected, &rejected]);
    let again = protocol::GO_AWAY_AGAIN;
    assert_eq!(served.told(&[second]), again);
    assert_eq!(served.told(&[first]), [again, &[&rejected]].concat());
    assert!(served.client.is_finished());
    assert_eq!(served.client.check_room(), Err(OpenError::GoAway));
}

#[test]
fn bodies_go_by_priority_or_in_turns() {
    for (order, expected) in [(BodyOrder::ByPriority, [1, 1, 1]), (BodyOrder::InTurns, [0, 1, 0])] {
        let mut client = Served::begun(Limits::default()).client;
        let asking = Asking { order, ..Asking::default() };
        for urgency in ["u=3", "u=0"] {
            let head = RequestHead { headers: headers(&[("priority", urgency)]), ..head(Method::POST) };
            let (stream, _) = protocol::open(&mut client, &head, BodyLength::Unknown, asking).expect("room");
            client.set_ready(stream, true);
        }
        let found = expected.map(|_| {
            let turn = client.next_turn(20_000).expect("a turn");
            let written = client.write_data(turn.stream, &vec![0; turn.bytes], false, &mut Vec::new());
            let _ = protocol::follows(written, &[]).expect("its turn");
            turn.stream.get()
        });
        assert_eq!(found, expected.map(nth), "{order:?}");
    }
}

#[test]
fn room_is_what_the_server_allows() {
    let mut served = Served::begun(Limits::default());
    protocol::allow_one(&mut served, 0);
    assert_eq!(served.client.check_room(), Ok(()));
    let stream = served.ask(Method::GET, BodyLength::Known(0));
    assert_eq!((stream.get(), served.client.check_room()), (nth(0), Err(OpenError::WouldBlock)));
    let opened = protocol::open(&mut served.client, &head(Method::GET), BodyLength::Known(0), Asking::default());
    assert_eq!(opened, Err(OpenError::WouldBlock));
    served.client.reset(stream, CANCELLED);
    protocol::allow_one(&mut served, 1);
    assert_eq!(served.client.check_room(), Ok(()));
    assert_eq!(served.ask(Method::GET, BodyLength::Known(0)).get(), nth(1));
    served.client.begin_shutdown();
    assert_eq!(served.client.check_room(), Err(OpenError::GoAway));
}
