//! Health checks of real servers: their results and effects.

use std::{
    fs,
    future::poll_fn,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    os::unix::net::UnixListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::support::{Origin, until};
use bytes::Bytes;
use serow::{Headers, Incoming, ProxyProtocol, Request, Response, Server, StatusCode, TlsSettings};
use serow_client::{TlsClientSettings, TlsConnector, Trust};
use serow_files::Files;
use serow_ports::refusing_address;
use serow_proxy::{
    BackgroundTasks, CheckKind, CheckSettings, CheckStart, HttpCheck, ProxyHeader, ServerReport, ServerSettings,
    ServerState, Upstream, UpstreamSettings,
};
use serow_tls::Protocol;

/// Checks that come quickly, of which one decides. A busy machine may take its time to answer.
fn quick(kind: CheckKind) -> CheckSettings {
    let (interval, timeout) = (Duration::from_millis(20), Duration::from_secs(5));
    CheckSettings { interval, timeout, rise: 1, fall: 1, start: CheckStart::Down, ..CheckSettings::new(kind) }
}

fn http(check: HttpCheck) -> CheckKind {
    CheckKind::Http(check)
}

/// An upstream of one server, which is checked like that.
fn upstream(address: &str, check: CheckSettings) -> Upstream {
    let mut settings = UpstreamSettings::new("app", vec![ServerSettings::new(address.parse().unwrap())]);
    settings.check = Some(check);
    let protocols = vec![Protocol::Http2, Protocol::Http1];
    let tls = TlsClientSettings { trust: Trust::Unchecked, protocols, ..TlsClientSettings::default() };
    settings.encryption = Some(TlsConnector::new(tls).unwrap());
    Upstream::new(settings)
}

fn report(upstream: &Upstream) -> ServerReport {
    upstream.report().servers.remove(0)
}

/// The result of a server's first check: `None` if it passed.
fn verdict(address: &str, check: CheckSettings) -> Option<String> {
    let upstream = upstream(address, check);
    let background_tasks = BackgroundTasks::start(vec![upstream.clone()]).unwrap();
    until(|| report(&upstream).state != ServerState::Starting);
    drop(background_tasks);
    let report = report(&upstream);
    assert_eq!(report.state == ServerState::Down, report.last_failure.is_some(), "{report:?}");
    report.last_failure
}

/// A server that reads a little of each connection and sends this; if it is empty, it stays silent.
fn scripted(answer: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut silent = Vec::new();
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            if answer.is_empty() {
                silent.push(connection);
                continue;
            }
            let _ = connection.read(&mut [0; 1024]);
            let _ = connection.write_all(answer);
        }
    });
    address
}

#[test]
fn a_missing_file_takes_the_server_out_of_rotation() {
    let folder = tempfile::tempdir().unwrap();
    let (live, away) = (folder.path().join("live.html"), folder.path().join("away.html"));
    fs::write(&live, "alive").unwrap();
    let origin = Origin::serve(Files::new(folder.path()).unwrap());
    let check = http(HttpCheck { path: "/live.html".to_owned(), ..HttpCheck::default() });
    let settings = CheckSettings { rise: 2, fall: 3, start: CheckStart::Up, ..quick(check) };
    let upstream = upstream(&origin.address().to_string(), settings);
    let _background_tasks = BackgroundTasks::start(vec![upstream.clone()]).unwrap();
    until(|| report(&upstream).check.unwrap().rise >= 2);
    for _ in 0..2 {
        fs::rename(&live, &away).unwrap();
        until(|| report(&upstream).state == ServerState::Down);
        let found = report(&upstream);
        let check = found.check.unwrap();
        assert_eq!(found.last_failure.as_deref(), Some("status 404 instead of 200 to 399"));
        assert!(!check.up && check.fall >= 3 && check.rise == 0, "{check:?}");
        fs::rename(&away, &live).unwrap();
        until(|| report(&upstream).state == ServerState::Up);
        let check = report(&upstream).check.unwrap();
        assert!(check.up && check.rise >= 2 && check.fall == 0, "{check:?}");
    }
}

