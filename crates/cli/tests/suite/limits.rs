//! Limits of sites and routes: how long the bodies of requests may be, and how long they may take.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serow_requirements::requires;
use tempfile::TempDir;

use crate::running::{Answer, Running, lines_of, received, serow};

/// A server behind Serow that answers each connection once, with the length of the body.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || answer(&stream.unwrap()));
        }
    });
    address
}

fn answer(mut stream: &TcpStream) {
    let mut reader = BufReader::new(stream);
    let (mut length, mut is_chunked) = (0, false);
    loop {
        let mut line = String::new();
        if !matches!(reader.read_line(&mut line), Ok(1..)) {
            return;
        }
        let line = line.to_lowercase();
        match line.trim_end().split_once(": ") {
            Some(("content-length", text)) => length = text.parse().unwrap(),
            Some(("transfer-encoding", _)) => is_chunked = true,
            _ if line == "\r\n" => break,
            _ => {}
        }
    }
    let mut received = Vec::new();
    while is_chunked && !received.ends_with(b"0\r\n\r\n") {
        if !matches!(reader.read_until(b'\n', &mut received), Ok(1..)) {
            return;
        }
    }
    if !is_chunked && reader.take(length).read_to_end(&mut received).ok() != Some(length as usize) {
        return;
    }
    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ntaken");
}

/// Serow with routes of several limits, and the folder in which it runs.
fn start(root: &str) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    for name in ["public", "share"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    fs::write(folder.path().join("large.html"), "<h1>Too large</h1>").unwrap();
    let upstream = upstream();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 1\n{root}\n[[site]]\nmax-body = \"1k\"\n\
         error-pages = {{ 413 = \"large.html\" }}\nresponse-headers = [{{ set = \"X-Rule\", value = \"1\", status = 413 }}]\n\
         [[site.route]]\npath = \"/large\"\nmax-body = \"20M\"\nproxy = {{ servers = \"{upstream}\" }}\n\
         [[site.route]]\npath = \"/none\"\nmax-body = 0\nproxy = {{ servers = \"{upstream}\" }}\n\
         [[site.route]]\npath = \"/share/*\"\nfiles = {{ root = \".\", write = \"put\" }}\n\
         [[site.route]]\npath = \"/*\"\nproxy = {{ servers = \"{upstream}\" }}\n\
         [[site]]\nhosts = \"b.example\"\nfiles = {{ root = \"share\", write = \"put\" }}\n"
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), folder)
}

/// Sends a body, of which the server may take as much as it likes.
fn send(server: &Running, method: &str, path: &str, host: &str, fields: &str, body: &[u8]) -> Answer {
    let mut connection = server.connect();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}\r\n\r\n");
    connection.write_all(head.as_bytes()).unwrap();
    let _ = connection.write_all(body);
    received(connection)
}

fn with_length(server: &Running, path: &str, length: usize) -> u16 {
    send(server, "POST", path, "a", &format!("Content-Length: {length}"), &vec![b'x'; length]).status()
}

fn in_chunks(server: &Running, path: &str, length: usize) -> Answer {
    let pieces = vec![b'x'; length];
    let mut body = Vec::new();
    for piece in pieces.chunks(500) {
        body.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        body.extend_from_slice(piece);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"0\r\n\r\n");
    send(server, "POST", path, "a", "Transfer-Encoding: chunked", &body)
}

#[test]
fn bodies_longer_than_their_route_takes_are_refused_with_413_whether_the_length_is_known_or_not() {
    let (server, _folder) = start("");
    for (path, length, status) in [
        ("/", 1024, 200),
        ("/", 1025, 413),
        ("/large", 12 << 20, 200),
        ("/none", 0, 200),
        ("/none", 1, 413),
        ("/nowhere/at/all", 2000, 413),
    ] {
        assert_eq!(with_length(&server, path, length), status, "{path} {length}");
        assert_eq!(in_chunks(&server, path, length).status(), status, "{path} {length} in chunks");
    }
    assert_eq!(with_length(&server, "/large", (20 << 20) + 1), 413);
}

