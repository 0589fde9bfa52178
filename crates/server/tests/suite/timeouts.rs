//! How long a peer may take, and what is not held against it.

use std::time::Duration;

use serow::{Request, Response, Server, Timeouts};
use serow_http2::BodyLength;

use crate::{
    streaming::serve_fed,
    support::{Asked, BOTH, Instant, LATE, Opening, Running, Spoken, TIMEOUT, bytes_of, patient, sleep},
};

pub(crate) const SHORT: Duration = Duration::from_millis(400);

pub(crate) fn with_timeouts(timeouts: Timeouts) -> Running {
    Running::with(Server::new().timeouts(timeouts), |mut request: Request| async move {
        match request.target.path() {
            "/large" => Response::default().body(vec![b'a'; LARGE]),
            "/slow" => {
                tokio::time::sleep(3 * SHORT).await;
                Response::text("slow")
            }
            "/unread" => Response::text("unread"),
            "/own-time" => {
                request.body.set_timeout(SHORT);
                Response::text(request.body.collect(100).await.map_or(0, |body| body.len()).to_string())
            }
            "/slow-reader" => {
                let mut length = 0;
                while let Some(chunk) = request.body.chunk().await {
                    length += chunk.unwrap().len();
                    tokio::time::sleep(2 * SHORT).await;
                }
                Response::text(length.to_string())
            }
            _ => Response::text(request.body.collect(100 << 20).await.map_or(0, |body| body.len()).to_string()),
        }
    })
}

/// More than the kernel holds on its way.
const LARGE: usize = 30 << 20;

/// Never early, and in the simulation no later than promised.
#[track_caller]
pub(crate) fn assert_timely(took: Duration) {
    assert!((SHORT..SHORT + LATE).contains(&took), "{took:?}");
}

/// A body of this length, to `POST`.
fn of_length(length: BodyLength) -> Opening<'static> {
    Opening { length: Some(length), ..Opening::default() }
}

#[test]
fn a_head_sent_too_slowly_is_answered_with_408() {
    let server = with_timeouts(Timeouts { head: SHORT, ..patient() });
    let mut client = server.connect();
    let began = Instant::now();
    let head = [&b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "[..], &[b'a'; 100]].concat();
    let writing = client.write_beside(head.chunks(1).map(<[u8]>::to_vec).collect(), SHORT / 10);
    let answer = client.answer();
    assert_timely(began.elapsed());
    assert_eq!((answer.status, answer.closes()), (408, true));
    client.ends();
    drop(client);
    writing.end();
    // Behind an answered request too.
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HT");
    assert_eq!(client.answer().status, 200);
    assert_eq!(client.answer().status, 408);
}

#[test]
fn a_connection_that_says_nothing_is_closed_without_a_word() {
    let server = with_timeouts(Timeouts { head: SHORT, ..patient() });
    let mut client = server.connect();
    let began = Instant::now();
    client.ends();
    assert_timely(began.elapsed());
}

#[test]
fn an_idle_connection_is_closed_in_order() {
    let server = with_timeouts(Timeouts { idle: SHORT, ..patient() });
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        for _ in 0..3 {
            assert_eq!(client.get("/").text(), "0");
            client.go_on_for(SHORT / 4);
        }
        let began = Instant::now();
        assert_eq!(client.get("/").text(), "0");
        client.ends();
        assert_timely(began.elapsed());
    }
}

#[test]
fn a_body_sent_too_slowly_is_answered_with_408() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    for spoken in BOTH {
        for length in [BodyLength::Known(1_000_000), BodyLength::Unknown] {
            let mut client = server.connect_with(spoken);
            let began = Instant::now();
            client.open("POST", "/", &of_length(length));
            while !client.has_answer() {
                client.send(b"a");
                client.go_on_for(SHORT / 10);
                assert!(began.elapsed() < TIMEOUT, "{spoken:?} {length:?}");
            }
            let answer = client.answer();
            // Noticed at the end of a pause.
            let took = began.elapsed();
            assert!((SHORT..SHORT + SHORT / 10 + LATE).contains(&took), "{took:?}");
            assert_eq!((answer.status, answer.closes()), (408, spoken == Spoken::Http1), "{length:?}");
            if spoken == Spoken::Http2 {
                // Nothing else of the connection is concerned.
                assert_eq!(client.get("/").text(), "0");
            }
        }
    }
}