#[test]
fn servers_that_are_none() {
    let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nalive";
    let cases = [
        (refusing_address(), CheckKind::Tcp, Some("Connection refused")),
        (refusing_address(), http(HttpCheck::default()), Some("Connection refused")),
        (scripted(b""), CheckKind::Tcp, None),
        (scripted(b""), http(HttpCheck::default()), Some("no response within 300ms")),
        (scripted(b""), CheckKind::Grpc(String::new()), Some("no response within 300ms")),
        (scripted(b"HTTP/1.1 500 Oh\r\n\r\n"), http(HttpCheck::default()), Some("status 500 instead of 200 to 399")),
        (scripted(b"HTTP/1.1 200 OK\r\n"), http(HttpCheck::default()), Some("the server closed the connection")),
        (scripted(b"\xff\xff\xff garbage\r\n\r\n"), http(HttpCheck::default()), Some("violates HTTP/1.1")),
        (scripted(b"SSH-2.0-OpenSSH_9\r\n"), CheckKind::Grpc(String::new()), Some("violates HTTP/2")),
        (scripted(ok), http(HttpCheck::default()), None),
        (scripted(b"HTTP/1.0 200 OK\r\n\r\nalive"), http(HttpCheck::default()), None),
        (scripted(b"HTTP/1.1 103 Wait\r\n\r\nHTTP/1.1 204 No\r\n\r\n"), http(HttpCheck::default()), None),
    ];
    for (number, (address, kind, expected)) in cases.into_iter().enumerate() {
        let mut check = quick(kind);
        if expected.is_some_and(|text| text.contains("300ms")) {
            check.timeout = Duration::from_millis(300);
        }
        let found = verdict(&address.to_string(), check);
        match expected {
            None => assert_eq!(found, None, "case {number}"),
            Some(text) => {
                assert!(found.as_ref().is_some_and(|found| found.contains(text)), "case {number}: {found:?}");
            }
        }
    }
}

/// Answers 200 only to certain requests.
async fn picky(request: Request) -> Response {
    let text = |name| request.headers.get_str(name).unwrap_or_default();
    match (request.method.as_str(), request.target.as_str()) {
        ("GET", "/host") => Response::text(text("host").to_owned()),
        ("GET", "/agent") => Response::text(text("user-agent").to_owned()),
        ("HEAD", "/head") => Response::text("none of this is sent").with("x-state", "well"),
        // As much as is looked at, and more than HTTP/2 lets through at first.
        ("GET", "/long") => Response::text("a".repeat(64 * 1024 - 4) + "well" + &"a".repeat(100_000)),
        ("GET", "/state") => Response::text("all is well").with("x-state", "well"),
        _ => Response::plain_status(StatusCode::NOT_FOUND),
    }
}

/// The same question to the same server, over both versions of HTTP, in the clear and encrypted.
#[test]
fn http_checks_compare_status_header_and_body() {
    let clear = Origin::serve(picky);
    let encrypted =
        Origin::with(Server::new().listen_tls("127.0.0.1:0").tls(TlsSettings::self_signed().unwrap()), picky);
    let (clear, encrypted) = (clear.address(), encrypted.address());
    let ask = |path: &str| HttpCheck { path: path.to_owned(), ..HttpCheck::default() };
    let written = |text: &str| HttpCheck { send: Some(text.to_owned()), ..HttpCheck::default() };
    let with_body = |check, body: &str| HttpCheck { body: Some(body.to_owned()), ..check };
    let with_header = |check, value: &str| HttpCheck { header: Some(("X-State".into(), Some(value.into()))), ..check };
    let cases = [
        (ask("/state"), None),
        (ask("/nothing"), Some("status 404 instead of 200 to 399")),
        (HttpCheck { expect: vec![404..=404], ..ask("/nothing") }, None),
        (with_body(ask("/state"), "well"), None),
        (with_body(ask("/long"), "well"), None),
        (with_body(ask("/long"), "wella"), Some("the body does not contain \"wella\"")),
        (with_body(ask("/state"), "bad"), Some("the body does not contain \"bad\"")),
        (with_header(ask("/state"), "well"), None),
        (with_header(ask("/state"), "bad"), Some("the response lacks the header field X-State: bad")),
        (with_body(ask("/agent"), "serow-check"), None),
        (with_body(HttpCheck { host: Some("a.example".to_owned()), ..ask("/host") }, "a.example"), None),
        (with_body(ask("/host"), "127.0.0.1:"), None),
        (ask("no path"), Some("the request of the check is invalid")),
        (with_header(written("HEAD /head HTTP/1.1\r\nhost: a\r\n\r\n"), "well"), None),
        (with_body(written("HEAD /head HTTP/1.1\r\nhost: a\r\n\r\n"), "none"), Some("the body does not contain")),
        (with_body(written("GET /state HTTP/1.0\r\n\r\n"), "well"), None),
    ];
    for (check, expected) in cases {
        for server in [format!("{clear}"), format!("h2c://{clear}"), format!("https://{encrypted}")] {
            let found = verdict(&server, quick(http(check.clone())));
            match expected {
                None => assert_eq!(found, None, "{server} {check:?}"),
                Some(text) => {
                    assert!(found.as_ref().is_some_and(|found| found.contains(text)), "{server} {check:?}: {found:?}");
                }
            }
        }
    }
    assert_eq!(verdict(&format!("https://{encrypted}"), quick(CheckKind::Tcp)), None);
    // Servers without TLS are detected.
    assert!(verdict(&format!("https://{clear}"), quick(CheckKind::Tcp)).is_some());
}

