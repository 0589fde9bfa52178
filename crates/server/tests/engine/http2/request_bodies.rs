//! Bodies of requests over HTTP/2: read, read elsewhere, left unread, broken off.

use std::sync::mpsc::{Sender, channel};

use serow::{Body, Headers, Request, Response};
use serow_http2::{BodyLength, ErrorCode};

use crate::support::{Asked, BOTH, Opening, PATIENCE, Pieces, Running, bytes_of};

fn length_server() -> Running {
    Running::new(|request: Request| async move {
        match request.target.path() {
            "/unread" => Response::text("unread"),
            _ => Response::text(format!("{}", request.body.collect(100 << 20).await.unwrap().len())),
        }
    })
}

#[test]
fn bodies_of_every_length_are_read() {
    let server = length_server();
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for length in [0, 1, 4096, 16_384, 16_385, 65_535, 65_536, 1 << 20] {
            let body = bytes_of(length);
            for says_length in [true, false] {
                let answer = client.ask(&Asked { says_length, ..Asked::post("/", &body) });
                assert_eq!(answer.text(), length.to_string(), "{spoken:?}");
            }
        }
    }
}

#[test]
fn many_large_bodies_come_at_once() {
    let server = length_server();
    let mut client = server.connect_http2();
    let streams: Vec<_> = (0..50).map(|number| client.post("/", bytes_of(500_000 + number), number % 2 == 0)).collect();
    for (number, stream) in streams.into_iter().enumerate() {
        assert_eq!(client.answer(stream).text(), (500_000 + number).to_string());
    }
}

#[test]
fn a_body_nobody_reads_costs_its_stream_alone() {
    let server = length_server();
    let mut client = server.connect_http2();
    // More than the connection's window altogether: what nobody reads is given back.
    for length in [10, 10_000, 20 << 20, 20 << 20, 3] {
        let stream = client.post("/unread", bytes_of(length), true);
        let other = client.post("/", bytes_of(100_000), true);
        assert_eq!(client.answer(stream).text(), "unread");
        assert_eq!(client.answer(other).text(), "100000");
    }
}

#[test]
fn a_handler_that_reads_a_part_leaves_a_usable_connection() {
    let server = Running::new(|mut request: Request| async move {
        let first = request.body.chunk().await.unwrap().unwrap();
        Response::text(format!("{}", !first.is_empty()))
    });
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for _ in 0..3 {
            assert_eq!(client.ask(&Asked::post("/", &bytes_of(50_000))).text(), "true");
        }
    }
}

#[test]
fn another_task_or_thread_may_read_the_body() {
    let server = Running::new(|request: Request| async move {
        if request.target.path() == "/task" {
            let reading = tokio::task::spawn_local(request.body.collect(100 << 20));
            return Response::text(format!("{}", reading.await.unwrap().unwrap().len()));
        }
        let (sender, receiver) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let _ = sender.send(runtime.block_on(request.body.collect(100 << 20)).unwrap());
        });
        Response::text(format!("{}", receiver.await.unwrap().len()))
    });
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for target in ["/task", "/thread"] {
            for length in [1, 100_000, 3 << 20] {
                assert_eq!(client.ask(&Asked::post(target, &bytes_of(length))).text(), length.to_string());
            }
        }
    }
}

type Outcome = Result<usize, String>;

/// Answers at once, and has another task read the body.
fn late_reader(outcomes: Sender<Outcome>) -> Running {
    Running::new(move |request: Request| {
        let outcomes = outcomes.clone();
        async move {
            tokio::task::spawn_local(async move {
                tokio::task::yield_now().await;
                let read = request.body.collect(100 << 20).await;
                let _ = outcomes.send(read.map(|body| body.len()).map_err(|error| error.to_string()));
            });
            Response::text("accepted")
        }
    })
}

#[test]
fn a_body_may_be_read_after_the_answer() {
    let (sender, outcomes) = channel();
    let server = late_reader(sender);
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for length in [10_000, 300_000] {
            assert_eq!(client.ask(&Asked::post("/", &bytes_of(length))).text(), "accepted");
            assert_eq!(go_on_until(&mut client, &outcomes), Ok(length), "{spoken:?}");
        }
    }
}

