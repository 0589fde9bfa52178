//! The results of both machines for calls out of turn, and for a connection that cannot go on.

use bytes::BytesMut;
use serow_http1::{BodyLength, Client, Event, Limits, Next, ProtocolError, Server, UsageError};
use serow_message::{Headers, KnownHeader, Method, RequestHead, ResponseHead, StatusCode, Target, Version};

fn received(request: &[u8]) -> (Server, BytesMut) {
    let (mut server, mut input) = (Server::new(Limits::default()), BytesMut::from(request));
    assert!(matches!(server.receive(&mut input), Ok(Some(Event::Head(_)))));
    (server, input)
}

fn respond(server: &mut Server, status: u16, length: BodyLength) -> Result<String, UsageError> {
    let mut output = Vec::new();
    let status = StatusCode::from_u16(status).expect("a status");
    server.send_head(status, &Headers::new(), length, b"", &mut output)?;
    Ok(String::from_utf8(output).expect("text"))
}

fn informational(server: &mut Server, status: u16) -> Result<String, UsageError> {
    let status = StatusCode::from_u16(status).expect("a status");
    let mut output = Vec::new();
    server.send_informational(
        &ResponseHead { status, version: Version::HTTP_11, headers: Headers::new() },
        &mut output,
    )?;
    Ok(String::from_utf8(output).expect("text"))
}

fn request(method: Method, fields: &[(&str, &str)]) -> RequestHead {
    let mut headers = Headers::new();
    for (name, value) in fields {
        headers.append(*name, value).expect("a field");
    }
    RequestHead { method, target: Target::default(), version: Version::HTTP_11, headers }
}

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn a_response_waits_for_its_request() {
    let mut server = Server::new(Limits::default());
    assert_eq!(respond(&mut server, 200, BodyLength::Known(0)), Err(UsageError::OutOfTurn));
    assert_eq!(informational(&mut server, 103), Err(UsageError::OutOfTurn));
    assert_eq!(server.send_data(b"x", &mut Vec::new()), Err(UsageError::OutOfTurn));
    assert_eq!(server.send_end(None, &mut Vec::new()), Err(UsageError::OutOfTurn));
    assert_eq!(server.begin_next(), Next::Unfinished);
}

#[test]
fn a_request_has_one_response() {
    let (mut server, _) = received(GET);
    assert!(respond(&mut server, 200, BodyLength::Known(3)).is_ok());
    assert_eq!(respond(&mut server, 200, BodyLength::Known(3)), Err(UsageError::OutOfTurn));
    assert_eq!(informational(&mut server, 103), Err(UsageError::OutOfTurn));
    let mut output = Vec::new();
    assert_eq!(server.send_data(b"four", &mut output), Err(UsageError::TooManyBytes));
    assert_eq!(server.send_data(b"tw", &mut output), Ok(()));
    assert_eq!(server.send_end(None, &mut output), Err(UsageError::TooFewBytes));
    assert_eq!(server.begin_next(), Next::Unfinished);
    assert_eq!(server.send_data(b"o", &mut output), Ok(()));
    assert_eq!(server.send_end(None, &mut output), Ok(()));
    assert_eq!(output, b"two");
    assert_eq!(server.begin_next(), Next::Reuse);
    assert_eq!(respond(&mut server, 200, BodyLength::Known(0)), Err(UsageError::OutOfTurn));
}

#[test]
fn informational_and_final_statuses_have_different_functions() {
    // RFC 9110 §15.2: the client would wait for the response for ever, or take 200 for it.
    let (mut server, _) = received(GET);
    assert_eq!(respond(&mut server, 100, BodyLength::Known(0)), Err(UsageError::OutOfTurn));
    assert_eq!(informational(&mut server, 200), Err(UsageError::OutOfTurn));
    assert_eq!(informational(&mut server, 101), Err(UsageError::OutOfTurn));
    assert_eq!(informational(&mut server, 103), Ok("HTTP/1.1 103 Early Hints\r\n\r\n".into()));
    // RFC 9110 §15.2: HTTP/1.0 does not have informational responses.
    let (mut server, _) = received(b"GET / HTTP/1.0\r\n\r\n");
    assert_eq!(informational(&mut server, 103), Ok(String::new()));
}

