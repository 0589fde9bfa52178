//! Errors are counted by their kind, and the run goes on, and ends.

use std::{
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use serow_client::Destination;
use serow_load::{Errors, Interval, LoadError, Plan, Requests, Run};

use super::{VERSIONS, batch, plan, run, server::Counting};

/// Longer than a run goes on that somebody stops.
const LONG: Duration = Duration::from_secs(100);

/// A server of raw bytes: says this to each connection that has said something, and closes it.
fn raw(answer: &'static [u8]) -> Destination {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let destination = Destination::Tcp(listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 4096]);
            let _ = connection.write_all(answer);
        }
    });
    destination
}

#[test]
fn a_response_that_never_comes_is_a_timeout() {
    for (version, streams) in VERSIONS {
        let server = Counting::start();
        let requests = Requests::Fixed(vec![(1, batch("GET", "/never", "")), (1, batch("GET", "/", ""))]);
        let timeout = Duration::from_millis(300);
        let plan = Plan { requests, timeout, threads: 1, count: Some(20), ..plan(server.tcp(), version, streams) };
        let began = Instant::now();
        let results = run(plan);
        assert_eq!(
            (results.requests, results.errors),
            (10, Errors { timeout: 10, ..Errors::default() }),
            "{version:?}"
        );
        assert!(began.elapsed() < Duration::from_secs(10), "{version:?}: {:?}", began.elapsed());
    }
}

#[test]
fn statuses_are_counted() {
    for (version, streams) in VERSIONS {
        let server = Counting::start();
        let requests = Requests::Fixed(vec![(1, batch("GET", "/missing", "")), (3, batch("HEAD", "/", ""))]);
        let results = run(Plan { requests, threads: 1, count: Some(40), ..plan(server.tcp(), version, streams) });
        assert_eq!(results.statuses.into_iter().collect::<Vec<_>>(), [(200, 30), (404, 10)], "{version:?}");
        assert_eq!(results.errors, Errors { status: 10, ..Errors::default() }, "{version:?}");
    }
}

#[test]
fn a_server_that_goes_and_comes_back() {
    for (version, streams) in VERSIONS {
        let server = Counting::start();
        let Destination::Tcp(address) = server.tcp() else { panic!("a port") };
        let run = Run::new(Plan { count: None, duration: Some(LONG), ..plan(server.tcp(), version, streams) });
        let load = run.stopper();
        let (failing, failed) = mpsc::channel();
        let watch = move |step: &Interval| {
            if step.errors > 0 {
                let _ = failing.send(());
            }
        };
        let running = thread::spawn(move || run.run(watch, |results| results).unwrap());
        server.wait_for(1);
        server.stop();
        failed.recv_timeout(LONG).unwrap();
        let back = serow::Server::new().listen(address.to_string()).workers(1).ignore_signals().bind().unwrap();
        let stopper = back.stopper();
        let (sender, requests) = mpsc::channel();
        let serving = thread::spawn(move || {
            back.run(move |_: serow::Request| {
                let sender = sender.clone();
                async move {
                    let _ = sender.send(());
                    "back"
                }
            })
        });
        requests.recv_timeout(LONG).expect("it came back");
        load.stop();
        let results = running.join().unwrap();
        stopper.stop();
        serving.join().unwrap().unwrap();
        let after = 1 + requests.iter().count() as u64;
        assert!(results.errors.connect > 0, "{version:?}: {:?}", results.errors);
        // Whatever reached a server was answered or counted as lost.
        let (answered, lost) = (results.requests, results.errors.unanswered() - results.errors.connect);
        let reached = server.count() + after;
        assert!(answered <= reached && reached <= answered + lost, "{version:?}: {reached} {answered} {lost}");
    }
}

#[test]
fn a_server_that_does_not_speak_http_ends_the_run() {
    let banner = raw(b"SSH-2.0-OpenSSH_9.2\r\n");
    for (version, streams) in VERSIONS {
        let outcome = Run::new(plan(banner.clone(), version, streams)).run(|_| {}, |results| results);
        let line = outcome.unwrap_err().to_string();
        let named = if streams == 1 { "HTTP/1.1" } else { "HTTP/2" };
        assert_eq!(
            line,
            format!("the server does not speak {named}; its response begins with \"SSH-2.0-OpenSSH_9.2\\r\\n\"")
        );
    }
    let old = raw(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    let line = Run::new(plan(old, http::Version::HTTP_2, 8)).run(|_| {}, |results| results).unwrap_err().to_string();
    assert!(
        line.starts_with("the server does not speak HTTP/2; its response begins with \"HTTP/1.1 400 Bad"),
        "{line}"
    );
    let broken = raw(b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n");
    let outcome = Run::new(plan(broken, http::Version::HTTP_11, 1)).run(|_| {}, |results| results);
    let Err(failure @ LoadError::NotHttp { .. }) = outcome else { panic!("{outcome:?}") };
    assert!(failure.to_string().starts_with("the server violates HTTP/1.1: "), "{failure}");
}

#[test]
fn responses_that_are_cut_off_are_lost() {
    let cases: [(&[u8], u64, u64); 4] = [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", 0, 10),
        (b"", 0, 10),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", 10, 0),
        (b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n", 10, 0),
    ];
    for (answer, answered, lost) in cases {
        let results = run(Plan { count: Some(10), ..plan(raw(answer), http::Version::HTTP_11, 1) });
        let shown = answer.escape_ascii();
        assert_eq!((results.requests, results.errors.read), (answered, lost), "{shown}");
        assert_eq!(results.errors.all(), lost, "{shown}: {:?}", results.errors);
    }
}

/// A server of raw bytes: says this to each request, and keeps the connection.
fn raw_kept_alive(answer: &'static [u8]) -> Destination {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let destination = Destination::Tcp(listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            thread::spawn(move || {
                // The client closes whenever it has had enough.
                while connection.read(&mut [0; 4096]).is_ok_and(|read| read > 0) && connection.write_all(answer).is_ok()
                {
                }
            });
        }
    });
    destination
}

