//! Limits on connections and streams over HTTP/2.

use std::{collections::BTreeMap, time::Duration};

use serow::{Request, Response};
use serow_http2::{ErrorCode, OpenError};
use tokio::sync::watch;

use crate::support::{
    Opening, Running, eventually,
    frames::{DATA, RST_STREAM},
};

#[test]
fn further_clients_wait_until_one_leaves() {
    let (server, go) = crate::limits::busy(2, 1);
    // One of each version.
    let mut first = server.connect();
    first.send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
    let mut second = server.connect_http2();
    second.ask("/wait");
    eventually("both are let in", || {
        second.turn();
        go.receiver_count() == 3
    });
    let mut third = server.connect_http2();
    let stream = third.ask("/");
    // Longer than an idle connection would be left alone.
    third.go_on_for(Duration::from_millis(2500));
    assert_eq!(third.ended(stream), None);
    drop(second);
    assert_eq!(third.answer(stream).text(), "hello");
    go.send(true).unwrap();
    assert_eq!(first.answer().text(), "hello");
}

#[test]
fn streams_beyond_the_limit_are_refused_and_may_be_sent_again() {
    let (go, wait) = watch::channel(false);
    let server = Running::new(move |request: Request| {
        let mut wait = wait.clone();
        async move {
            let _ = wait.wait_for(|go| *go).await;
            Response::text(request.target.path().to_owned())
        }
    });
    let mut client = server.connect_frames(&[]);
    // One more than the server has said.
    for number in 0..129 {
        client.ask(2 * number + 1, &number.to_string());
    }
    let refused = client.until(RST_STREAM, 257);
    assert_eq!(refused.payload, ErrorCode::REFUSED_STREAM.0.to_be_bytes());
    go.send(true).unwrap();
    // Whichever handler is woken first.
    let mut answers = BTreeMap::new();
    while answers.len() < 128 {
        let frame = client.next().unwrap();
        if frame.kind == DATA {
            answers.insert(frame.stream, frame.payload);
        }
    }
    for number in 0..128 {
        assert_eq!(answers[&(2 * number + 1)], format!("/{number}").into_bytes());
    }
    client.ask(259, "again");
    assert_eq!(client.until(DATA, 259).payload, b"/again");
}

#[test]
fn a_client_knows_how_many_streams_it_may_open() {
    let server = Running::new(|_: Request| std::future::pending::<Response>());
    let mut client = server.connect_http2();
    client.wait("the settings come", |client| client.machine.allows_extended_connect());
    for _ in 0..128 {
        client.ask("/");
    }
    assert_eq!(client.try_open("GET", "/", &Opening::default()), Err(OpenError::WouldBlock));
}

#[test]
fn streams_that_were_reset_leave_no_handler_behind() {
    let (_go, wait) = watch::channel(false);
    let receivers = wait.clone();
    let server = Running::new(move |_: Request| {
        let mut wait = wait.clone();
        async move {
            let _ = wait.wait_for(|go| *go).await;
            Response::default()
        }
    });
    let mut client = server.connect_http2();
    let streams: Vec<_> = (0..100).map(|_| client.ask("/")).collect();
    eventually("the handlers are at work", || {
        client.turn();
        _go.receiver_count() == 102
    });
    for stream in streams {
        client.machine.reset(stream, ErrorCode::CANCEL);
    }
    eventually("the handlers are gone", || {
        client.turn();
        _go.receiver_count() == 2
    });
    drop(receivers);
}
