//! Stopping over HTTP/2: GOAWAY in two steps (RFC 9113 §6.8), no request lost, nobody waited for in vain.

use std::time::Duration;

use serow::{Request, Response, Server};
use serow_http2::{BodyLength, ErrorCode};

use crate::{
    stopping::{AT_ONCE, server, tunnel_server},
    support::{
        Ended, Opening, Running, eventually,
        frames::{DATA, GOAWAY},
        patient, sleep,
    },
};

#[test]
fn running_requests_are_finished_and_the_end_is_announced() {
    let (mut server, go) = server(patient());
    let mut client = server.connect_http2();
    let running = [client.ask("/wait"), client.ask("/wait")];
    client.get("/");
    server.stopper.stop();
    client.wait("the end is announced", |client| !client.farewells.is_empty());
    eventually("the listener is closed", || server.is_refusing());
    client.go_on_for(Duration::from_millis(100));
    // The first GOAWAY stops new streams; the second, after the client has received that, names the last one.
    assert_eq!(client.farewells, [ErrorCode::NO_ERROR; 2]);
    assert_eq!(client.lost, None);
    go.send(true).unwrap();
    for stream in running {
        assert_eq!(client.answer(stream).text(), "hello");
    }
    client.ends();
    server.wait();
}

#[test]
fn an_idle_client_that_answers_no_ping_receives_both_goaways() {
    let mut server = Running::with(Server::new().timeouts(patient()), |_: Request| async { "hello" });
    let mut client = server.connect_frames(&[]);
    client.ask(1, "");
    client.until(DATA, 1);
    server.stopper.stop();
    let last_streams = [0; 2].map(|_| client.until(GOAWAY, 0).payload[..4].to_vec());
    assert_eq!(last_streams, [vec![0x7f, 0xff, 0xff, 0xff], vec![0, 0, 0, 1]]);
    client.client.finish_sending();
    client.client.ends();
    assert!(server.wait() < AT_ONCE);
}

#[test]
fn a_body_on_its_way_is_still_taken() {
    let mut server = Running::with(Server::new().timeouts(patient()), |request: Request| async move {
        Response::text(request.body.collect(100).await.unwrap().len().to_string())
    });
    let mut client = server.connect_http2();
    let stream = client.open("POST", "/", &Opening { length: Some(BodyLength::Known(6)), ..Opening::default() });
    client.send(stream, "abc");
    client.go_on_for(Duration::from_millis(50));
    server.stopper.stop();
    client.wait("the end is announced", |client| client.farewells.len() == 2);
    client.send(stream, "def");
    client.finish(stream, None);
    assert_eq!(client.answer(stream).text(), "6");
    client.ends();
    assert!(server.wait() < AT_ONCE);
}

#[test]
fn a_request_that_crosses_the_stop_is_answered_or_refused_never_forgotten() {
    for round in 0..10 {
        let (mut server, _go) = server(patient());
        let mut clients: Vec<_> = (0..20).map(|_| server.connect_http2()).collect();
        for client in &mut clients {
            client.get("/");
        }
        sleep(Duration::from_millis(round % 3));
        let streams: Vec<_> = clients[..10].iter_mut().map(|client| client.ask("/")).collect();
        server.stopper.stop();
        // These have not heard of it.
        let late: Vec<_> = clients[10..].iter_mut().map(|client| client.ask("/")).collect();
        for (client, stream) in clients.iter_mut().zip(streams.into_iter().chain(late)) {
            match client.outcome(stream) {
                (Some(answer), Ended::Whole) => assert_eq!(answer.text(), "hello"),
                (None, Ended::Reset(ErrorCode::REFUSED_STREAM)) => {}
                other => panic!("{other:?}"),
            }
        }
        drop(clients);
        server.wait();
    }
}

#[test]
fn tunnels_are_waited_for() {
    let mut server = tunnel_server();
    let mut client = server.connect_http2();
    let stream = client.open("CONNECT", "b:1", &Opening { length: Some(BodyLength::Unknown), ..Opening::default() });
    assert_eq!(client.head(stream), 200);
    server.stopper.stop();
    eventually("the listener is closed", || server.is_refusing());
    client.go_on_for(Duration::from_millis(200));
    assert_eq!(client.ended(stream), None);
    client.send(stream, "still there");
    client.finish(stream, None);
    client.ends();
    assert!(server.wait() < AT_ONCE);
}