#[test]
fn another_port_and_unix_sockets() {
    let origin = Origin::serve(picky);
    let check = http(HttpCheck { path: "/state".to_owned(), ..HttpCheck::default() });
    let elsewhere = CheckSettings { port: Some(origin.address().port()), ..quick(check.clone()) };
    assert_eq!(verdict(&refusing_address().to_string(), elsewhere.clone()), None);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = connection.read(&mut [0; 1024]);
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        }
    });
    // A unix socket has no port, so the other port is not used.
    assert_eq!(verdict(&format!("unix:{}", path.display()), CheckSettings { port: Some(1), ..elsewhere }), None);
}

/// Servers that want a PROXY header get one for checks, too.
#[test]
fn checks_begin_with_a_header_where_requests_do() {
    let listener = || Server::new().listen("127.0.0.1:0").proxy_protocol(ProxyProtocol::Required);
    let origin = Origin::with(listener(), picky);
    let check = http(HttpCheck { path: "/state".to_owned(), ..HttpCheck::default() });
    for (header, expected) in [
        (Some(ProxyHeader::Version1), ServerState::Up),
        (Some(ProxyHeader::Version2), ServerState::Up),
        (None, ServerState::Down),
    ] {
        let server = ServerSettings::new(origin.address().to_string().parse().unwrap());
        let mut settings = UpstreamSettings::new("app", vec![server]);
        settings.check = Some(quick(check.clone()));
        settings.proxy_header = header;
        let upstream = Upstream::new(settings);
        let _background_tasks = BackgroundTasks::start(vec![upstream.clone()]).unwrap();
        until(|| report(&upstream).state != ServerState::Starting);
        assert_eq!(report(&upstream).state, expected, "{header:?}");
    }
}

/// A server of `grpc.health.v1`: the name of each service is its status.
async fn grpc(request: Request) -> Response {
    assert_eq!(request.target.as_str(), "/grpc.health.v1.Health/Check");
    assert_eq!(request.headers.get_str("content-type"), Some("application/grpc"));
    assert_eq!(request.headers.get_str("te"), Some("trailers"));
    let question = request.body.collect(1024).await.unwrap();
    let service = question.get(7..).unwrap_or_default().escape_ascii().to_string();
    let response = Response::new(StatusCode::OK).with("content-type", "application/grpc");
    if service == "strange" {
        return response.with("grpc-status", "5");
    }
    let (sender, incoming) = Incoming::channel(None);
    let status = if service == "ill" { 2 } else { 1 };
    let mut trailers = Headers::new();
    trailers.append("grpc-status", if service == "broken" { "13" } else { "0" }).unwrap();
    tokio::task::spawn_local(async move {
        poll_fn(|context| sender.poll_wanted(context).map(|_| sender.push(answer(status), context))).await;
        poll_fn(|context| sender.poll_wanted(context)).await;
        sender.finish(Some(trailers));
    });
    response.body(incoming)
}

fn answer(status: u8) -> Bytes {
    Bytes::from(vec![0, 0, 0, 0, 2, 8, status])
}