#[test]
fn a_refusal_has_the_page_and_the_fields_of_its_site_and_the_log_names_the_limit() {
    let (server, _folder) = start("");
    let refused = send(&server, "POST", "/page?token=secret", "a", "Content-Length: 5000", b"");
    assert_eq!((refused.status(), refused.text()), (413, "<h1>Too large</h1>"), "{}", refused.head);
    assert_eq!(refused.field("x-rule"), Some("1"));
    let line = server.line_with("refused with 413");
    assert!(line.contains("POST /page: refused with 413") && line.contains("1024 bytes; max-body"), "{line}");
    let refused = in_chunks(&server, "/page", 5000);
    assert_eq!((refused.status(), refused.text(), refused.field("x-rule")), (413, "<h1>Too large</h1>", Some("1")));
    assert!(server.line_with("refused with 413").contains("1024 bytes"));
}

#[test]
fn nothing_is_received_of_a_body_that_is_too_long() {
    let (server, _folder) = start("");
    let mut connection = server.connect();
    let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n";
    connection.write_all(head.as_bytes()).unwrap();
    let refused = received(connection);
    assert_eq!((refused.status(), refused.field("connection")), (413, Some("close")), "{}", refused.head);
}

#[test]
fn uploads_to_folders_are_limited_only_where_the_settings_say_so() {
    let (server, folder) = start("");
    let put = |server: &Running, path: &str, host: &str, length: usize| {
        let fields = format!("Content-Length: {length}");
        send(server, "PUT", path, host, &fields, &vec![b'x'; length]).status()
    };
    assert_eq!(put(&server, "/upload", "b.example", 11 << 20), 201);
    assert_eq!(fs::metadata(folder.path().join("share/upload")).unwrap().len(), 11 << 20);
    assert_eq!(put(&server, "/share/small", "a", 1000), 201);
    assert_eq!(put(&server, "/share/other", "a", 2000), 413);
    assert!(!folder.path().join("share/other").exists());
    let (server, folder) = start("max-body = \"2k\"");
    assert_eq!(put(&server, "/upload", "b.example", 3000), 413);
    assert_eq!(put(&server, "/upload", "b.example", 2000), 201);
    assert!(folder.path().join("share/upload").exists());
}

#[test]
fn serow_files_takes_uploads_of_any_size_unless_max_body_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let put = |options: &[&str]| {
        let server = Running::start(folder.path(), options);
        send(&server, "PUT", "/upload", "a", "Content-Length: 12582912", &vec![b'x'; 12 << 20]).status()
    };
    assert_eq!(put(&["--write", "put"]), 201);
    assert_eq!(put(&["--write", "put", "--max-body", "10M"]), 413);
}

#[test]
fn bodies_over_http_2_have_the_same_limits() {
    requires!("program:curl");
    let (server, folder) = start("");
    for length in [1024, 1025] {
        fs::write(folder.path().join(length.to_string()), vec![b'x'; length]).unwrap();
    }
    for (options, expected) in [
        (&["--data-binary", "@1024"][..], "200"),
        (&["--data-binary", "@1025"], "413"),
        // Without Content-Length.
        (&["-T", "-", "-X", "POST"], "413"),
    ] {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--http2-prior-knowledge", "-o", "body", "-w", "%{http_code}"]).args(options);
        curl.arg(format!("http://{}/", server.address())).current_dir(folder.path());
        curl.stdin(fs::File::open(folder.path().join("1025")).unwrap());
        let output = curl.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{options:?} {output:?}");
        if expected == "413" {
            assert_eq!(fs::read_to_string(folder.path().join("body")).unwrap(), "<h1>Too large</h1>");
        }
    }
}

#[test]
fn applications_are_protected_as_well_and_the_refusal_is_not_theirs() {
    requires!("program:perl");
    let folder = tempfile::tempdir().unwrap();
    let application = "sub { local $/; my $body = $_[0]{'psgi.input'}->getline // ''; [200, [], [length $body]] }\n";
    fs::write(folder.path().join("app.psgi"), application).unwrap();
    let settings = "listen = \"127.0.0.1:0\"\nworkers = 1\n[[site]]\n[[site.route]]\npath = \"/large\"\n\
                    app = { application = \"app.psgi\" }\n[[site.route]]\npath = \"/*\"\nmax-body = 2000\n\
                    app = { application = \"app.psgi\" }\n";
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    let server = Running::of(command);
    assert!(in_chunks(&server, "/", 2000).text().contains("2000"));
    assert!(in_chunks(&server, "/large", 20_000).text().contains("20000"));
    // The application itself would see a request that is broken off.
    let refused = in_chunks(&server, "/", 2001);
    assert_eq!((refused.status(), refused.text()), (413, "413 Payload Too Large: The request is too large.\n"));
    assert_eq!(with_length(&server, "/", 2001), 413);
}

