//! How fast responses are sent: `rate` and `rate-after`.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use serow_requirements::requires;
use tempfile::TempDir;

use crate::running::{Running, serow};

/// A server behind Serow that sends `LENGTH` bytes at once.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {LENGTH}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&content());
        }
    });
    address
}

const LENGTH: usize = 300_000;

fn content() -> Vec<u8> {
    (0..LENGTH).map(|place| (place % 251) as u8).collect()
}

fn start() -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["slow", "after"] {
        fs::create_dir_all(folder.path().join("public").join(name)).unwrap();
        fs::write(folder.path().join("public").join(name).join("large.bin"), content()).unwrap();
        fs::write(folder.path().join("public").join(name).join("small.txt"), "small").unwrap();
    }
    fs::write(folder.path().join("public/fast.bin"), content()).unwrap();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 1\n[[site]]\nrate = 200000\n\
         [[site.route]]\npath = \"/slow/*\"\nfiles = {{ root = \"public\" }}\n\
         [[site.route]]\npath = \"/after/*\"\nrate-after = 200000\nfiles = {{ root = \"public\" }}\n\
         [[site.route]]\npath = \"/proxy\"\nproxy = {{ servers = \"{}\" }}\n\
         [[site.route]]\npath = \"/*\"\nrate = \"unlimited\"\nfiles = {{ root = \"public\" }}\n",
        upstream()
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), folder)
}

#[test]
fn a_response_takes_as_long_as_its_rate_says() {
    let (server, _folder) = start();
    // 300,000 bytes at 200,000 in a second; or the last 100,000 of them.
    for (path, milliseconds) in [("/slow/large.bin", 1500), ("/after/large.bin", 500), ("/proxy", 1500)] {
        let start = Instant::now();
        let answer = server.get(path);
        let took = start.elapsed();
        assert_eq!((answer.status(), answer.body.len()), (200, LENGTH), "{path}");
        assert!(answer.body == content(), "{path}");
        let earliest = Duration::from_millis(milliseconds * 95 / 100);
        // Later, where the machine has much else to do.
        assert!((earliest..earliest + Duration::from_secs(10)).contains(&took), "{path}: {took:?}");
    }
    // Nothing waits that is short, or not limited. The best of some, where the machine has much else to do.
    let times = (0..5).map(|_| {
        let start = Instant::now();
        assert_eq!(server.get("/slow/small.txt").text(), "small");
        assert_eq!(server.get("/fast.bin").body.len(), LENGTH);
        start.elapsed()
    });
    let took = times.min().unwrap();
    assert!(took < Duration::from_millis(900), "{took:?}");
}

#[test]
fn ranges_and_heads_keep_their_fields() {
    let (server, _folder) = start();
    let part = server.ask("/slow/large.bin", "Range: bytes=100-20099\r\n");
    assert_eq!((part.status(), part.field("content-length")), (206, Some("20000")));
    assert!(part.body == content()[100..20_100]);
    let mut stream = server.connect();
    write!(stream, "HEAD /slow/large.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let head = crate::running::received(stream);
    assert_eq!((head.status(), head.field("content-length"), head.body.len()), (200, Some("300000"), 0));
}

#[test]
fn a_slow_stream_does_not_hold_up_others_of_its_connection() {
    requires!("program:curl");
    let (server, folder) = start();
    let address = server.address();
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--http2-prior-knowledge", "--parallel", "--parallel-immediate", "-w", "%{url} %{time_total}\n"]);
    curl.args([&format!("http://{address}/slow/large.bin"), "-o", "slow"]);
    curl.args([&format!("http://{address}/fast.bin"), "-o", "fast"]);
    let output = curl.current_dir(folder.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let time = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{text}"));
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    };
    assert!(time("/slow/") > 1.4 && time("/fast.bin") < 0.8, "{text}");
    for name in ["slow", "fast"] {
        assert!(fs::read(folder.path().join(name)).unwrap() == content(), "{name}");
    }
}
