//! Heads of requests that are longer than usual, where the server allows them.

use crate::support::settings;
use serow::{Limits, Server};
use serow_apps::{Application, ApplicationSettings, Interface};
use serow_requirements::requires;
use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

const APPLICATIONS: [(Interface, &str, &str); 5] = [
    (
        Interface::Rack,
        "config.ru",
        "run ->(env) { [200, {}, [\"#{env['HTTP_COOKIE'].size} #{env['HTTP_COOKIE'][-3..]}\"]] }",
    ),
    (
        Interface::Psgi,
        "app.psgi",
        "sub { my $cookie = $_[0]{HTTP_COOKIE}; [200, [], [length($cookie) . ' ' . substr $cookie, -3]] };",
    ),
    (
        Interface::PhpWorker,
        "app.php",
        "<?php return fn (array $server) => strlen($server['HTTP_COOKIE']) . ' ' . substr($server['HTTP_COOKIE'], -3);",
    ),
    (
        Interface::Wsgi,
        "app.py",
        "def app(environ, start_response):\n    start_response('200 OK', [])\n    cookie = environ['HTTP_COOKIE']\n    \
         return [f'{len(cookie)} {cookie[-3:]}'.encode()]\n",
    ),
    (
        Interface::Asgi,
        "app.py",
        "async def app(scope, receive, send):\n    cookie = dict(scope['headers'])[b'cookie']\n    \
         await send({'type': 'http.response.start', 'status': 200})\n    \
         await send({'type': 'http.response.body', 'body': b'%d ' % len(cookie) + cookie[-3:]})\n",
    ),
];

/// Sends a GET and a POST with a cookie of so many bytes; gives the responses.
fn exchange(settings: ApplicationSettings, lengths: &[usize]) -> Vec<String> {
    let application = Application::new(settings, 1);
    let _workers = application.run().unwrap();
    let limits = Limits { head: 1 << 20, ..Limits::default() };
    let bound = Server::new().listen("127.0.0.1:0").workers(1).limits(limits).ignore_signals().bind().unwrap();
    let address = bound.addresses().next().unwrap().to_string();
    let (stopper, handler) = (bound.stopper(), application.handler());
    let serving = std::thread::spawn(move || bound.run(handler).unwrap());
    let mut responses = Vec::new();
    for length in lengths {
        for (method, body) in [("GET", 0), ("POST", 60_000)] {
            let mut connection = TcpStream::connect(&address).unwrap();
            connection.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let cookie = format!("{}end", "x".repeat(length - 3));
            let head = format!(
                "{method} / HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\nConnection: close\r\nContent-Length: {body}\r\n\r\n"
            );
            connection.write_all(head.as_bytes()).unwrap();
            connection.write_all(&vec![b'b'; body]).unwrap();
            let mut response = String::new();
            let _ = connection.read_to_string(&mut response);
            responses.push(response);
        }
    }
    stopper.stop_within(Duration::ZERO);
    serving.join().unwrap();
    responses
}

#[test]
fn values_over_64_kib_arrive_and_heads_too_long_for_workers_are_refused() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for (interface, file, code) in APPLICATIONS {
        let (settings, _folder) = settings(interface, file, code);
        let began = Instant::now();
        let responses = exchange(settings, &[65_535, 65_536, 100_000, 250_000]);
        for (response, length) in responses.iter().zip([65_535, 65_535, 65_536, 65_536, 100_000, 100_000]) {
            assert!(response.ends_with(&format!("\r\n\r\n{length} end")), "{interface:?} {length}: {response}");
        }
        for response in &responses[6..] {
            assert!(response.starts_with("HTTP/1.1 431 "), "{interface:?}: {response}");
        }
        assert!(began.elapsed() < Duration::from_secs(15), "{interface:?}");
    }
}
