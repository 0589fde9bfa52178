//! The bytes that a server sees for those that a client sends, and back: the cases of `tests/cases/heads.txt`.
//!
//! ```text
//! # A comment.
//! == RFC 9112 §3.2.2: what the case shows
//! @ host a.example          a setting: host, strip, add, forwarded, trust, underscores, request-header, response-header, buffer,
//!                           send-proxy
//! > GET / HTTP/1.1          what the client sends; CR LF is added, unless the line ends in a backslash; `\n` is LF
//! >> GET / HTTP/1.1         what the server gets of that; without such lines it is not asked
//! << HTTP/1.1 200 OK        what the server answers
//! < HTTP/1.1 200 OK         what the client gets
//! ```
//!
//! Ports are of the kernel's choosing: `SERVER`, `PROXY` and `CLIENT` stand for them. A `Date` that the proxy's server
//! adds is `now`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail")]

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::mpsc,
    thread,
    time::Duration,
};

use serow::{Method, Peer, ProxyProtocol, Request, Response, Server};
use serow_message::BodyLength;
use serow_proxy::{
    BufferSettings, FieldNames, ForwardedFields, ForwardingSettings, HostSetting, Network, ProxyHeader,
    UpstreamSettings,
};

use crate::support::{Origin, Proxied, multiplexed::Client, read_response, server};

#[derive(Default)]
struct Case {
    name: String,
    settings: Vec<String>,
    sent: String,
    seen: String,
    answered: String,
    got: String,
}

#[test]
fn heads_are_forwarded_as_in_the_case_file() {
    let failed: Vec<_> = cases().into_iter().filter(|case| std::panic::catch_unwind(|| case.run()).is_err()).collect();
    assert!(failed.is_empty(), "{} cases failed", failed.len());
}

#[test]
fn a_connection_with_a_proxy_header_is_for_one_client() {
    let expecting = Server::new().listen("127.0.0.1:0").proxy_protocol(ProxyProtocol::Required);
    let origin = Origin::with(expecting, |request: Request| async move {
        match request.connection().peer() {
            Peer::Tcp(address) => Response::text(address.to_string()),
            Peer::Unix => Response::text("unix"),
        }
    });
    for version in [ProxyHeader::Version1, ProxyHeader::Version2] {
        let mut settings = UpstreamSettings::new("test", vec![server(origin.address())]);
        settings.proxy_header = Some(version);
        let proxied = Proxied::with(settings, ForwardingSettings::default());
        let mut clients = [proxied.connect(), proxied.connect()];
        for turn in 0..4 {
            let client = &mut clients[turn % 2];
            client.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
            let response = read_response(client);
            let address = client.local_addr().unwrap().to_string();
            assert!(response.ends_with(&format!("\r\n\r\n{address}")), "{version:?}: {response}");
        }
    }
}

#[test]
fn a_client_of_http2_before_a_server_of_http1() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxied = Proxied::new(&[listener.local_addr().unwrap()]);
    let seen = "POST /a HTTP/1.1\r\nhost: localhost\r\npriority: u=5\r\ncontent-type: application/grpc\r\n\
                cookie: a=1; b=2\r\nx-forwarded-for: 127.0.0.1\r\nx-forwarded-proto: http\r\n\
                x-forwarded-host: localhost\r\nvia: 2.0 serow\r\nte: trailers\r\nconnection: te\r\n\
                content-length: 0\r\n\r\n";
    let answer = "HTTP/1.1 200 OK\r\nDate: then\r\nConnection: X-Inner\r\nX-Inner: 1\r\nKeep-Alive: timeout=5\r\n\
                  Priority: u=0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\ngrpc-status: 0\r\n\r\n";
    let server = serve(listener, seen.len(), answer.to_owned());
    let client = Client::connect(proxied.address());
    let fields =
        [("priority", "u=5"), ("content-type", "application/grpc"), ("te", "trailers"), ("cookie", "a=1; b=2")];
    let stream = client.begin(Method::POST, "/a", &fields, BodyLength::Known(0));
    let got = client.response(stream);
    assert_eq!(server.recv_timeout(TIMEOUT).unwrap_or_default(), seen);
    let fields: Vec<_> = got.headers.iter().map(|(name, value)| (text(name), text(value))).collect();
    assert_eq!(fields, [("date", "then"), ("priority", "u=0"), ("via", "1.1 serow")].map(|(a, b)| (text(a), text(b))));
    assert_eq!(got.trailers.unwrap().get_str("grpc-status"), Some("0"));
}