#[test]
fn a_handler_decides_how_long_a_body_may_take() {
    let server = with_timeouts(patient());
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        let began = Instant::now();
        client.open("POST", "/own-time", &of_length(BodyLength::Known(10)));
        client.send(b"a");
        let answer = client.answer();
        assert_timely(began.elapsed());
        assert_eq!(answer.status, 408, "{spoken:?}");
    }
}

#[test]
fn a_body_nobody_reads_is_not_waited_for() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        let began = Instant::now();
        client.open("POST", "/unread", &of_length(BodyLength::Known(1000)));
        client.send(b"abc");
        assert_eq!(client.answer().text(), "unread", "{spoken:?}");
        match spoken {
            Spoken::Http1 => {
                // The answer was whole: the connection ends in order.
                client.ends();
                assert_timely(began.elapsed());
            }
            Spoken::Http2 => assert_eq!(client.get("/").text(), "0"),
        }
    }
}

#[test]
fn a_reader_that_stops_is_cut() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    let mut client = server.connect();
    let began = Instant::now();
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    client.take_head().unwrap();
    sleep(4 * SHORT);
    assert!(client.take(LARGE).is_err());
    assert!((SHORT..TIMEOUT).contains(&began.elapsed()));
}

#[test]
fn a_reader_by_the_byte_is_cut() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    let mut client = server.connect();
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    // Much is on its way already: what the kernel holds, nobody can take back. Reading by the byte opens no window.
    client.take_head().unwrap();
    let began = Instant::now();
    while began.elapsed() < 4 * SHORT {
        client.received.clear();
        sleep(SHORT / 20);
        if client.receive_byte().is_err() {
            return;
        }
    }
    assert!(client.take(LARGE).is_err());
}

#[test]
fn a_slow_handler_is_nobodys_fault() {
    let server = with_timeouts(Timeouts { head: SHORT, idle: SHORT, body: SHORT, ..patient() });
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        assert_eq!(client.get("/slow").text(), "slow");
        assert_eq!(client.ask(&Asked::post("/slow", b"abc")).text(), "slow");
        // Nor one that takes its time over each piece, with the client waiting behind it.
        client.open("POST", "/slow-reader", &of_length(BodyLength::Known(6)));
        client.send(b"abc");
        client.go_on_for(SHORT / 2);
        client.send(b"def");
        client.finish(&[]);
        assert_eq!(client.answer().text(), "6", "{spoken:?}");
    }
}

#[test]
fn a_slow_body_that_moves_is_not_cut() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    let body = bytes_of(160 << 10);
    for spoken in BOTH {
        let mut client = server.connect_with(spoken);
        let began = Instant::now();
        client.open("POST", "/", &of_length(BodyLength::Known(body.len() as u64)));
        // Ten times what is asked for.
        for piece in body.chunks(4096) {
            client.send(piece);
            client.go_on_for(SHORT / 10);
        }
        client.finish(&[]);
        assert_eq!(client.answer().text(), body.len().to_string(), "{spoken:?}");
        assert!(began.elapsed() > 3 * SHORT);
    }
}

#[test]
fn a_stream_at_rest_does_not_count_against_its_reader() {
    const PIECES: usize = 10_000;
    const PIECE: usize = 1000;
    for spoken in BOTH {
        let (server, feeds) = serve_fed(Server::new().timeouts(Timeouts { body: 2 * SHORT, ..patient() }));
        let mut client = server.connect_with(spoken);
        client.begin(&Asked::get("/"));
        client.head();
        let feed = feeds.lock().unwrap().pop().unwrap();
        for round in 1..=3 {
            // More than the kernel takes, so that the last of it waits for the reader; then nothing for long.
            for _ in 0..PIECES {
                feed.send(vec![b'a'; PIECE].into()).unwrap();
            }
            sleep(SHORT / 4);
            assert_eq!(client.body(round * PIECES * PIECE).len(), round * PIECES * PIECE, "{spoken:?}");
            client.go_on_for(3 * SHORT);
        }
        drop(feed);
        assert_eq!(client.answer().body.len(), 3 * PIECES * PIECE);
    }
}
