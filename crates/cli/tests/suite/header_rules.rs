//! Rules about header fields of requests and responses, through a proxy.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread,
};

use crate::running::{Running, serow};

/// A server behind Serow that answers with the fields of the request, and some of its own.
fn upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let fields: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
            let body = fields.join("\n") + "\n";
            let status =
                if fields.first().is_some_and(|line| line.contains("/missing")) { "404 Not" } else { "200 OK" };
            let head = format!("HTTP/1.1 {status}\r\nServer: inner\r\nX-Given: inner\r\nConnection: close\r\n");
            let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    address
}

#[test]
fn requests_and_responses_are_changed_by_the_rules_of_site_and_route() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = upstream();
    let settings = format!(
        r#"listen = "127.0.0.1:0"
workers = 1

[[site]]
headers = {{ X-Site = "$host" }}
response-headers = [
  {{ remove = "Server" }},
  {{ set = "X-Given", value = "site", if-absent = true }},
  {{ set = "X-New", value = "site", if-absent = true }},
  {{ set = "Cache-Control", value = "no-store", status = ["4xx"] }},
]
request-headers = [{{ remove = "X-Secret" }}, {{ add = "X-Via", value = "site" }}]

[[site.route]]
path = "/users/*"
response-headers = {{ add = "X-New", value = "$1" }}
request-headers = [{{ set = "X-User", value = "$1" }}, {{ add = "X-Via", value = "$server_addr" }}]
proxy = {{ servers = "{upstream}" }}

[[site.route]]
path = "/*"
proxy = {{ servers = "{upstream}" }}
"#
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    let server = Running::of(command);

    let user = server.ask("/users/7%0D%0AX-Evil:%201", "X-Secret: s\r\nX-Via: client\r\nX-User: forged\r\n");
    assert_eq!(user.status(), 200);
    assert_eq!((user.field("server"), user.field("x-site")), (None, Some("localhost")));
    assert_eq!((user.field("x-given"), user.field("cache-control")), (Some("inner"), None));
    let new: Vec<_> = user.head.lines().filter(|line| line.to_lowercase().starts_with("x-new: ")).collect();
    assert_eq!(new, ["X-New: site", "X-New: 7X-Evil: 1"]);
    let sent = user.text().lines().filter(|line| line.to_lowercase().starts_with("x-") && !line.contains("orwarded"));
    let expected = ["X-Via: client", "X-Via: site", "X-User: 7X-Evil: 1", "X-Via: 127.0.0.1"];
    assert_eq!(sent.collect::<Vec<_>>(), expected);

    let missing = server.ask("/missing", "X-Secret: s\r\n");
    assert_eq!((missing.status(), missing.field("cache-control")), (404, Some("no-store")));
    assert!(!missing.text().contains("X-Secret") && missing.text().contains("X-Via: site"), "{}", missing.text());
}
