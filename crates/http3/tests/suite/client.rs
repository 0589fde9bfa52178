//! A client's handling of servers: those that break rules, and those that keep them.

use core::time::Duration;

use serow_http3::{
    Asking, BodyLength, Client, ClientEvent, ErrorCode, Follows, Limits, OpenError, ProtocolError, StreamId,
    StreamOrder,
};
use serow_message::{Headers, Method, RequestHead, Target, Version};

use crate::protocol::{Said, encode};

const NOW: Duration = Duration::from_secs(5);

/// A client behind the server's settings, whose streams are 3, 7 and 11.
fn begun(limits: Limits) -> Client {
    let mut client = Client::new(limits, NOW);
    client.set_stream_credit(100);
    for line in ["BYTES 3 00 04 02 08 01", "BYTES 7 02", "BYTES 11 03"] {
        say(&mut client, line).expect("no rule is broken");
    }
    client
}

/// The server sends a line.
fn say(client: &mut Client, line: &str) -> Result<(), ProtocolError> {
    match encode(line) {
        Said::Bytes(stream, bytes, fin) => client.receive(stream, bytes.into(), fin, NOW),
        Said::Reset(stream, code) => client.receive_reset(stream, code, NOW),
        Said::Stop(stream, code) => client.receive_stop(stream, code, NOW),
    }
}

fn ask(client: &mut Client, method: Method, length: BodyLength) -> StreamId {
    let target = if method == Method::CONNECT {
        Target::parse("a:443".into(), true)
    } else {
        Target::parse("https://a/".into(), false)
    };
    let head =
        RequestHead { method, target: target.expect("a target"), version: Version::HTTP_3, headers: Headers::new() };
    let opened = client.open(&head, length, Asking::default(), &mut Vec::new());
    let (stream, follows) = opened.expect("a stream");
    assert_eq!(follows == Follows::Fin, length == BodyLength::Known(0));
    stream
}

/// Says lines, and gives what happened: events in words, then how the connection failed, if it did.
fn told(client: &mut Client, lines: &[&str]) -> Vec<String> {
    let mut told = Vec::new();
    for line in lines {
        let result = say(client, line);
        while let Some(event) = client.next_event() {
            told.push(match event {
                ClientEvent::Response(response) => {
                    let (end, length) = (if response.has_body { "" } else { " end" }, response.length);
                    format!("response {}{end} {length:?}", response.head.status.as_u16())
                }
                ClientEvent::Data { data, .. } => format!("data {}", data.escape_ascii()),
                ClientEvent::End { trailers, .. } => format!("end {}", trailers.map_or(0, |trailers| trailers.len())),
                ClientEvent::Reset { code, .. } => format!("reset {code}"),
                ClientEvent::GoAway { .. } => "goaway".into(),
            });
        }
        if result.is_err() || client.failure().is_some() {
            let Some(ProtocolError::Connection { code, .. }) = client.failure() else { panic!("{result:?}") };
            told.push(format!("close {code}"));
            return told;
        }
    }
    told
}

