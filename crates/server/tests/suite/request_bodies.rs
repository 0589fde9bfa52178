//! Bodies of requests: read, read elsewhere, left unread, broken off.

use std::{
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

use serow::{Body, Request, Response};
use serow_http2::BodyLength;

use crate::support::{Asked, BOTH, Either, Instant, Opening, Pieces, Running, TIMEOUT, bytes_of};

/// Says how long a body was, and reads none at `/unread`.
pub(crate) fn length_server() -> Running {
    Running::new(|request: Request| async move {
        match request.target.path() {
            "/unread" => Response::text("unread"),
            _ => Response::text(format!("{}", request.body.collect(100 << 20).await.unwrap().len())),
        }
    })
}

#[test]
fn a_body_that_was_read_leaves_the_connection_open() {
    let server = length_server();
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for length in [0, 1, 4095, 4096, 4097, 16_384, 16_385, 65_535, 65_536, 65_537, 1 << 20] {
            let body = bytes_of(length);
            for asked in [Asked::post("/", &body), Asked::post("/", &body).chunked()] {
                let answer = client.ask(&asked);
                assert_eq!((answer.text(), answer.closes()), (&*length.to_string(), false), "{spoken:?}");
            }
        }
    }
}

#[test]
fn a_small_body_nobody_reads_is_passed_over() {
    let server = length_server();
    let body = bytes_of(10_000);
    // The server never takes its content for a request.
    let smuggled = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for body in [&*body, smuggled] {
            for asked in [Asked::post("/unread", body), Asked::post("/unread", body).chunked()] {
                let answer = client.ask(&asked);
                assert_eq!((answer.text(), answer.closes()), ("unread", false), "{spoken:?}");
            }
        }
        assert_eq!(client.ask(&Asked::post("/", b"abc")).text(), "3");
    }
}

#[test]
fn a_large_body_nobody_reads_ends_the_connection_with_its_answer() {
    let server = length_server();
    let body = bytes_of(20 << 20);
    let mut client = server.connect();
    // The server may stop listening before all of it is sent.
    let writing = client.write_beside(vec![Asked::post("/unread", &body).http1()], Duration::ZERO);
    let answer = client.answer();
    assert_eq!((answer.text(), answer.closes()), ("unread", true));
    writing.end();

    let mut client = server.connect();
    client.send(Asked::post("/unread", &bytes_of(200_000)).chunked().http1());
    assert_eq!(client.answer().text(), "unread");
    client.ends();
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
            let answer = client.ask(&Asked::post("/", &bytes_of(50_000)));
            assert_eq!((answer.text(), answer.closes()), ("true", false), "{spoken:?}");
        }
    }
}

#[cfg(not(feature = "simulation"))]
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
                let body = bytes_of(length);
                for asked in [Asked::post(target, &body), Asked::post(target, &body).chunked()] {
                    assert_eq!(client.ask(&asked).text(), length.to_string(), "{spoken:?}");
                }
            }
        }
    }
}

/// The result of reading a body: its length, or an error.
type Outcome = Result<usize, String>;

/// Has another task read the body.
fn read_later(request: Request, outcomes: Sender<Outcome>) {
    tokio::task::spawn_local(async move {
        tokio::task::yield_now().await;
        let read = request.body.collect(100 << 20).await;
        let _ = outcomes.send(read.map(|body| body.len()).map_err(|error| error.to_string()));
    });
}

/// Answers at once, and has another task read the body.
pub(crate) fn late_reader() -> (Running, Receiver<Outcome>) {
    let (sender, outcomes) = channel();
    let server = Running::new(move |request: Request| {
        let outcomes = sender.clone();
        async move {
            read_later(request, outcomes);
            Response::text("accepted")
        }
    });
    (server, outcomes)
}

#[test]
fn a_body_may_be_read_after_the_answer() {
    let (server, outcomes) = late_reader();
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for length in [10_000, 300_000] {
            assert_eq!(client.ask(&Asked::post("/", &bytes_of(length))).text(), "accepted");
            assert_eq!(go_on_until(&mut client, &outcomes), Ok(length), "{spoken:?}");
        }
    }
}

/// Waits for the outcome; a client of HTTP/2 has to open windows meanwhile.
fn go_on_until(client: &mut Either, outcomes: &Receiver<Outcome>) -> Outcome {
    let began = Instant::now();
    loop {
        match outcomes.try_recv() {
            Ok(outcome) => return outcome,
            Err(_) => assert!(began.elapsed() < TIMEOUT, "the reader says nothing"),
        }
        client.go_on_for(Duration::from_millis(2));
    }
}

/// A body half of which is sent.
pub(crate) fn half() -> Opening<'static> {
    Opening { length: Some(BodyLength::Known(10_000)), ..Opening::default() }
}

#[cfg(not(feature = "simulation"))]
#[test]
fn a_reader_learns_that_the_client_left() {
    let (server, outcomes) = late_reader();
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        client.open("POST", "/", &half());
        client.send(&bytes_of(5000));
        assert_eq!(client.answer().text(), "accepted");
        drop(client);
        assert!(outcomes.recv_timeout(TIMEOUT).unwrap().is_err(), "{spoken:?}");
    }
}

#[cfg(not(feature = "simulation"))]
#[test]
fn a_reader_learns_that_the_response_failed() {
    let (sender, outcomes) = channel();
    let server = Running::new(move |mut request: Request| {
        let outcomes = sender.clone();
        async move {
            request.body.chunk().await;
            read_later(request, outcomes);
            Response::default().body(Pieces::new(["a"]).then_fails().body())
        }
    });
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        client.open("POST", "/", &half());
        client.send(&bytes_of(5000));
        client.is_cut();
        assert!(outcomes.recv_timeout(TIMEOUT).unwrap().is_err(), "{spoken:?}");
    }
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
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for pieces in [&["abc"][..], &["a", "b", "c"], &[]] {
            client.open("POST", "/", &Opening { length: Some(BodyLength::Unknown), ..Opening::default() });
            for piece in pieces {
                client.send(piece.as_bytes());
            }
            client.finish(&[("x-sum", "9")]);
            assert_eq!(client.answer().text(), pieces.concat() + "9", "{spoken:?}");
        }
    }
    let mut client = server.connect();
    for byte in b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 9\r\n\r\n" {
        client.send([*byte]);
    }
    assert_eq!(client.answer().text(), "abc9");
}

/// Sends back what it receives.
pub(crate) fn echo_server() -> Running {
    Running::new(|request: Request| async move { Response::default().body(Body::stream(request.body)) })
}

#[test]
fn an_echo_runs_in_both_directions_at_once() {
    let server = echo_server();
    let body = bytes_of(5 << 20);
    let mut client = server.connect();
    let writing = client.write_beside(vec![Asked::post("/", &body).chunked().http1()], Duration::ZERO);
    assert!(client.answer().body == body);
    assert!(writing.end());
}

#[test]
fn each_piece_of_an_echo_comes_back_before_the_next_is_sent() {
    let server = echo_server();
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        client.open("POST", "/", &Opening { length: Some(BodyLength::Unknown), ..Opening::default() });
        assert_eq!(client.head(), 200);
        let mut seen = String::new();
        for word in ["antelope", "goat", "serow"] {
            client.send(word.as_bytes());
            seen += word;
            assert_eq!(client.body(seen.len()), seen.as_bytes(), "{spoken:?}");
        }
        client.finish(&[]);
        assert_eq!(client.answer().text(), seen);
        // Nothing was left behind.
        assert_eq!(client.ask(&Asked::post("/", b"next").chunked()).text(), "next");
    }
}
