//! `$request_id`: the same in all that one request leads to, and another for each request.

use std::{
    collections::HashSet,
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread,
};

use crate::running::{Running, lines_of, serow};

/// A server that answers with the field that it received.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let fields: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
            let ids: Vec<_> = fields.iter().filter_map(|line| line.strip_prefix("X-Request-Id: ")).collect();
            let body = ids.join(",");
            let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n";
            let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    address
}

#[test]
fn a_request_has_one_id_in_headers_logs_and_at_the_upstream_and_the_client_does_not_choose_it() {
    let folder = tempfile::tempdir().unwrap();
    let (log, upstream) = (folder.path().join("access.log"), upstream());
    let settings = format!(
        r#"listen = "127.0.0.1:0"
workers = 1
access-log = {{ file = "access.log", format = "$request_id $http_x_request_id $uri" }}

[[map]]
from = "$http_x_request_id"
to = "id"
values = {{ "~^trusted-[0-9]+$" = "$http_x_request_id" }}
default = "$request_id"

[[site]]
headers = {{ X-Id = "$request_id", X-Mapped = "$id" }}

[[site.route]]
path = "/app"
request-headers = {{ set = "X-Request-Id", value = "$request_id" }}
proxy = {{ servers = "{upstream}" }}

[[site.route]]
path = "/text"
respond = {{ body = "$request_id" }}
"#
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    let server = Running::of(command);
    let mut seen = HashSet::new();
    let paths = ["/app", "/text", "/app", "/missing"];
    for (number, path) in paths.into_iter().enumerate() {
        let sent = if number == 0 { "trusted-7" } else { "mine" };
        let answer = server.ask(path, &format!("X-Request-Id: {sent}\r\n"));
        let id = answer.field("x-id").unwrap().to_owned();
        assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{path}: {id}");
        assert_eq!(answer.field("x-mapped"), Some(if number == 0 { sent } else { &id }), "{path}");
        if path != "/missing" {
            assert_eq!(answer.text(), id, "{path}");
        }
        assert_eq!(lines_of(&log, number + 1)[number], format!("{id} {sent} {path}"));
        assert!(seen.insert(id), "{path}");
    }
}