#[test]
fn bytes_behind_a_response_are_a_fault_and_not_the_next_response() {
    let cases: [&[u8]; 3] = [
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nOKHTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nHTTP/1.1 404 ",
    ];
    for answer in cases {
        let plan = Plan {
            threads: 1,
            connections: 1,
            count: Some(10),
            ..plan(raw_kept_alive(answer), http::Version::HTTP_11, 1)
        };
        let results = run(plan);
        let shown = answer.escape_ascii();
        assert_eq!(results.requests, 10, "{shown}");
        assert!(results.statuses.keys().all(|status| *status < 300), "{shown}: {:?}", results.statuses);
        assert_eq!(results.errors, Errors { protocol: 10, ..Errors::default() }, "{shown}");
        assert_eq!(results.connections_made, 10, "{shown}");
    }
}

/// How a server refuses a stream.
#[derive(Clone, Copy, Debug)]
enum Refusal {
    /// By GOAWAY, with the stream before as the last that it looked at.
    GoAway,
    /// By RST_STREAM with REFUSED_STREAM.
    Reset,
}

/// A server of HTTP/2 that answers the first four streams of each connection, and refuses the others.
fn refusing(refusal: Refusal) -> Destination {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let destination = Destination::Tcp(listener.local_addr().unwrap());
    thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.unwrap();
            thread::spawn(move || refuse_after_four(connection, refusal));
        }
    });
    destination
}

fn refuse_after_four(mut connection: TcpStream, refusal: Refusal) {
    let frame = |kind: u8, flags: u8, stream: u32, payload: &[u8]| {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
    };
    connection.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
    let mut input = connection.try_clone().unwrap();
    input.read_exact(&mut [0; 24]).unwrap();
    let mut answered = 0;
    let mut head = [0; 9];
    while input.read_exact(&mut head).is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        input.read_exact(&mut vec![0; length]).unwrap();
        let (kind, stream) = (head[3], u32::from_be_bytes([head[5], head[6], head[7], head[8]]));
        let answer = match refusal {
            _ if kind != HEADERS => continue,
            // `:status: 200`, END_STREAM and END_HEADERS.
            _ if answered < 4 => {
                answered += 1;
                frame(HEADERS, 0x5, stream, &[0x88])
            }
            Refusal::Reset => frame(RST_STREAM, 0, stream, &[0, 0, 0, 7]),
            Refusal::GoAway => {
                // The fourth stream of a client is 7; the error code is NO_ERROR.
                let answer = frame(GOAWAY, 0, 0, &[0, 0, 0, 7, 0, 0, 0, 0]);
                answered = u32::MAX;
                answer
            }
        };
        if answered == u32::MAX {
            let _ = connection.write_all(&answer);
            // The client closes when it has its answers.
            let _ = input.read_to_end(&mut Vec::new());
            return;
        }
        if connection.write_all(&answer).is_err() {
            return;
        }
    }
}

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;

#[test]
fn streams_that_the_server_refuses_are_sent_again_and_answered() {
    for refusal in [Refusal::GoAway, Refusal::Reset] {
        let plan = plan(refusing(refusal), http::Version::HTTP_2, 8);
        let results = run(Plan { threads: 1, connections: 1, count: Some(20), ..plan });
        assert_eq!((results.requests, results.errors.all()), (20, 0), "{refusal:?}: {:?}", results.errors);
        assert!(results.sent_again >= 4, "{refusal:?}: {}", results.sent_again);
        assert_eq!(results.connections_made, 5, "{refusal:?}");
    }
}

#[test]
fn a_stopped_run_reports_the_requests_so_far() {
    for (version, streams) in VERSIONS {
        for (path, warm_up) in [("/", 0), ("/never", 0), ("/", 100)] {
            let server = Counting::start();
            let warm_up = Duration::from_secs(warm_up);
            let requests = Requests::Fixed(vec![(1, batch("GET", path, ""))]);
            let duration = Some(LONG);
            let run =
                Run::new(Plan { requests, duration, warm_up, count: None, ..plan(server.tcp(), version, streams) });
            let stopper = run.stopper();
            let began = Instant::now();
            let results = thread::scope(|scope| {
                scope.spawn(|| {
                    server.wait_for(if path == "/" { 1000 } else { 1 });
                    stopper.stop();
                });
                run.run(|_| {}, |results| results).unwrap()
            });
            assert!(began.elapsed() < Duration::from_secs(5), "{version:?} {path}");
            assert!(results.interrupted, "{version:?} {path}");
            assert_eq!(results.requests > 0, path == "/" && warm_up.is_zero(), "{version:?} {path}");
        }
    }
}