#[test]
fn protocols_are_not_switched_without_an_upgrade_request() {
    // RFC 9110 §7.8: only to a protocol that the client named.
    let (mut server, _) = received(GET);
    assert_eq!(respond(&mut server, 101, BodyLength::Known(0)), Err(UsageError::OutOfTurn));

    let mut client = Client::new(Limits::default());
    let head = request(Method::GET, &[("host", "a")]);
    client.send_head(&head, BodyLength::Known(0), &mut Vec::new()).unwrap();
    let mut input = BytesMut::from("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n");
    assert_eq!(client.receive(&mut input).err(), Some(ProtocolError::Upgrade));
    assert_eq!(client.begin_next(&input), Next::Close);
}

/// Bodies of requests that ask for another protocol: the framing, and the body as it is sent.
const BODIES: [(&str, &str); 4] = [
    ("Content-Length: 7\r\n", "GET / H"),
    ("Transfer-Encoding: chunked\r\n", "7\r\nGET / H\r\n0\r\n\r\n"),
    ("Transfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\nX: y\r\n\r\n"),
    ("Content-Length: 0\r\n", ""),
];

#[test]
fn a_server_switches_behind_the_body_whenever_it_agrees() {
    for (framing, body) in BODIES {
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: tcp\r\n{framing}\r\n");
        for (agreed_at, split) in (0..=body.len()).flat_map(|at| (at..=body.len()).map(move |split| (at, split))) {
            let (mut server, mut input) = received(head.as_bytes());
            let mut ended = server.has_received_all();
            let mut receive = |server: &mut Server, input: &mut BytesMut, bytes: &str| {
                input.extend_from_slice(bytes.as_bytes());
                while let Some(event) = server.receive(input).expect("a request without a mistake") {
                    ended |= matches!(event, Event::End(_));
                }
                ended
            };
            receive(&mut server, &mut input, &body[..agreed_at]);
            assert!(respond(&mut server, 101, BodyLength::Known(0)).unwrap().starts_with("HTTP/1.1 101"));
            for piece in [&body[agreed_at..split], &body[split..]] {
                let is_whole = receive(&mut server, &mut input, piece);
                let expected = if is_whole { Next::Tunnel } else { Next::Unfinished };
                assert_eq!(server.begin_next(), expected, "{framing} {agreed_at} {split}");
            }
            receive(&mut server, &mut input, "GET / HTTP/1.1\r\n");
            assert_eq!((&input[..], server.begin_next()), (&b"GET / HTTP/1.1\r\n"[..], Next::Tunnel));
        }
    }
}

#[test]
fn the_next_request_begins_behind_the_body_where_a_server_does_not_switch() {
    for (framing, body) in BODIES {
        let head = format!("POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: tcp\r\n{framing}\r\n");
        for split in 0..=body.len() {
            let (mut server, mut input) = received(head.as_bytes());
            input.extend_from_slice(&body.as_bytes()[..split]);
            while server.receive(&mut input).unwrap().is_some() {}
            assert!(respond(&mut server, 200, BodyLength::Known(0)).is_ok());
            input.extend_from_slice(&body.as_bytes()[split..]);
            input.extend_from_slice(GET);
            while server.receive(&mut input).unwrap().is_some() {}
            assert_eq!((&input[..], server.begin_next()), (GET, Next::Reuse), "{framing} {split}");
            assert!(matches!(server.receive(&mut input), Ok(Some(Event::Head(request))) if !request.upgrade));
        }
    }
}