/// Serow with two routes: one that waits shorter for bodies than the root, and one that waits longer.
fn patient_and_impatient() -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let upstream = upstream();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 1\nbody-timeout = \"1s\"\n[[site]]\n\
         [[site.route]]\npath = \"/short\"\nbody-timeout = \"100ms\"\nproxy = {{ servers = \"{upstream}\" }}\n\
         [[site.route]]\npath = \"/usual\"\nproxy = {{ servers = \"{upstream}\" }}\n\
         [[site.route]]\npath = \"/long\"\nbody-timeout = \"1m\"\nproxy = {{ servers = \"{upstream}\" }}\n"
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), folder)
}

/// A connection on which a request has begun whose body is not complete.
fn begin(server: &Running, path: &str) -> TcpStream {
    let mut connection = server.connect();
    let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\nx");
    connection.write_all(head.as_bytes()).unwrap();
    connection
}

#[test]
fn a_route_waits_for_bodies_as_long_as_its_body_timeout_says() {
    let (server, _folder) = patient_and_impatient();
    let [mut slow, usual] = ["/long", "/usual"].map(|path| begin(&server, path));
    let start = Instant::now();
    let refused = received(begin(&server, "/short"));
    assert_eq!(refused.status(), 408);
    assert!(
        (Duration::from_millis(100)..Duration::from_millis(900)).contains(&start.elapsed()),
        "{:?}",
        start.elapsed()
    );
    // Longer than the root allows.
    assert_eq!(received(usual).status(), 408);
    slow.write_all(b"x").unwrap();
    assert_eq!(received(slow).status(), 200);
}

#[test]
fn the_body_timeout_of_a_route_holds_over_http_2() {
    requires!("program:curl");
    let (server, _folder) = patient_and_impatient();
    for (path, expected) in [("/short", "408"), ("/long", "200")] {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_code}", "-T", ".", "-X", "POST"]);
        curl.arg(format!("http://{}{path}", server.address()));
        let mut curl = curl.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = curl.stdin.take();
        input.as_mut().unwrap().write_all(b"x").unwrap();
        if expected == "200" {
            // Longer than the root allows.
            assert_eq!(received(begin(&server, "/usual")).status(), 408);
            input.take();
        }
        let output = curl.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{path} {output:?}");
    }
}

#[test]
fn connections_that_are_all_in_use_are_a_warning() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let server =
        Running::of(serow(["proxy", "--listen", "127.0.0.1:0", "--max-connections", "1", &address.to_string()]));
    let mut busy = server.connect();
    busy.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let _request = silent.accept().unwrap();
    let _waiting = server.connect();
    server.line_with("requests use all 1 connections: new ones wait until one is free");
}

#[test]
fn a_body_beyond_the_default_limit_is_logged_with_its_request_and_in_the_log_of_its_site() {
    let folder = tempfile::tempdir().unwrap();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 1\n[[site]]\nhosts = \"a\"\naccess-log = \"a.log\"\n\
         proxy = {{ servers = \"{}\" }}\n",
        upstream()
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    let server = Running::of(command);
    let fields = "User-Agent: curious\r\nContent-Length: 11000000";
    assert_eq!(send(&server, "POST", "/up?token=secret", "a", fields, b"").status(), 413);
    let warning = server.line_with("413");
    assert!(warning.contains("POST /up: refused with 413, since its body is longer than 10485760"), "{warning}");
    assert!(warning.contains("peer=127.0.0.1:"), "{warning}");
    let line = &lines_of(&folder.path().join("a.log"), 1)[0];
    assert!(line.contains("\"POST /up?token=secret HTTP/1.1\" 413 ") && line.contains("\"curious\""), "{line}");
}