#[test]
fn a_websocket_of_http2_before_a_server_of_http1() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxied = Proxied::new(&[listener.local_addr().unwrap()]);
    let seen = "GET /chat HTTP/1.1\r\nhost: localhost\r\nsec-websocket-version: 13\r\n\
                sec-websocket-key: c2Vyb3cgb3ZlciBodHRwMg==\r\nx-forwarded-for: 127.0.0.1\r\n\
                x-forwarded-proto: http\r\nx-forwarded-host: localhost\r\nvia: 2.0 serow\r\nupgrade: websocket\r\n\
                connection: upgrade\r\n\r\n";
    let answer = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
                  Sec-WebSocket-Accept: x\r\nSec-WebSocket-Protocol: chat\r\n\r\nframes";
    let server = serve(listener, seen.len(), answer.to_owned());
    let client = Client::connect(proxied.address());
    let stream = client.websocket("/chat");
    let got = client.head(stream);
    assert_eq!(server.recv_timeout(TIMEOUT).unwrap_or_default(), seen);
    assert_eq!((got.status, got.headers.get_str("sec-websocket-protocol")), (200, Some("chat")));
    assert!(!got.headers.contains("upgrade") && !got.headers.contains("sec-websocket-accept"));
    assert_eq!(client.bytes(stream, 6).body, b"frames");
}

#[test]
fn a_client_of_http1_before_a_server_of_http2() {
    let origin = Origin::serve(|request: Request| async move {
        let lines = request.headers.iter().map(|(name, value)| [text(name), text(value)].join(": "));
        Response::text([request.target.to_string()].into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
    });
    let proxied = Proxied::multiplexing(origin.address());
    let mut client = proxied.connect();
    let sent = "POST http://b.example/a?b HTTP/1.1\r\nHost: a\r\nConnection: close, X-Mine\r\nX-Mine: 1\r\n\
                Keep-Alive: x\r\nTE: trailers\r\nContent-Length: 2\r\nCookie: a=1; b=2\r\n\r\nhi";
    client.write_all(sent.as_bytes()).unwrap();
    let got = read(&mut client, |_| false);
    let (head, body) = got.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("\r\nvia: 2.0 serow"), "{head}");
    let mut seen: Vec<_> = body.lines().collect();
    seen.sort_unstable();
    let mut expected = [
        "/a?b",
        "host: b.example",
        "te: trailers",
        "content-length: 2",
        "cookie: a=1; b=2",
        "x-forwarded-for: 127.0.0.1",
        "x-forwarded-proto: http",
        "x-forwarded-host: b.example",
        "via: 1.1 serow",
    ];
    expected.sort_unstable();
    assert_eq!(seen, expected);
}

fn text(bytes: impl AsRef<[u8]>) -> String {
    String::from_utf8(bytes.as_ref().to_vec()).unwrap()
}

