//! Scripts of our own that do the same as wrk's sample scripts.

use std::{net::TcpListener, time::Duration};

use super::stage::Run;

/// The head of a request: the first line, then the fields sorted, since their order does not matter; and the rest.
pub(crate) fn parts(request: &[u8]) -> (Vec<String>, String) {
    let text = String::from_utf8_lossy(request);
    let (head, rest) = text.split_once("\r\n\r\n").expect("an empty line");
    let mut lines: Vec<_> = head.split("\r\n").map(str::to_owned).collect();
    lines[1..].sort();
    (lines, rest.into())
}

fn head(request: &[u8]) -> Vec<String> {
    parts(request).0
}

#[test]
fn post() {
    let played = Run::of(include_str!("../../script/post.lua")).play().unwrap();
    assert!(played[0].is_static && !played[0].wants_responses && !played[0].has_delay);
    let expected = [
        "POST /path?query HTTP/1.1",
        "Content-Length: 22",
        "Content-Type: application/x-www-form-urlencoded",
        "Host: 127.0.0.1:8080",
    ];
    let (head, body) = parts(&played[1].requests[2]);
    assert_eq!((head, body.as_str()), (expected.map(str::to_owned).to_vec(), "name=value&other=thing"));
}

#[test]
fn pipeline() {
    let played = Run::of(include_str!("../../script/pipeline.lua")).play().unwrap();
    let text = String::from_utf8_lossy(&played[0].requests[0]).into_owned();
    let heads: Vec<_> = text.split_terminator("\r\n\r\n").map(|head| head.lines().next().unwrap_or_default()).collect();
    assert_eq!(heads, ["GET /?one HTTP/1.1", "GET /?two HTTP/1.1", "GET /?three HTTP/1.1"]);
    // The same string is not copied again.
    assert_eq!(played[0].requests[0].as_ptr(), played[0].requests[2].as_ptr());
}

#[test]
fn counter() {
    for played in Run::of(include_str!("../../script/counter.lua")).play().unwrap() {
        assert!(!played.is_static);
        for (number, request) in played.requests.iter().enumerate() {
            let expected =
                [format!("GET /{number} HTTP/1.1"), "Host: 127.0.0.1:8080".into(), format!("X-Counter: {number}")];
            assert_eq!(head(request), expected);
        }
        assert_eq!(played.requests.len(), 3);
    }
}

#[test]
fn auth() {
    let mut run = Run::of(include_str!("../../script/auth.lua"));
    run.answer = |request| match request.starts_with(b"GET /login ") {
        // As HTTP/2 spells it.
        true => (200, vec![("x-token", "secret")], b""),
        false => (404, vec![], b""),
    };
    for played in run.play().unwrap() {
        assert!(played.wants_responses);
        assert_eq!(head(&played.requests[0]), ["GET /login HTTP/1.1", "Host: 127.0.0.1:8080"]);
        let later = ["GET /inside HTTP/1.1", "Host: 127.0.0.1:8080", "X-Token: secret"];
        assert_eq!(head(&played.requests[1]), later);
        assert_eq!(head(&played.requests[2]), later);
    }
}

#[test]
fn addr() {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let addresses = listeners.each_ref().map(|listener| listener.local_addr().expect("bound"));
    let silent = serow_ports::refusing_address();
    let ports = format!("wrk.ports = {{ {}, {}, {} }}\n", silent.port(), addresses[0].port(), addresses[1].port());
    let check = "local addr_setup = setup
        local all = {}
        function setup(thread) addr_setup(thread) all[#all + 1] = thread end
        function done() for _, thread in ipairs(all) do assert(thread:get('address') == tostring(thread.addr)) end end";
    let mut run = Run::of("");
    run.script = ports + include_str!("../../script/addr.lua") + check;
    run.threads = 3;
    let chosen: Vec<_> = run.play().unwrap().iter().map(|played| played.address).collect();
    assert_eq!(chosen, [Some(addresses[0]), Some(addresses[1]), Some(addresses[0])]);
}

#[test]
fn stop() {
    for played in Run::of(include_str!("../../script/stop.lua")).play().unwrap() {
        assert_eq!(played.requests.len(), 2);
    }
}

#[test]
fn delay() {
    for played in Run::of(include_str!("../../script/delay.lua")).play().unwrap() {
        assert!(played.has_delay && played.is_static);
        assert_eq!(played.delays.len(), 3);
        let range = Duration::from_millis(1)..=Duration::from_millis(10);
        assert!(played.delays.iter().all(|delay| range.contains(delay)), "{:?}", played.delays);
    }
}