#[test]
fn a_server_that_switches_asks_for_the_body_before() {
    let (mut server, mut input) = received(
        b"POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: tcp\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n",
    );
    let head = respond(&mut server, 101, BodyLength::Known(0)).unwrap();
    assert!(head.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 Switching Protocols\r\n"), "{head}");
    assert_eq!(server.begin_next(), Next::Unfinished);
    input.extend_from_slice(b"{tunnel");
    while server.receive(&mut input).unwrap().is_some() {}
    assert_eq!((&input[..], server.begin_next()), (&b"tunnel"[..], Next::Tunnel));
}

#[test]
fn a_malformed_body_behind_a_switch_closes_the_connection() {
    let (mut server, mut input) = received(
        b"POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: tcp\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    assert!(respond(&mut server, 101, BodyLength::Known(0)).is_ok());
    input.extend_from_slice(b"x\r\n");
    assert_eq!(server.receive(&mut input).err(), Some(ProtocolError::Chunk));
    assert_eq!(server.begin_next(), Next::Close);
}

#[test]
fn a_client_switches_behind_its_body_whenever_the_server_agrees() {
    for (length, closing) in [(BodyLength::Known(4), ""), (BodyLength::Unknown, "0\r\n\r\n")] {
        for sent in 0..=2 {
            let (mut client, mut output) = (Client::new(Limits::default()), Vec::new());
            let head = request(Method::POST, &[("host", "a"), ("upgrade", "tcp")]);
            assert_eq!(client.send_head(&head, length, &mut output), Ok(true));
            (0..sent).for_each(|_| client.send_data(b"ab", &mut output).unwrap());
            let mut input =
                BytesMut::from("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\ntunnel");
            assert!(matches!(client.receive(&mut input), Ok(Some(Event::Head(_)))));
            assert_eq!((client.next(), client.begin_next(&input)), (Next::Unfinished, Next::Unfinished));
            output.clear();
            (sent..2).for_each(|_| client.send_data(b"ab", &mut output).unwrap());
            assert_eq!(client.next(), Next::Unfinished);
            client.send_end(None, &mut output).unwrap();
            assert!(output.ends_with(closing.as_bytes()));
            assert_eq!((client.next(), &input[..]), (Next::Tunnel, &b"tunnel"[..]));
        }
    }
}

#[test]
fn options_are_named_in_connection() {
    // RFC 9110 §7.8, §10.1.4: a proxy that does not know them takes them out.
    let mut output = Vec::new();
    let head = request(Method::GET, &[("host", "a"), ("upgrade", "x"), ("te", "trailers")]);
    Client::new(Limits::default()).send_head(&head, BodyLength::Known(0), &mut output).unwrap();
    assert!(String::from_utf8(output).unwrap().ends_with("connection: upgrade, te\r\n\r\n"));

    let (mut server, _) = received(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let (mut headers, mut output) = (Headers::new(), Vec::new());
    headers.append(KnownHeader::Upgrade, "x").unwrap();
    let status = StatusCode::UPGRADE_REQUIRED;
    server.send_head(status, &headers, BodyLength::Known(0), b"", &mut output).unwrap();
    assert!(String::from_utf8(output).unwrap().contains("\r\nconnection: close, upgrade\r\n"));
}

#[test]
fn framing_fields_of_the_caller_are_left_out() {
    let (mut server, _) = received(GET);
    let (mut headers, mut output) = (Headers::new(), Vec::new());
    for (name, value) in [("content-length", "99"), ("transfer-encoding", "gzip"), ("connection", "x")] {
        headers.append(name, value).unwrap();
    }
    server.send_head(StatusCode::OK, &headers, BodyLength::Known(1), b"", &mut output).unwrap();
    assert_eq!(output, b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n");
}

#[test]
fn head_is_told_the_length_of_get() {
    // RFC 9110 §8.6: a handler that made no body may know it; what is no number is not repeated.
    for (said, written) in [("42", "content-length: 42\r\n"), ("x", "content-length: 0\r\n")] {
        let (mut server, _) = received(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
        let (mut headers, mut output) = (Headers::new(), Vec::new());
        headers.append(KnownHeader::ContentLength, said).unwrap();
        let body = server.send_head(StatusCode::OK, &headers, BodyLength::Known(0), b"", &mut output);
        assert_eq!(body, Ok(false));
        assert!(String::from_utf8(output).unwrap().contains(written));
    }
}

#[test]
fn continue_is_sent_once_and_only_where_it_is_waited_for() {
    // RFC 9110 §10.1.1.
    let text = b"PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n";
    let (mut server, mut input) = received(text);
    let mut output = Vec::new();
    assert!(server.awaits_continue());
    server.send_continue(&mut output);
    server.send_continue(&mut output);
    assert_eq!(output, b"HTTP/1.1 100 Continue\r\n\r\n");
    input.extend_from_slice(b"x");
    assert!(matches!(server.receive(&mut input), Ok(Some(Event::Data(_)))));
    assert!(matches!(server.receive(&mut input), Ok(Some(Event::End(None)))));
    assert!(respond(&mut server, 200, BodyLength::Known(0)).is_ok());
    assert_eq!(server.begin_next(), Next::Reuse);

    // The client sent the body all the same, in a single empty chunk.
    let text = b"PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let (mut server, mut input) = received(text);
    assert!(matches!(server.receive(&mut input), Ok(Some(Event::End(None)))));
    assert!(!server.awaits_continue());

    // It was answered without being told to: what comes next may be the body or another request.
    let (mut server, mut input) =
        received(b"PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n");
    assert!(respond(&mut server, 413, BodyLength::Known(0)).is_ok());
    assert_eq!(server.begin_next(), Next::Close);
    input.extend_from_slice(b"x");
    while let Ok(Some(_)) = server.receive(&mut input) {}
    assert_eq!(server.begin_next(), Next::Close);
}

#[test]
fn nothing_of_a_request_is_left_for_the_next() {
    // The refusal of what follows a HEAD has a body, and nobody waits for 100 any more.
    let (mut server, mut input) = received(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n\0\r\n");
    assert!(respond(&mut server, 200, BodyLength::Known(0)).is_ok());
    assert_eq!(server.begin_next(), Next::Reuse);
    let error = server.receive(&mut input).err().unwrap();
    let mut output = Vec::new();
    server.refuse(error.status(), b"", &mut output);
    assert!(String::from_utf8(output).unwrap().ends_with("connection: close\r\n\r\n400 Bad Request\n"));
    assert_eq!(server.begin_next(), Next::Close);
}

#[test]
fn a_refusal_of_head_has_no_body() {
    let (mut server, mut input) = (Server::new(Limits::default()), BytesMut::from("HEAD / HTTP/1.1\r\n\r\n"));
    assert_eq!(server.receive(&mut input).err(), Some(ProtocolError::Host));
    let mut output = Vec::new();
    server.refuse(StatusCode::BAD_REQUEST, b"date: now\r\n", &mut output);
    let text = String::from_utf8(output).unwrap();
    assert!(text.starts_with("HTTP/1.1 400 Bad Request\r\ndate: now\r\n"), "{text}");
    assert!(text.ends_with("content-length: 16\r\nconnection: close\r\n\r\n"), "{text}");
}

#[test]
fn a_broken_body_closes_the_connection_even_if_it_is_answered() {
    let text = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n";
    let (mut server, mut input) = received(text);
    for _ in 0..2 {
        assert_eq!(server.receive(&mut input).err(), Some(ProtocolError::Chunk));
    }
    let head = respond(&mut server, 200, BodyLength::Known(0)).unwrap();
    assert!(head.contains("connection: close"), "{head}");
    assert_eq!(server.begin_next(), Next::Close);
    assert_eq!(server.handle_end(&input), Err(ProtocolError::Chunk));
}

#[test]
fn a_pipelined_request_waits_for_the_response_before_it() {
    // RFC 9112 §9.3.2.
    let (mut server, mut input) = received(&[GET, GET].concat());
    assert!(matches!(server.receive(&mut input), Ok(None)));
    assert_eq!(input, GET);
    assert!(respond(&mut server, 200, BodyLength::Known(0)).is_ok());
    assert!(matches!(server.receive(&mut input), Ok(None)));
    assert_eq!(server.begin_next(), Next::Reuse);
    assert!(matches!(server.receive(&mut input), Ok(Some(Event::Head(_)))));
}

#[test]
fn trailers_go_to_clients_that_take_them() {
    // RFC 9110 §6.5.1; fields that frame or route are none.
    for (te, expected) in [("TE: trailers\r\n", "0\r\nx: y\r\n\r\n"), ("", "0\r\n\r\n")] {
        let (mut server, _) = received(format!("GET / HTTP/1.1\r\nHost: a\r\n{te}\r\n").as_bytes());
        respond(&mut server, 200, BodyLength::Unknown).unwrap();
        let (mut trailers, mut output) = (Headers::new(), Vec::new());
        for (name, value) in [("host", "b"), ("x", "y"), ("content-length", "1"), ("te", "z"), ("trailer", "x")] {
            trailers.append(name, value).unwrap();
        }
        server.send_end(Some(&trailers), &mut output).unwrap();
        assert_eq!(String::from_utf8(output).unwrap(), expected);
    }
}

#[test]
fn default_limits_are_those_of_the_documentation() {
    let judge = |request: String| {
        let (mut server, mut input) = (Server::new(Limits::default()), BytesMut::from(&request.into_bytes()[..]));
        server.receive(&mut input).map(|event| event.is_some())
    };
    let target = |length: usize| format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(length - 1));
    assert_eq!(judge(target(8 * 1024)), Ok(true));
    assert_eq!(judge(target(8 * 1024 + 1)), Err(ProtocolError::TargetTooLong));
    let fields = |count: usize| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(count - 1));
    assert_eq!(judge(fields(100)), Ok(true));
    assert_eq!(judge(fields(101)), Err(ProtocolError::HeadTooLarge));
    let head = |length: usize| format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "y".repeat(length - 32));
    assert_eq!(judge(head(32 * 1024)), Ok(true));
    assert_eq!(judge(head(32 * 1024 + 1)), Err(ProtocolError::HeadTooLarge));
}

#[test]
fn requests_written_by_other_means_are_announced() {
    let mut client = Client::new(Limits::default());
    let mut input = BytesMut::from(
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nHTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx",
    );
    for (method, body) in [(Method::HEAD, 0), (Method::DELETE, 0), (Method::GET, 1)] {
        client.expect(&method).unwrap();
        assert_eq!(client.expect(&method), Err(UsageError::OutOfTurn));
        assert!(matches!(client.receive(&mut input), Ok(Some(Event::Head(_)))), "{method}");
        let mut bytes = 0;
        while let Some(event) = client.receive(&mut input).unwrap() {
            match event {
                Event::Data(data) => bytes += data.len(),
                Event::Head(_) => panic!("{method}: another head"),
                Event::End(_) => break,
            }
        }
        assert_eq!((bytes, client.next()), (body, Next::Reuse), "{method}");
    }
    assert!(input.is_empty());
}

/// A client that has asked, and the head of the response to it.
fn answered(response: &[u8]) -> (Client, BytesMut) {
    let (mut client, mut input) = (Client::new(Limits::default()), BytesMut::from(response));
    client.send_head(&request(Method::GET, &[("host", "a")]), BodyLength::Known(0), &mut Vec::new()).expect("a head");
    assert!(matches!(client.receive(&mut input), Ok(Some(Event::Head(_)))));
    (client, input)
}

#[test]
fn a_body_may_be_taken_past_the_machine() {
    let (mut client, mut input) = answered(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    assert_eq!(client.body_left(), Some(10));
    assert!(matches!(client.receive(&mut input), Ok(Some(Event::Data(data))) if data == "abc"));
    assert_eq!((client.body_left(), client.pass_body(3)), (Some(7), Ok(())));
    assert_eq!(client.handle_end().err(), Some(ProtocolError::Incomplete));
    assert_eq!((client.body_left(), client.pass_body(4)), (Some(4), Ok(())));
    assert!(matches!(client.receive(&mut input), Ok(Some(Event::End(None)))));
    // The connection has ended behind it.
    assert_eq!((client.body_left(), client.next()), (None, Next::Close));
}

#[test]
fn no_more_is_taken_past_the_machine_than_was_announced() {
    for (head, left) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"[..], Some(10)),
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 10\r\n\r\n", Some(0)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\n\r\n", None),
    ] {
        let (mut client, mut input) = answered(head);
        assert_eq!(client.body_left(), left, "{}", head.escape_ascii());
        assert_eq!(client.pass_body(11), Err(ProtocolError::Unsolicited));
        assert_eq!((client.next(), client.body_left()), (Next::Close, None));
        assert_eq!(client.receive(&mut input).err(), Some(ProtocolError::Unsolicited));
    }
}
