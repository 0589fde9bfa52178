//! Copies of requests for another upstream.

use std::{
    fs,
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::mpsc::{self, Receiver},
    thread,
    time::Instant,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::running::{Answer, Running, TIMEOUT, eventually, output, serow};

/// A server that reports what it receives, as one text, and responds with its name or not at all.
fn origin(name: &'static str, responds: bool) -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, received) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, sender) = (stream.unwrap(), sender.clone());
            thread::spawn(move || {
                while let Some(request) = read_request(&mut stream) {
                    let _ = sender.send(request);
                    if !responds {
                        return drop(io::copy(&mut stream, &mut io::sink()));
                    }
                    // In one piece: the second of two would wait for the acknowledgement of the first.
                    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{name}", name.len());
                    let _ = stream.write_all(response.as_bytes());
                }
            });
        }
    });
    (address, received)
}

/// The request line, a few fields and the body.
fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let field = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
    };
    let length = field("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    let line = head.lines().next().unwrap();
    let fields = [field("host"), field("x-mine")].map(Option::unwrap_or_default).join(" ");
    Some(format!("{line} {fields} {}", String::from_utf8_lossy(&body)))
}

struct Mirrored {
    folder: TempDir,
    server: Running,
    main: Receiver<String>,
    copies: Receiver<String>,
}

impl Mirrored {
    fn start(mirror: &str, responds: bool) -> Self {
        let (address, copies) = origin("copy", responds);
        Self::with_copies(mirror, address, copies)
    }

    /// Copies go to this address.
    fn with_copies(mirror: &str, copy_address: SocketAddr, copies: Receiver<String>) -> Self {
        let (main_address, main) = origin("main", true);
        let folder = tempfile::tempdir().unwrap();
        let admin = folder.path().join("admin.sock");
        let settings = format!(
            "listen = \"127.0.0.1:0\"\nworkers = 1\nadmin = \"unix:{}\"\n\
             [[upstream]]\nname = \"copies\"\nservers = \"{copy_address}\"\n\
             [[site]]\n[[site.route]]\npath = \"/here\"\nrespond = {{ body = \"here\" }}\n\
             [[site.route]]\npath = \"/*\"\nmirror = {mirror}\nproxy = {{ servers = \"{main_address}\" }}\n",
            admin.display()
        );
        let file = folder.path().join("serow.toml");
        fs::write(&file, settings).unwrap();
        let server = Running::of(serow(["run", "-c", file.to_str().unwrap()]));
        Self { folder, server, main, copies }
    }

    /// Reloads with another upstream for the copies.
    fn send_copies_to(&self, address: &str) {
        let file = self.folder.path().join("serow.toml");
        let settings = fs::read_to_string(&file).unwrap();
        let start = settings.find("servers = ").unwrap();
        let end = start + settings[start..].find('\n').unwrap();
        fs::write(&file, settings.replace(&settings[start..end], &format!("servers = \"{address}\""))).unwrap();
        assert!(output(["reload", "-c", file.to_str().unwrap()]).status.success());
    }

    fn ask(&self, request: &str) -> Answer {
        let mut stream = self.server.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::parse(&bytes)
    }

