//! How long a peer may take, and what is not held against it.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use serow::{Request, Response, Server, Timeouts};

use crate::support::{Feed, PATIENCE, Running, bytes_of, channel_body, patient};

const SHORT: Duration = Duration::from_millis(400);

fn with_timeouts(timeouts: Timeouts) -> Running {
    Running::with(Server::new().timeouts(timeouts), |mut request: Request| async move {
        match request.target.path() {
            "/large" => Response::default().body(vec![b'a'; 30 << 20]),
            "/slow" => {
                tokio::time::sleep(3 * SHORT).await;
                Response::text("slow")
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

/// Never early, and not much later than promised, even on a busy machine.
#[track_caller]
fn assert_timely(took: Duration) {
    assert!((SHORT..PATIENCE).contains(&took), "{took:?}");
}

#[test]
fn a_head_sent_too_slowly_is_answered_with_408() {
    let server = with_timeouts(Timeouts { head: SHORT, ..patient() });
    let mut client = server.connect();
    let mut writer = client.twin();
    let began = Instant::now();
    let writing = std::thread::spawn(move || {
        for byte in b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ".iter().chain(std::iter::repeat(&b'a')) {
            if writer.try_send([*byte]).is_err() || began.elapsed() > PATIENCE {
                return;
            }
            std::thread::sleep(SHORT / 10);
        }
    });
    let answer = client.answer();
    assert_timely(began.elapsed());
    assert_eq!((answer.status, answer.closes()), (408, true));
    client.ends();
    drop(client);
    writing.join().unwrap();
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
fn an_idle_connection_is_closed_without_a_word() {
    let server = with_timeouts(Timeouts { idle: SHORT, ..patient() });
    let mut client = server.connect();
    for _ in 0..3 {
        assert_eq!(client.get("/").text(), "0");
        std::thread::sleep(SHORT / 4);
    }
    let began = Instant::now();
    assert_eq!(client.get("/").text(), "0");
    client.ends();
    assert_timely(began.elapsed());
}

#[test]
fn a_body_sent_too_slowly_is_answered_with_408() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    for framing in ["Content-Length: 1000000", "Transfer-Encoding: chunked"] {
        let mut client = server.connect();
        let began = Instant::now();
        client.send(format!("POST / HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n"));
        let mut writer = client.twin();
        let writing = std::thread::spawn(move || {
            while writer.try_send("1\r\na\r\n").is_ok() && began.elapsed() < PATIENCE {
                std::thread::sleep(SHORT / 10);
            }
        });
        let answer = client.answer();
        assert_timely(began.elapsed());
        assert_eq!((answer.status, answer.closes()), (408, true));
        drop(client);
        writing.join().unwrap();
    }
}

#[test]
fn a_body_nobody_reads_is_not_waited_for() {
    let server = Running::with(Server::new().timeouts(Timeouts { body: SHORT, ..patient() }), |_: Request| async {
        Response::text("unread")
    });
    let mut client = server.connect();
    let began = Instant::now();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
    let answer = client.answer();
    assert_eq!(answer.text(), "unread");
    // The answer was whole: the connection ends in order.
    client.ends();
    assert_timely(began.elapsed());
}

#[test]
fn a_reader_that_stops_is_cut() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    let mut client = server.connect();
    let began = Instant::now();
    client.send("GET /large HTTP/1.1\r\nHost: a\r\n\r\n");
    client.take_head().unwrap();
    std::thread::sleep(4 * SHORT);
    assert!(client.take(30 << 20).is_err());
    assert_timely(began.elapsed());
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
        std::thread::sleep(SHORT / 20);
        let mut byte = [0];
        if rustix::net::recv(&client, &mut byte, rustix::net::RecvFlags::empty()).is_err() {
            return;
        }
    }
    assert!(client.take(30 << 20).is_err());
}

#[test]
fn a_slow_handler_is_nobodys_fault() {
    let server = with_timeouts(Timeouts { head: SHORT, idle: SHORT, body: SHORT, ..patient() });
    let mut client = server.connect();
    assert_eq!(client.get("/slow").text(), "slow");
    client.send("POST /slow HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
    assert_eq!(client.answer().text(), "slow");
    // Nor one that takes its time over each piece, with the client waiting behind it.
    let mut client = server.connect();
    client.send("POST /slow-reader HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\nabc");
    std::thread::sleep(SHORT / 2);
    client.send("def");
    assert_eq!(client.answer().text(), "6");
}

#[test]
fn a_slow_body_that_moves_is_not_cut() {
    let server = with_timeouts(Timeouts { body: SHORT, ..patient() });
    let mut client = server.connect();
    let began = Instant::now();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 163840\r\n\r\n");
    // Ten times what is asked for.
    for piece in bytes_of(160 << 10).chunks(4096) {
        client.send(piece);
        std::thread::sleep(SHORT / 10);
    }
    assert_eq!(client.answer().text(), "163840");
    assert!(began.elapsed() > 3 * SHORT);
}

#[test]
fn a_stream_at_rest_does_not_count_against_its_reader() {
    let feeds = Arc::new(Mutex::new(Vec::<Feed>::new()));
    let kept = Arc::clone(&feeds);
    let server = Running::with(Server::new().timeouts(Timeouts { body: 2 * SHORT, ..patient() }), move |_: Request| {
        let (feed, body) = channel_body();
        kept.lock().unwrap().push(feed);
        async move { Response::default().body(body) }
    });
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    client.take_head().unwrap();
    let feed = feeds.lock().unwrap().pop().unwrap();
    for _ in 0..3 {
        // More than the kernel takes, so that the last of it waits for the reader; then nothing for long.
        for _ in 0..10_000 {
            feed.send(vec![b'a'; 1000].into()).unwrap();
        }
        std::thread::sleep(SHORT / 4);
        let chunk = 5 + 1000 + 2;
        assert_eq!(client.take(10_000 * chunk).unwrap().len(), 10_000 * chunk);
        std::thread::sleep(3 * SHORT);
    }
    drop(feed);
    assert_eq!(client.take(5).unwrap(), b"0\r\n\r\n");
}
