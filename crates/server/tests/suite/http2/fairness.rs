//! One busy client of HTTP/2 does not keep the others of its worker waiting, nor its own streams.

use std::time::Duration;

use serow_http2::{BodyLength, StreamId};

use crate::{
    fairness::{Busy, assert_fair, server},
    support::{BOTH, Instant, Multiplexed, Opening},
};

/// Keeps a server busy in this way, and asks it meanwhile by both versions.
#[track_caller]
fn is_fair(mut round: impl FnMut(&mut Multiplexed) + Send + 'static) {
    let server = server();
    let mut client = server.connect_http2();
    let busy = Busy::new().repeat(move || {
        round(&mut client);
        client.turn();
        client.lost.map_or(Ok(()), |kind| Err(kind.into()))
    });
    for spoken in BOTH {
        assert_fair(&server, spoken);
    }
    assert!(busy.goes_on(), "the busy client was cut off");
}

/// Keeps so many streams of this kind at work.
fn keep(target: &'static str, count: usize) -> impl FnMut(&mut Multiplexed) + Send + 'static {
    let mut streams: Vec<StreamId> = Vec::new();
    move |client| {
        while streams.len() < count {
            let length = (target != "/stream").then_some(BodyLength::Unknown);
            streams.push(client.open("POST", target, &Opening { length, ..Opening::default() }));
        }
        for stream in &streams {
            client.forget_body(*stream);
            if target != "/stream" && client.unsent(*stream) < 1 << 20 {
                client.send(*stream, vec![b'a'; 1 << 20]);
            }
        }
    }
}

#[test]
fn beside_many_small_requests() {
    let mut streams = Vec::new();
    is_fair(move |client| {
        while streams.len() < 100 {
            streams.push(client.ask("/"));
        }
        streams.retain(|stream| {
            let over = client.ended(*stream).is_some();
            if over {
                client.outcome(*stream);
            }
            !over
        });
    });
}

#[test]
fn beside_uploads() {
    is_fair(keep("/upload", 1));
    is_fair(keep("/upload", 20));
}

#[test]
fn beside_echoes() {
    is_fair(keep("/echo", 10));
}

#[test]
fn beside_endless_streams() {
    is_fair(keep("/stream", 1));
    is_fair(keep("/stream", 20));
}

#[test]
fn streams_of_one_connection_share_it() {
    let server = server();
    let mut client = server.connect_http2();
    // Those that are equally urgent and of use piece by piece take turns (RFC 9218 §4.2).
    let opening = Opening { fields: vec![("priority", "i")], ..Opening::default() };
    let streams: Vec<_> = (0..8).map(|_| client.open("GET", "/stream", &opening)).collect();
    let began = Instant::now();
    client.wait("all get something", |client| streams.iter().all(|stream| client.body(*stream).len() > 100_000));
    let small = client.open("GET", "/", &opening);
    assert_eq!(client.answer(small).text(), "hello");
    assert!(began.elapsed() < Duration::from_secs(10));
}