    fn post(&self, body: &str) -> Answer {
        let length = body.len();
        self.ask(&format!(
            "POST /a?b HTTP/1.1\r\nHost: h\r\nX-Mine: 1\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    /// How many copies were sent, dropped, and failed.
    fn counts(&self) -> [u64; 3] {
        let file = self.folder.path().join("serow.toml").display().to_string();
        let status: Value = serde_json::from_slice(&output(["status", "--json", "-c", &file]).stdout).unwrap();
        let mirror = &status["mirrors"][0];
        assert_eq!((&mirror["name"], &mirror["upstream"]), (&"* /*".into(), &"copies".into()));
        ["sent", "dropped", "failed"].map(|key| mirror[key].as_u64().unwrap())
    }

    fn settled(&self, expected: [u64; 3]) {
        // A failure shows what is counted in place of that.
        let mut counts = [0; 3];
        eventually(&format!("the counts {expected:?}"), || {
            let before = std::mem::replace(&mut counts, self.counts());
            if before != counts {
                println!("sent, dropped, failed: {counts:?}");
            }
            (counts == expected).then_some(())
        });
    }
}

#[test]
fn copies_have_the_head_and_the_body() {
    let site = Mirrored::start("{ upstream = \"copies\" }", true);
    assert_eq!(site.server.get("/a%20b?c").text(), "main");
    assert!(site.copies.recv_timeout(TIMEOUT).unwrap().starts_with("GET /a%20b?c HTTP/1.1 "));
    let body = "x".repeat(300_000);
    for _ in 0..2 {
        assert_eq!(site.post(&body).text(), "main");
        let copy = site.copies.recv_timeout(TIMEOUT).unwrap();
        assert_eq!(copy, format!("POST /a?b HTTP/1.1 h 1 {body}"));
    }
    let chunked = "POST /c HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
                   3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
    assert_eq!(site.ask(chunked).text(), "main");
    assert_eq!(site.copies.recv_timeout(TIMEOUT).unwrap(), "POST /c HTTP/1.1 h  abcde");
    site.settled([4, 0, 0]);
    // The main server reads no chunks, and reports them as if they were another request.
    let is_request = |line: &String| line.starts_with("GET ") || line.starts_with("POST ");
    assert_eq!(site.main.try_iter().filter(is_request).count(), 4);
    assert_eq!(site.server.get("/here").text(), "here");
    assert!(site.copies.try_recv().is_err());
}

#[test]
fn long_and_incomplete_bodies_are_left_out() {
    let site = Mirrored::start("{ upstream = \"copies\", max-body = 10 }", true);
    for body in ["0123456789", "01234567890"] {
        assert_eq!(site.post(body).text(), "main");
    }
    let chunked = "POST /c HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n";
    assert_eq!(site.ask(chunked).text(), "main");
    let mut cut = site.server.connect();
    cut.write_all(b"POST /d HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nabc").unwrap();
    drop(cut);
    site.settled([1, 3, 0]);
    assert!(site.copies.recv().unwrap().ends_with(" 0123456789"));
    assert!(site.copies.try_recv().is_err());
}

#[test]
fn clients_do_not_wait_for_a_mirror_that_does_not_respond() {
    let site = Mirrored::start("{ upstream = \"copies\" }", false);
    let began = Instant::now();
    for _ in 0..600 {
        assert_eq!(site.server.get("/").text(), "main");
    }
    assert!(began.elapsed() < TIMEOUT, "{:?}", began.elapsed());
    // Those beyond the limit of copies in flight.
    site.settled([0, 600 - 512, 0]);
}

#[test]
fn unreachable_mirrors_are_counted() {
    let address = serow_ports::refusing_address();
    let (_, no_copies) = mpsc::channel();
    let site = Mirrored::with_copies("{ upstream = \"copies\" }", address, no_copies);
    for _ in 0..3 {
        assert_eq!(site.post("abc").text(), "main");
    }
    site.settled([0, 0, 3]);
}

#[test]
fn a_mirror_that_leads_back_ends() {
    let site = Mirrored::start("{ upstream = \"copies\" }", true);
    site.send_copies_to(site.server.address());
    assert_eq!(site.post("abc").text(), "main");
    // The copies of copies came through one more proxy each.
    site.settled([9, 1, 0]);
    let bodies = site.main.try_iter().filter(|request| request.ends_with(" abc")).count();
    assert_eq!(bodies, 10);
}

#[test]
fn bodies_that_clients_and_handlers_give_up_are_not_copied() {
    let site = Mirrored::start("{ upstream = \"copies\" }", true);
    let begin = |path: &str| {
        let mut stream = site.server.connect();
        write!(stream, "POST {path} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n").unwrap();
        stream
    };
    // The client is gone; chunks that are none; the upstream server responds before the body is complete.
    drop(begin("/a"));
    begin("/b").write_all(b"x\r\n").unwrap();
    let _never_complete = begin("/c");
    assert_eq!(site.post("whole").text(), "main");
    site.settled([1, 3, 0]);
    assert!(site.copies.recv_timeout(TIMEOUT).unwrap().ends_with(" whole"));
    assert!(site.copies.try_recv().is_err());
}

#[test]
fn a_share_of_requests_is_copied() {
    let site = Mirrored::start("{ upstream = \"copies\", share = 10 }", true);
    for _ in 0..300 {
        assert_eq!(site.server.get("/").text(), "main");
    }
    let mut copies = 0;
    eventually("each copy that was sent has come", || {
        copies += site.copies.try_iter().count() as u64;
        (site.counts() == [copies, 0, 0]).then_some(())
    });
    assert!((10..70).contains(&copies), "{copies}");
}