#[test]
fn mistakes_of_servers() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("RFC 9114 §4.6: PUSH_PROMISE", &["FRAME 0 05 00"], &["close H3_ID_ERROR"]),
        ("RFC 9114 §4.6: a push stream", &["BYTES 15 01"], &["close H3_ID_ERROR"]),
        ("RFC 9114 §7.2.7: MAX_PUSH_ID", &["FRAME 3 0d 00"], &["close H3_FRAME_UNEXPECTED"]),
        ("RFC 9218 §7.2: PRIORITY_UPDATE", &["FRAME 3 f0700 00"], &["close H3_FRAME_UNEXPECTED"]),
        ("RFC 9114 §7.2.3: CANCEL_PUSH", &["FRAME 3 03 00"], &["close H3_ID_ERROR"]),
        ("RFC 9114 §7.2.6: GOAWAY with a push", &["FRAME 3 07 02"], &["close H3_ID_ERROR"]),
        ("RFC 9114 §5.2: GOAWAY grows", &["FRAME 3 07 04", "FRAME 3 07 08"], &["goaway", "close H3_ID_ERROR"]),
        ("RFC 9114 §6.1: a bidirectional stream", &["BYTES 1 00"], &["close H3_STREAM_CREATION_ERROR"]),
        ("RFC 9114 §6.2.1: the control stream ends", &["END 3"], &["close H3_CLOSED_CRITICAL_STREAM"]),
        ("RFC 9114 §4.1: DATA before HEADERS", &["DATA 0 abc"], &["close H3_FRAME_UNEXPECTED"]),
        ("RFC 9114 §7.1: an end within a frame", &["BYTES 0 end 01 02"], &["close H3_FRAME_ERROR"]),
        ("RFC 9114 §4.1: no response", &["END 0"], &["reset H3_MESSAGE_ERROR"]),
        ("RFC 9114 §4.3.2: no :status", &["HEADERS 0 | x: 1"], &["reset H3_MESSAGE_ERROR"]),
        ("RFC 9114 §4.3: a request's field", &["HEADERS 0 | :status: 200 | :path: /"], &["reset H3_MESSAGE_ERROR"]),
        ("RFC 9114 §4.5: 101", &["HEADERS 0 | :status: 101"], &["reset H3_MESSAGE_ERROR"]),
        ("RFC 9114 §4.1: 103 is not the last", &["HEADERS 0 end | :status: 103"], &["reset H3_MESSAGE_ERROR"]),
        (
            "RFC 9114 §4.1: only 103",
            &["HEADERS 0 | :status: 103", "END 0"],
            &["response 103 end None", "reset H3_MESSAGE_ERROR"],
        ),
        (
            "RFC 9114 §4.1.2: less than content-length",
            &["HEADERS 0 | :status: 200 | content-length: 4", "DATA 0 end abc"],
            &["response 200 Some(4)", "data abc", "reset H3_MESSAGE_ERROR"],
        ),
        (
            "RFC 9114 §4.1.2: more than content-length",
            &["HEADERS 0 | :status: 200 | content-length: 2", "DATA 0 end abc"],
            &["response 200 Some(2)", "reset H3_MESSAGE_ERROR"],
        ),
        ("RFC 9114 §4.1: cut off", &["RESET 0 102"], &["reset H3_INTERNAL_ERROR"]),
        ("a head without end", &["BYTES 0 01 80 ff ff ff"], &["reset H3_EXCESSIVE_LOAD"]),
        (
            "a body beyond our limit",
            &["HEADERS 0 | :status: 200", "DATA 0 size 40"],
            &["response 200 None", "reset H3_REQUEST_CANCELLED"],
        ),
    ];
    for (name, lines, expected) in cases {
        let mut client = begun(Limits { body: 20, ..Limits::default() });
        ask(&mut client, Method::GET, BodyLength::Known(0));
        let told: Vec<String> = lines.iter().flat_map(|line| told(&mut client, &[line])).collect();
        assert_eq!(told, *expected, "{name}");
    }
}

#[test]
fn informational_responses_without_end() {
    let mut client = begun(Limits::default());
    ask(&mut client, Method::GET, BodyLength::Known(0));
    for _ in 0..64 {
        assert_eq!(told(&mut client, &["HEADERS 0 | :status: 103"]), ["response 103 end None"]);
    }
    assert_eq!(told(&mut client, &["HEADERS 0 | :status: 103"]), ["reset H3_EXCESSIVE_LOAD"]);
}

#[test]
fn responses_without_content() {
    let mut client = begun(Limits::default());
    ask(&mut client, Method::HEAD, BodyLength::Known(0));
    assert_eq!(told(&mut client, &["HEADERS 0 end | :status: 200 | content-length: 9"]), ["response 200 end Some(9)"]);
    ask(&mut client, Method::GET, BodyLength::Known(0));
    assert_eq!(told(&mut client, &["HEADERS 4 | :status: 204", "END 4"]), ["response 204 None", "end 0"]);
    assert_eq!(client.active_streams(), 0);
}

