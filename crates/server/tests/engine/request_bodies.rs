//! Bodies of requests: read, read elsewhere, left unread, broken off.

use std::{
    sync::mpsc::{Sender, channel},
    time::Duration,
};

use serow::{Body, Request, Response};

use crate::support::{PATIENCE, Running, bytes_of};

fn length_server() -> Running {
    Running::new(|request: Request| async move {
        match request.target.path() {
            "/unread" => Response::text("unread"),
            _ => Response::text(format!("{}", request.body.collect(100 << 20).await.unwrap().len())),
        }
    })
}

fn post(target: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("POST {target} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn chunked(target: &str, body: &[u8], size: usize) -> Vec<u8> {
    let mut request = format!("POST {target} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n").into_bytes();
    for chunk in body.chunks(size) {
        request.extend(format!("{:x}\r\n", chunk.len()).bytes());
        request.extend(chunk);
        request.extend(b"\r\n");
    }
    request.extend(b"0\r\n\r\n");
    request
}

#[test]
fn a_body_that_was_read_leaves_the_connection_open() {
    let server = length_server();
    let mut client = server.connect();
    for length in [1, 4095, 4096, 4097, 64 * 1024, 64 * 1024 + 1, 1 << 20] {
        let body = bytes_of(length);
        client.send(post("/", &body));
        let answer = client.answer();
        assert_eq!((answer.text(), answer.closes()), (&*length.to_string(), false));
        client.send(chunked("/", &body, 10_000));
        let answer = client.answer();
        assert_eq!((answer.text(), answer.closes()), (&*length.to_string(), false));
    }
}

#[test]
fn a_small_body_nobody_reads_is_passed_over() {
    let server = length_server();
    let mut client = server.connect();
    for body in [post("/unread", &bytes_of(10_000)), chunked("/unread", &bytes_of(10_000), 1000)] {
        client.send(body);
        let answer = client.answer();
        assert_eq!((answer.text(), answer.closes()), ("unread", false));
    }
    // Its bytes are never taken for a request.
    client.send(post("/unread", b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"));
    assert_eq!(client.answer().text(), "unread");
    client.send(post("/", b"abc"));
    assert_eq!(client.answer().text(), "3");
}

#[test]
fn a_large_body_nobody_reads_ends_the_connection_with_its_answer() {
    let server = length_server();
    let body = bytes_of(20 << 20);
    let mut client = server.connect();
    let mut writer = client.twin();
    let sender = std::thread::spawn(move || {
        // The server may stop listening before all of it is sent.
        let _ = writer.try_send(post("/unread", &body));
    });
    let answer = client.answer();
    assert_eq!((answer.text(), answer.closes()), ("unread", true));
    sender.join().unwrap();

    let mut client = server.connect();
    client.send(chunked("/unread", &bytes_of(200_000), 1000));
    assert_eq!(client.answer().text(), "unread");
    client.ends();
}

#[test]
fn a_handler_that_reads_a_part_leaves_a_usable_connection() {
    let server = Running::new(|mut request: Request| async move {
        let first = request.body.chunk().await.unwrap().unwrap();
        Response::text(format!("{}", !first.is_empty()))
    });
    let mut client = server.connect();
    for _ in 0..3 {
        client.send(post("/", &bytes_of(50_000)));
        let answer = client.answer();
        assert_eq!((answer.text(), answer.closes()), ("true", false));
    }
}

#[test]
fn another_task_may_read_the_body() {
    let server = Running::new(|request: Request| async move {
        let reading = tokio::task::spawn_local(request.body.collect(100 << 20));
        Response::text(format!("{}", reading.await.unwrap().unwrap().len()))
    });
    let mut client = server.connect();
    for length in [1, 100_000, 3 << 20] {
        client.send(post("/", &bytes_of(length)));
        assert_eq!(client.answer().text(), length.to_string());
    }
}

#[test]
fn another_thread_may_read_the_body() {
    let server = Running::new(|request: Request| async move {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let _ = sender.send(runtime.block_on(request.body.collect(100 << 20)).unwrap());
        });
        Response::text(format!("{}", receiver.await.unwrap().len()))
    });
    let mut client = server.connect();
    for length in [1, 100_000, 3 << 20] {
        client.send(chunked("/", &bytes_of(length), 3000));
        assert_eq!(client.answer().text(), length.to_string());
    }
}

/// Answers at once, and has another task read the body.
fn late_reader(outcomes: Sender<Result<usize, String>>) -> Running {
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
    let mut client = server.connect();
    for length in [10_000, 300_000] {
        client.send(post("/", &bytes_of(length)));
        assert_eq!(client.answer().text(), "accepted");
        assert_eq!(outcomes.recv_timeout(PATIENCE).unwrap(), Ok(length));
    }
}

#[test]
fn a_reader_learns_that_the_client_left() {
    let (sender, outcomes) = channel();
    let server = late_reader(sender.clone());
    let mut client = server.connect();
    client.send(&post("/", &bytes_of(10_000))[..5000]);
    assert_eq!(client.answer().text(), "accepted");
    drop(client);
    assert!(outcomes.recv_timeout(PATIENCE).unwrap().is_err());

    // The connection fails over its response; who reads the body has to learn of it too.
    let server = Running::new(move |mut request: Request| {
        let outcomes = sender.clone();
        async move {
            request.body.chunk().await;
            tokio::task::spawn_local(async move {
                let read = request.body.collect(100 << 20).await;
                let _ = outcomes.send(read.map(|body| body.len()).map_err(|error| error.to_string()));
            });
            Response::default().body(crate::support::Pieces::new(["a"]).then_fails().body())
        }
    });
    let mut client = server.connect();
    client.send(&post("/", &bytes_of(10_000))[..5000]);
    assert!(client.try_answer(false).is_err());
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
    let mut client = server.connect();
    let request = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 9\r\n\r\n";
    client.send(request);
    assert_eq!(client.answer().text(), "abc9");
    for byte in request {
        client.send([*byte]);
    }
    assert_eq!(client.answer().text(), "abc9");
}

#[test]
fn an_echo_runs_in_both_directions_at_once() {
    let server = Running::new(|request: Request| async move { Response::default().body(Body::stream(request.body)) });
    let body = bytes_of(5 << 20);
    let mut client = server.connect();
    let mut writer = client.twin();
    let request = chunked("/", &body, 7000);
    let sender = std::thread::spawn(move || writer.send(request).received.len());
    assert!(client.answer().body == body);
    sender.join().unwrap();
    // Each piece comes back before the next is sent.
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    client.take_head().unwrap();
    for word in ["antelope", "goat", "serow"] {
        client.send(format!("{:x}\r\n{word}\r\n", word.len()));
        let echoed = format!("{:x}\r\n{word}\r\n", word.len());
        assert_eq!(
            client.take(echoed.len()).unwrap().escape_ascii().to_string(),
            echoed.as_bytes().escape_ascii().to_string()
        );
    }
    client.send("0\r\n\r\n");
    assert_eq!(client.take(5).unwrap(), b"0\r\n\r\n");
    client.hears_nothing_for(Duration::from_millis(10));
}