#[test]
fn grpc_checks_report_the_service_status() {
    let clear = Origin::serve(grpc);
    let encrypted =
        Origin::with(Server::new().listen_tls("127.0.0.1:0").tls(TlsSettings::self_signed().unwrap()), grpc);
    let cases = [
        ("", None),
        ("well", None),
        ("ill", Some("health NOT_SERVING instead of SERVING")),
        ("broken", Some("grpc-status 13")),
        ("strange", Some("the server does not know the service (grpc-status 5)")),
    ];
    for (service, expected) in cases {
        for server in [format!("h2c://{}", clear.address()), format!("https://{}", encrypted.address())] {
            let found = verdict(&server, quick(CheckKind::Grpc(service.to_owned())));
            assert_eq!(found.as_deref(), expected, "{server} {service}");
        }
    }
    let other = Origin::serve(picky);
    let found = verdict(&format!("h2c://{}", other.address()), quick(CheckKind::Grpc(String::new())));
    assert_eq!(found.as_deref(), Some("status 404 instead of 200"));
}

#[test]
fn one_check_at_a_time_and_each_in_its_time() {
    let (now, most, all) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let counts = Arc::new((now, most, all));
    let counted = Arc::clone(&counts);
    let origin = Origin::serve(move |_: Request| {
        let counts = Arc::clone(&counted);
        async move {
            let (now, most, all) = &*counts;
            all.fetch_add(1, Ordering::Relaxed);
            most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_millis(100)).await;
            now.fetch_sub(1, Ordering::Relaxed);
            Response::text("late")
        }
    });
    let settings = quick(http(HttpCheck::default()));
    let upstream = upstream(&origin.address().to_string(), settings);
    let began = Instant::now();
    let background_tasks = BackgroundTasks::start(vec![upstream.clone()]).unwrap();
    until(|| report(&upstream).check.unwrap().rise >= 5);
    // Each takes five intervals.
    assert!(began.elapsed() >= Duration::from_millis(500), "{:?}", began.elapsed());
    assert_eq!(counts.1.load(Ordering::Relaxed), 1);
    drop(background_tasks);
    // The last one may be on its way yet. Meanwhile, another server is checked as often.
    let other = Origin::serve(|_: Request| async { Response::text("soon") });
    let other = self::upstream(&other.address().to_string(), quick(http(HttpCheck::default())));
    let _background_tasks = BackgroundTasks::start(vec![other.clone()]).unwrap();
    until(|| report(&other).check.unwrap().rise >= 10);
    let checks = counts.2.load(Ordering::Relaxed);
    until(|| report(&other).check.unwrap().rise >= 20);
    assert_eq!(counts.2.load(Ordering::Relaxed), checks, "nobody checks any more");
}

#[test]
fn many_servers_are_checked_soon() {
    let origin = Origin::serve(picky);
    let check = http(HttpCheck { path: "/state".to_owned(), ..HttpCheck::default() });
    let server = ServerSettings::new(origin.address().to_string().parse().unwrap());
    let mut settings = UpstreamSettings::new("app", vec![server; 50]);
    settings.check = Some(CheckSettings { interval: Duration::from_secs(1), ..quick(check) });
    let upstream = Upstream::new(settings);
    let _background_tasks = BackgroundTasks::start(vec![upstream.clone()]).unwrap();
    until(|| upstream.report().servers.iter().all(|server| server.state == ServerState::Up));
    assert_eq!(upstream.report().servers.len(), 50);
}

#[test]
fn background_tasks_without_upstreams_do_nothing() {
    let began = Instant::now();
    drop(BackgroundTasks::start(Vec::new()).unwrap());
    let origin = Origin::serve(picky);
    let unchecked = Upstream::new(UpstreamSettings::new(
        "app",
        vec![ServerSettings::new(origin.address().to_string().parse().unwrap())],
    ));
    drop(BackgroundTasks::start(vec![unchecked.clone()]).unwrap());
    assert_eq!((report(&unchecked).state, report(&unchecked).check), (ServerState::Up, None));
    assert_eq!(origin.connections(), 0);
    assert!(began.elapsed() < Duration::from_secs(1), "nobody is waited for");
}