impl Case {
    fn run(&self) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (upstream, forwarding) = self.settings(address);
        let proxied = Proxied::with(upstream, forwarding);
        let mut client = proxied.connect();
        client.set_read_timeout(Some(TIMEOUT)).unwrap();
        let ports = [
            ("SERVER", address.port()),
            ("PROXY", proxied.address().port()),
            ("CLIENT", client.local_addr().unwrap().port()),
        ];
        let seen = ports.iter().fold(self.seen.clone(), |text, (name, port)| {
            [":", " "]
                .into_iter()
                .fold(text, |text, before| text.replace(&format!("{before}{name}"), &format!("{before}{port}")))
        });
        let server = (!seen.is_empty()).then(|| serve(listener, seen.len(), self.answered.clone()));
        client.write_all(self.sent.as_bytes()).unwrap();
        if let Some(server) = server {
            let found = server.recv_timeout(2 * TIMEOUT).unwrap_or_default();
            assert_eq!(found, seen, "{}: what the server gets", self.name);
        }
        let got = read(&mut client, |text| without_date(text).len() >= self.got.len());
        assert_eq!(without_date(&got), self.got, "{}: what the client gets", self.name);
    }

    fn settings(&self, server_address: SocketAddr) -> (UpstreamSettings, ForwardingSettings) {
        let mut upstream = UpstreamSettings::new("test", vec![server(server_address)]);
        let mut forwarding = ForwardingSettings::default();
        forwarding.forwarded.fields = ForwardedFields::Off;
        for line in &self.settings {
            let (name, value) = line.split_once(' ').unwrap_or((line, ""));
            let field = || {
                let (name, value) = value.split_once(':').unwrap();
                (name.to_owned(), value.trim().to_owned())
            };
            match name {
                "host" if value == "server" => forwarding.host = HostSetting::Server,
                "host" => forwarding.host = HostSetting::Fixed(value.to_owned()),
                "strip" => forwarding.strip_prefix = Some(value.to_owned()),
                "add" => forwarding.add_prefix = Some(value.to_owned()),
                "forwarded" => {
                    forwarding.forwarded.fields = match value {
                        "x" => ForwardedFields::X,
                        "both" => ForwardedFields::Both,
                        _ => panic!("{line}"),
                    }
                }
                "trust" => forwarding.forwarded.trusted = [value.parse::<Network>().unwrap()].into_iter().collect(),
                "request-header" => forwarding.request_headers.push(field()),
                "response-header" => forwarding.response_headers.push(field()),
                "underscores" => forwarding.field_names = FieldNames::Any,
                "buffer" => forwarding.buffering = Some(BufferSettings::default()),
                "send-proxy" if value == "v1" => upstream.proxy_header = Some(ProxyHeader::Version1),
                _ => panic!("{}: {line}", self.name),
            }
        }
        (upstream, forwarding)
    }
}

/// Accepts one connection and responds after this many bytes; returns the received bytes.
fn serve(listener: TcpListener, expected: usize, answer: String) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        connection.set_read_timeout(Some(TIMEOUT)).unwrap();
        let seen = read(&mut connection, |text| text.len() >= expected);
        // Errors do not matter here: the test compares the received bytes.
        let _ = connection.write_all(answer.as_bytes());
        let _ = sender.send(seen);
    });
    receiver
}

/// Reads until it is enough, or nothing more comes.
fn read(connection: &mut TcpStream, is_enough: impl Fn(&str) -> bool) -> String {
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while !is_enough(&text) {
        match connection.read(&mut piece) {
            Ok(length @ 1..) => text.push_str(str::from_utf8(&piece[..length]).unwrap()),
            _ => break,
        }
    }
    text
}

/// The server in front writes its `Date` in capitals.
fn without_date(text: &str) -> String {
    let is_added = |line: &&str| line.starts_with("Date: ") && line.ends_with(" GMT\r\n");
    text.split_inclusive('\n').map(|line| if is_added(&line) { "Date: now\r\n" } else { line }).collect()
}

fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/heads.txt");
    let mut cases: Vec<Case> = Vec::new();
    for line in fs::read_to_string(path).unwrap().lines() {
        let (mark, rest) = line.split_once(' ').unwrap_or((line, ""));
        if mark == "==" {
            cases.push(Case { name: rest.to_owned(), ..Case::default() });
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        match mark {
            ">" => add(rest, &mut case.sent),
            ">>" => add(rest, &mut case.seen),
            "<<" => add(rest, &mut case.answered),
            "<" => add(rest, &mut case.got),
            "@" => case.settings.push(rest.to_owned()),
            "" | "#" => {}
            _ => panic!("{line}"),
        }
    }
    assert!(cases.len() > 20, "{} cases", cases.len());
    cases
}

fn add(line: &str, text: &mut String) {
    let line = line.replace("\\n", "\n");
    match line.strip_suffix('\\') {
        Some(line) => text.push_str(line),
        None => text.extend([&line, "\r\n"]),
    }
}

const TIMEOUT: Duration = Duration::from_secs(5);
