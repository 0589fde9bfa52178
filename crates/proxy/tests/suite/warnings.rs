//! Warnings in the log and error pages where servers fail.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpListener},
    sync::{Mutex, Once, PoisonError},
    thread,
    time::Instant,
};

use serow_ports::refusing_address;
use serow_proxy::{
    Administration, ForwardingSettings, PassiveSettings, QueueSettings, RetrySettings, ServerState, UpstreamSettings,
};

use crate::support::{Proxied, read_head, read_response, server};

/// The log lines; the process has one log.
static LINES: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Lines;

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LINES.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn begin_log() {
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| tracing_subscriber::fmt().with_ansi(false).with_writer(|| Lines).init());
}

/// The lines about this server or upstream.
fn logged(about: &str) -> Vec<String> {
    let lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
    String::from_utf8_lossy(&lines).lines().filter(|line| line.contains(about)).map(str::to_owned).collect()
}

/// A server that reads a head, answers with this and closes the connection.
fn answering(answer: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let _ = read_head(&mut connection);
            let _ = connection.write_all(answer.as_bytes());
        }
    });
    address
}

fn settings(address: SocketAddr, name: &str) -> UpstreamSettings {
    let mut settings = UpstreamSettings::new(name, vec![server(address)]);
    settings.retries = RetrySettings { tries: 1, ..RetrySettings::default() };
    settings.passive = PassiveSettings { failures: 0, ..PassiveSettings::default() };
    settings
}

fn ask(proxied: &Proxied, line: &str) -> String {
    let mut client = proxied.connect();
    client.write_all(format!("{line} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").as_bytes()).unwrap();
    let mut response = Vec::new();
    // One that is cut off ends with a reset.
    let _ = client.read_to_end(&mut response);
    String::from_utf8(response).unwrap()
}

#[test]
fn warnings_name_the_request_and_are_limited_for_each_server() {
    const REQUESTS: u64 = 60;
    begin_log();
    let cases = [
        ("", "POST /orders/%0a?token=secret", "POST /orders/%0a: waiting for the response: "),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", "GET /half", "GET /half: the response was cut off: "),
    ];
    for (answer, line, expected) in cases {
        let address = answering(answer);
        let proxied = Proxied::with(settings(address, "app"), ForwardingSettings::default());
        let began = Instant::now();
        for _ in 0..REQUESTS {
            ask(&proxied, line);
        }
        let about = format!("server=\"{address}\"");
        // In the next second, the first line reports the number of suppressed ones.
        let (mut asked, mut told) = (REQUESTS, 0);
        crate::support::until(|| {
            ask(&proxied, line);
            asked += 1;
            let lines = logged(&about);
            let (warnings, suppressed): (Vec<_>, Vec<_>) = lines.iter().partition(|line| line.contains(expected));
            let count = |line: &&String| line.split("and ").nth(1)?.split(' ').next()?.parse::<u64>().ok();
            let suppressed: u64 = suppressed.into_iter().filter_map(|line| count(&line)).sum();
            told = warnings.len() as u64;
            suppressed > 0 && told + suppressed == asked
        });
        let seconds = began.elapsed().as_secs() + 2;
        assert!(told <= 10 * seconds, "{told} lines in {seconds} s");
        let lines = logged(&about);
        assert!(!lines.iter().any(|line| line.contains("secret")), "{lines:?}");
    }
    // The line about the client's connection does not blame the client.
    let unfinished = logged("a response could not be finished");
    let names_the_server =
        |line: &String| line.contains("the upstream server or application ended before its response");
    assert!(unfinished.iter().any(names_the_server), "{unfinished:?}");
}

#[test]
fn the_only_server_that_refuses_the_connection_gets_one_warning_and_one_failure() {
    begin_log();
    for (count, expected) in [(1, 1), (2, 2)] {
        let servers: Vec<_> = (0..count).map(|_| refusing_address()).collect();
        let settings = UpstreamSettings::new("gone", servers.iter().copied().map(server).collect());
        let proxied = Proxied::with(settings, ForwardingSettings::default());
        assert!(ask(&proxied, "GET /").starts_with("HTTP/1.1 502 "));
        let reports = proxied.upstream.report().servers;
        assert_eq!(reports.iter().map(|server| server.requests).sum::<u64>(), expected, "of {count}");
        for (server, report) in servers.iter().zip(reports) {
            let lines = logged(&format!("server=\"{server}\""));
            let [line] = &*lines else { panic!("of {count}: {lines:?}") };
            assert!(
                line.contains("GET /: connecting: Connection refused (os error 111); is the server running?"),
                "{line}"
            );
            assert_eq!((report.failures, report.state), (1, ServerState::Up), "of {count}");
        }
    }
}

#[test]
fn a_client_sees_whether_servers_are_down_or_busy() {
    // Nothing accepts: requests wait for a response.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let mut settings = settings(address, "full");
    settings.servers[0].max_requests = Some(1);
    settings.queue = QueueSettings { length: 0, ..QueueSettings::default() };
    let proxied = Proxied::with(settings, ForwardingSettings::default());
    let mut first = proxied.connect();
    first.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    crate::support::until(|| proxied.upstream.servers().iter().any(|server| server.active() == 1));
    let busy = ask(&proxied, "GET /");
    assert!(busy.starts_with("HTTP/1.1 503 ") && busy.contains("retry-after: 5\r\n"), "{busy}");
    assert!(busy.contains("503 Service Unavailable: All servers are busy at the moment."), "{busy}");
    proxied.upstream.administrate(&address.to_string(), Administration::Down).unwrap();
    let down = ask(&proxied, "GET /");
    assert!(down.starts_with("HTTP/1.1 503 ") && down.contains("retry-after: 5\r\n"), "{down}");
    assert!(down.contains("503 Service Unavailable: No server is available at the moment."), "{down}");
    let (mut accepted, _) = silent.accept().unwrap();
    accepted.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    assert!(read_response(&mut first).starts_with("HTTP/1.1 204 "));
}