#[test]
fn a_tunnel() {
    let mut client = begun(Limits::default());
    let stream = ask(&mut client, Method::CONNECT, BodyLength::Unknown);
    assert_eq!(told(&mut client, &["HEADERS 0 | :status: 200", "DATA 0 x"]), ["response 200 None", "data x"]);
    assert_eq!(client.write_data(stream, b"ping", false, &mut Vec::new()), Ok(Follows::More));
    assert_eq!(told(&mut client, &["HEADERS 0 | x: 1"]), ["close H3_FRAME_UNEXPECTED"]);
}

#[test]
fn a_refused_tunnel_is_a_response_like_others() {
    let mut client = begun(Limits::default());
    ask(&mut client, Method::CONNECT, BodyLength::Unknown);
    let lines = ["HEADERS 0 | :status: 403", "DATA 0 x", "HEADERS 0 end | x: 1"];
    assert_eq!(told(&mut client, &lines), ["response 403 None", "data x", "end 1"]);
}

#[test]
fn another_protocol_where_the_server_allows_it() {
    let head = RequestHead {
        method: Method::CONNECT,
        target: Target::parse("https://a/chat".into(), false).expect("a target"),
        version: Version::HTTP_3,
        headers: Headers::new(),
    };
    let asking = Asking { protocol: Some("websocket"), ..Asking::default() };
    let mut client = Client::new(Limits::default(), NOW);
    client.set_stream_credit(1);
    assert_eq!(client.open(&head, BodyLength::Unknown, asking, &mut Vec::new()), Err(OpenError::Usage));
    let mut client = begun(Limits::default());
    assert!(client.has_settings() && client.allows_extended_connect());
    assert!(client.open(&head, BodyLength::Unknown, asking, &mut Vec::new()).is_ok());
}

#[test]
fn a_server_that_does_without_the_rest_of_a_request() {
    // RFC 9114 §4.1: STOP_SENDING with H3_NO_ERROR; the response is whole nevertheless.
    let mut client = begun(Limits::default());
    let stream = ask(&mut client, Method::POST, BodyLength::Unknown);
    client.set_ready(stream, true);
    assert!(client.next_turn(10).is_some());
    assert_eq!(told(&mut client, &["STOP 0 100"]), [""; 0]);
    let reset = StreamOrder::Reset { stream, code: ErrorCode::NO_ERROR };
    assert_eq!((client.next_order(), client.next_order(), client.next_turn(10)), (Some(reset), None, None));
    assert!(client.write_data(stream, b"x", false, &mut Vec::new()).is_err());
    assert_eq!(told(&mut client, &["HEADERS 0 end | :status: 413"]), ["response 413 end None"]);
    assert_eq!(client.active_streams(), 0);
}

#[test]
fn requests_that_a_server_does_not_look_at() {
    let mut client = begun(Limits::default());
    for _ in 0..3 {
        ask(&mut client, Method::GET, BodyLength::Known(0));
    }
    let lines = ["FRAME 3 07 04", "FRAME 3 07 04", "FRAME 3 07 00"];
    let expected = ["goaway", "reset H3_REQUEST_REJECTED", "reset H3_REQUEST_REJECTED", "reset H3_REQUEST_REJECTED"];
    assert_eq!(told(&mut client, &lines), expected);
    assert!(client.is_finished());
    assert_eq!(client.check_room(), Err(OpenError::GoAway));
}

#[test]
fn a_client_knows_how_many_streams_it_may_open() {
    let mut client = begun(Limits::default());
    client.set_stream_credit(1);
    assert_eq!(ask(&mut client, Method::GET, BodyLength::Known(0)), StreamId::of_quic(0));
    assert_eq!(client.check_room(), Err(OpenError::WouldBlock));
    client.set_stream_credit(2);
    assert_eq!(ask(&mut client, Method::GET, BodyLength::Known(0)), StreamId::of_quic(4));
}
