//! Things that claim to be Redis.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use super::*;

/// Whatever is sent to it, it answers with this; nothing, and it keeps silent.
fn imposter(answer: &'static [u8], times: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || talk(stream.unwrap(), answer, times));
        }
    });
    format!("redis://{address}")
}

fn talk(mut stream: TcpStream, answer: &[u8], times: usize) {
    let mut buffer = [0; 65_536];
    while stream.read(&mut buffer).is_ok_and(|length| length > 0) {
        for _ in 0..times {
            if stream.write_all(answer).is_err() {
                return;
            }
        }
    }
}

#[test]
fn whatever_answers_decisions_go_on() {
    let cases: [(&[u8], usize, &str); 14] = [
        (b"", 0, "does not answer within"),
        (b"-ERR unknown command\r\n", 9, "unknown command"),
        (b"-NOAUTH Authentication required.\r\n", 1, "Authentication required"),
        (b"-MOVED 1 127.0.0.1:1\r\n", 9, "node of a cluster"),
        (b"-READONLY You can't write against a read only replica.\r\n", 9, "read only"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", 1, ""),
        (b"+OK\r\n", 9, "something else"),
        (b":9223372036854775807\r\n", 9, ""),
        (b"*2\r\n:9223372036854775807\r\n:-9223372036854775808\r\n", 9, ""),
        (b"*-1\r\n", 9, ""),
        (b"*1000000000\r\n", 1, ""),
        (b"$9000000000\r\n", 1, ""),
        (&[b'*'; 100_000], 1, ""),
        (b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", 1000, ""),
    ];
    for (answer, times, expected) in cases {
        let url = imposter(answer, times);
        let mut settings = FleetSettings::new(vec![url.parse().unwrap()]);
        settings.timeout = Duration::from_millis(700);
        let one = Instance::start(settings, "1000/s", 10);
        let shown = String::from_utf8_lossy(&answer[..answer.len().min(40)]).into_owned();
        let mut slowest = Duration::ZERO;
        eventually("two errors", || {
            let before = Instant::now();
            let _ = one.is_allowed(b"a");
            slowest = slowest.max(before.elapsed());
            one.fleet.report().errors >= 2
        });
        // No decision waits for the timeout.
        assert!(slowest < Duration::from_millis(700), "{shown}: {slowest:?}");
        assert!(one.last_error().contains(expected), "{shown}: {}", one.last_error());
        eventually("clients are let in", || one.is_allowed(b"a"));
    }
}

#[test]
fn a_redis_that_sends_without_end_does_not_fill_the_memory() {
    static ENDLESS: [u8; 65_536] = [b'x'; 65_536];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let sent = Arc::new(Mutex::new(0_usize));
    let counter = Arc::clone(&sent);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.write_all(b"$400000000\r\n");
            while stream.write_all(&ENDLESS).is_ok() {
                *counter.lock().unwrap() += ENDLESS.len();
            }
        }
    });
    let mut settings = FleetSettings::new(vec![url.parse().unwrap()]);
    settings.timeout = Duration::from_secs(10);
    let one = Instance::start(settings, "1000/s", 0);
    eventually("it is given up", || !one.last_error().is_empty());
    // Besides what the kernel buffers.
    assert!(*sent.lock().unwrap() < 100_000_000);
}
