//! Bodies of requests: how long they may be, and how much disk they may take.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use crate::running::{Running, serow};
use serow_requirements::requires;
use tempfile::TempDir;

/// Its answer is the length of the body.
const PERL: &str = "sub { local $/; my $body = $_[0]{'psgi.input'}->getline // ''; [200, [], [length $body]] }\n";

/// An application whose server has these options.
fn application(options: &[&str]) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.psgi"), PERL).unwrap();
    let mut command = serow(["app"]);
    command.arg(folder.path().join("app.psgi")).args(["--listen", "127.0.0.1:0", "--workers", "1"]).args(options);
    (Running::of(command), folder)
}

fn answer(mut connection: TcpStream) -> String {
    let mut text = String::new();
    let _ = connection.read_to_string(&mut text);
    text
}

/// Sends a body in pieces, of which the server may take as many as it likes.
fn post(server: &Running, fields: &str, piece: &[u8], count: usize) -> String {
    let mut connection = server.connect();
    let head = format!("POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n\r\n");
    connection.write_all(head.as_bytes()).unwrap();
    let sent = (0..count).all(|_| connection.write_all(piece).is_ok());
    if sent && fields.contains("chunked") {
        let _ = connection.write_all(b"0\r\n\r\n");
    }
    answer(connection)
}

#[test]
fn a_body_of_more_than_10_mib_is_refused_by_default_with_the_limit_and_the_log_names_the_option() {
    requires!("program:perl");
    let (server, _folder) = application(&[]);
    let refused = post(&server, "Content-Length: 10485761", b"", 0);
    assert!(refused.starts_with("HTTP/1.1 413 "), "{refused}");
    assert!(
        refused
            .ends_with("\r\n\r\n413 Payload Too Large: the body of a request may have at most 10485760 bytes here\n"),
        "{refused}"
    );
    let line = server.line_with("413");
    assert!(line.contains("10485760") && line.contains("--max-body"), "{line}");
    let chunk = [b"100000\r\n".as_slice(), &[b'x'; 1 << 20], b"\r\n"].concat();
    let refused = post(&server, "Transfer-Encoding: chunked", &chunk, 11);
    assert!(refused.starts_with("HTTP/1.1 413 "), "{refused}");
    let taken = post(&server, "Transfer-Encoding: chunked", &chunk, 10);
    assert!(taken.ends_with("\r\n\r\n10485760"), "{taken}");
}

#[test]
fn max_body_unlimited_takes_longer_ones_and_0_takes_none() {
    requires!("program:perl");
    let (server, _folder) = application(&["--max-body", "unlimited"]);
    let taken = post(&server, "Content-Length: 12582912", &[b'x'; 1 << 20], 12);
    assert!(taken.ends_with("\r\n\r\n12582912"), "{taken}");
    let (server, _folder) = application(&["--max-body", "0"]);
    assert!(post(&server, "Content-Length: 1", b"x", 1).starts_with("HTTP/1.1 413 "));
    assert!(post(&server, "Content-Length: 0", b"", 0).starts_with("HTTP/1.1 200 "));
}

/// While one client's body takes most of the space, another's is refused; when that has left, it is taken.
fn space_is_shared(server: &Running) {
    // The other one may be quicker; then both begin again.
    let mut slow = crate::running::eventually("the other one is refused", || {
        let mut slow = server.connect();
        slow.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 250000\r\n\r\n").unwrap();
        slow.write_all(&[b'x'; 249_999]).unwrap();
        let text = post(server, "Content-Length: 200000", &[b'x'; 200_000], 1);
        text.starts_with("HTTP/1.1 503 ").then_some(slow)
    });
    let line = server.line_with("--max-spool");
    assert!(line.contains(" 300000 bytes") || line.contains(" 307200 bytes"), "{line}");
    slow.write_all(b"x").unwrap();
    assert!(answer(slow).ends_with("\r\n\r\n250000"));
    let taken = crate::running::eventually("the space is free again", || {
        let text = post(server, "Content-Length: 200000", &[b'x'; 200_000], 1);
        text.starts_with("HTTP/1.1 200 ").then_some(text)
    });
    assert!(taken.ends_with("\r\n\r\n200000"), "{taken}");
}

#[test]
fn bodies_that_would_take_more_disk_together_than_max_spool_are_refused_with_503() {
    requires!("program:perl");
    space_is_shared(&application(&["--max-spool", "300k"]).0);
}

#[test]
fn max_spool_of_a_settings_file_is_for_all_of_its_applications_together() {
    requires!("program:perl");
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("app.psgi"), PERL).unwrap();
    let text = "listen = \"127.0.0.1:0\"\nworkers = 1\nmax-spool = 300000\n\
        [[site]]\n[[site.route]]\npath = \"/other\"\napp = { application = \"app.psgi\" }\n[[site.route]]\npath = \"/*\"\napp = { application = \"app.psgi\" }\n";
    fs::write(folder.path().join("serow.toml"), text).unwrap();
    let mut command = serow(["run", "-c"]);
    command.arg(folder.path().join("serow.toml"));
    space_is_shared(&Running::of(command));
}

/// The example of docs/apps.md, but for its address and certificate.
#[test]
fn the_settings_of_docs_apps_serve_static_files_and_the_application() {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/apps.md")).unwrap();
    let example = page.split("```toml\n").find(|part| part.contains("[[site.route]]")).unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let lines = example.lines().filter(|line| !line.starts_with("tls = ") && !line.starts_with("listen = "));
    let text = format!("listen = \"127.0.0.1:0\"\nworkers = 1\n{}\n", lines.collect::<Vec<_>>().join("\n"));
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("public/assets")).unwrap();
    fs::write(folder.path().join("public/assets/a.css"), "body {}").unwrap();
    fs::write(folder.path().join("config.ru"), "run ->(env) { [200, {}, [env['PATH_INFO']]] }\n").unwrap();
    fs::write(folder.path().join("serow.toml"), &text).unwrap();
    let mut command = serow(["run", "-c"]);
    command.arg(folder.path().join("serow.toml"));
    let server = Running::of(command);
    let get = |path: &str| {
        let mut connection = server.connect();
        let head = format!("GET {path} HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n");
        connection.write_all(head.as_bytes()).unwrap();
        answer(connection)
    };
    assert!(get("/assets/a.css").ends_with("\r\n\r\nbody {}"), "{}", get("/assets/a.css"));
    assert!(get("/page").ends_with("\r\n\r\n/page"), "{}", get("/page"));
}