/// A client of HTTP/2 has to open windows meanwhile, which it does while it works.
fn go_on_until(client: &mut crate::support::Either, outcomes: &std::sync::mpsc::Receiver<Outcome>) -> Outcome {
    let crate::support::Either::Http2(client) = client else { return outcomes.recv_timeout(PATIENCE).unwrap() };
    let began = std::time::Instant::now();
    loop {
        match outcomes.try_recv() {
            Ok(outcome) => return outcome,
            Err(_) => assert!(began.elapsed() < PATIENCE, "the reader says nothing"),
        }
        client.go_on_for(std::time::Duration::from_millis(2));
    }
}

#[test]
fn a_reader_learns_that_the_client_left() {
    let (sender, outcomes) = channel();
    let server = late_reader(sender.clone());
    let opening = Opening { length: Some(BodyLength::Known(10_000)), ..Opening::default() };
    // The connection, or only the stream.
    for whole in [true, false] {
        let mut client = server.connect_http2();
        let stream = client.open("POST", "/", &opening);
        client.send(stream, bytes_of(5000));
        assert_eq!(client.head(stream), 200);
        client.go_on_for(std::time::Duration::from_millis(20));
        if whole {
            drop(client);
            assert!(outcomes.recv_timeout(PATIENCE).unwrap().is_err());
        } else {
            client.machine.reset(stream, ErrorCode::CANCEL);
            client.turn();
            assert!(outcomes.recv_timeout(PATIENCE).unwrap().is_err());
            assert_eq!(client.get("/").text(), "accepted");
            assert_eq!(outcomes.recv_timeout(PATIENCE).unwrap(), Ok(0));
        }
    }

    // The stream fails over its response; who reads the body has to learn of it too.
    let server = Running::new(move |mut request: Request| {
        let outcomes = sender.clone();
        async move {
            request.body.chunk().await;
            tokio::task::spawn_local(async move {
                let read = request.body.collect(100 << 20).await;
                let _ = outcomes.send(read.map(|body| body.len()).map_err(|error| error.to_string()));
            });
            Response::default().body(Pieces::new(["a"]).then_fails().body())
        }
    });
    let mut client = server.connect_http2();
    let stream = client.open("POST", "/", &opening);
    client.send(stream, bytes_of(5000));
    assert_eq!(client.is_reset(stream), ErrorCode::INTERNAL_ERROR);
    assert!(outcomes.recv_timeout(PATIENCE).unwrap().is_err());
}

#[test]
fn trailers_of_a_request_reach_the_handler() {
    let server = Running::new(|mut request: Request| async move {
        let mut seen = String::new();
        while let Some(frame) = std::future::poll_fn(|context| request.body.poll_next(context)).await {
            match frame.unwrap().into_trailers() {
                Ok(trailers) => seen += trailers["x-sum"].to_str().unwrap(),
                Err(data) => seen += std::str::from_utf8(data.data_ref().unwrap()).unwrap(),
            }
        }
        Response::text(seen)
    });
    let mut client = server.connect_http2();
    for pieces in [&["abc"][..], &["a", "b", "c"], &[]] {
        let stream = client.open("POST", "/", &Opening { length: Some(BodyLength::Unknown), ..Opening::default() });
        for piece in pieces {
            client.send(stream, *piece);
        }
        let mut trailers = Headers::new();
        trailers.append("x-sum", "9").unwrap();
        client.finish(stream, Some(trailers));
        assert_eq!(client.answer(stream).text(), pieces.concat() + "9");
    }
}

#[test]
fn an_echo_runs_in_both_directions_at_once() {
    let server = Running::new(|request: Request| async move { Response::default().body(Body::stream(request.body)) });
    let mut client = server.connect_http2();
    let body = bytes_of(5 << 20);
    let streams: Vec<_> = (0..4).map(|_| client.post("/", body.clone(), false)).collect();
    for stream in streams {
        assert!(client.answer(stream).body == body);
    }
    // Each piece comes back before the next is sent.
    let stream = client.open("POST", "/", &Opening { length: Some(BodyLength::Unknown), ..Opening::default() });
    assert_eq!(client.head(stream), 200);
    let mut seen = String::new();
    for word in ["antelope", "goat", "serow"] {
        client.send(stream, word);
        seen += word;
        client.wait("the echo comes", |client| client.body(stream) == seen.as_bytes());
    }
    client.finish(stream, None);
    assert_eq!(client.answer(stream).text(), seen);
}
