//! Clients behind trusted proxies and behind untrusted ones, as applications see them.

use crate::support::{Answering, Running, content, settings};
use serow_apps::Interface;
use serow_gateway::TrustedProxies;
use serow_requirements::requires;

/// Each answers with the client's address, the scheme, and the fields in which proxies describe clients.
const RACK: &str = r"
require 'rack/lint'
use Rack::Lint
NAMES = %w(REMOTE_ADDR rack.url_scheme HTTP_X_FORWARDED_FOR HTTP_X_FORWARDED_PROTO HTTP_X_REAL_IP HTTP_FORWARDED)
run ->(env) { [200, {}, [env.values_at(*NAMES).map { |value| value || '-' }.join(' ')]] }
";

const PSGI: &str = r#"
use Plack::Middleware::Lint;
my @names = qw(REMOTE_ADDR psgi.url_scheme HTTP_X_FORWARDED_FOR HTTP_X_FORWARDED_PROTO HTTP_X_REAL_IP HTTP_FORWARDED);
Plack::Middleware::Lint->wrap(sub {
    my $env = shift;
    [200, ['Content-Type' => 'text/plain'], [join ' ', map { $env->{$_} // '-' } @names]];
});
"#;

const WSGI: &str = r"
from wsgiref.validate import validator

NAMES = ('REMOTE_ADDR', 'wsgi.url_scheme', 'HTTP_X_FORWARDED_FOR', 'HTTP_X_FORWARDED_PROTO', 'HTTP_X_REAL_IP', 'HTTP_FORWARDED')

@validator
def app(environ, start_response):
    start_response('200 OK', [('Content-Type', 'text/plain')])
    return [' '.join(environ.get(name, '-') for name in NAMES).encode()]
";

const ASGI: &str = r"
NAMES = (b'x-forwarded-for', b'x-forwarded-proto', b'x-real-ip', b'forwarded')

async def app(scope, receive, send):
    if scope['type'] == 'lifespan':
        return
    headers = dict(scope['headers'])
    words = [scope['client'][0], scope['scheme'], *(headers.get(name, b'-').decode() for name in NAMES)]
    await send({'type': 'http.response.start', 'status': 200})
    await send({'type': 'http.response.body', 'body': ' '.join(words).encode()})
";

const PHP: &str = "<?php
const NAMES = ['REMOTE_ADDR', 'REQUEST_SCHEME', 'HTTP_X_FORWARDED_FOR', 'HTTP_X_FORWARDED_PROTO', 'HTTP_X_REAL_IP', 'HTTP_FORWARDED'];
return fn (array $server): string => implode(' ', array_map(fn (string $name) => $server[$name] ?? '-', NAMES));
";

const APPLICATIONS: [(Interface, &str, &str); 5] = [
    (Interface::Rack, "config.ru", RACK),
    (Interface::Psgi, "app.psgi", PSGI),
    (Interface::Wsgi, "application.py", WSGI),
    (Interface::Asgi, "application.py", ASGI),
    (Interface::PhpWorker, "app.php", PHP),
];

/// Fields of a request from this machine, and the answers with this machine as a trusted proxy and without.
const CASES: [(&str, &str, &str); 6] = [
    ("", "127.0.0.1 http - - - -", "127.0.0.1 http - - - -"),
    ("X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7 http 192.0.2.7 - - -", "127.0.0.1 http - - - -"),
    (
        "X-Forwarded-For: 198.51.100.1, 192.0.2.7,127.0.0.1\r\nX-Forwarded-Proto: https\r\n",
        "192.0.2.7 https 198.51.100.1, 192.0.2.7,127.0.0.1 https - -",
        "127.0.0.1 http - - - -",
    ),
    ("X-Forwarded-For: 2001:db8::7\r\n", "2001:db8::7 http 2001:db8::7 - - -", "127.0.0.1 http - - - -"),
    ("X-Forwarded-For: who knows\r\n", "127.0.0.1 http who knows - - -", "127.0.0.1 http - - - -"),
    (
        "X-Real-IP: 192.0.2.8\r\nForwarded: for=192.0.2.9\r\nX-Forwarded-Proto: ftp\r\n",
        "127.0.0.1 http - ftp 192.0.2.8 for=192.0.2.9",
        "127.0.0.1 http - - - -",
    ),
];

#[test]
fn clients_behind_servers_that_are_trusted() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for (interface, file, code) in APPLICATIONS {
        let running = Running::new(settings(interface, file, code));
        for (fields, expected, _) in CASES {
            assert_eq!(asked(&running, fields), expected, "{interface:?} {fields}");
        }
    }
}

#[test]
fn forwarded_fields_of_untrusted_peers_are_dropped() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for (interface, file, code) in APPLICATIONS {
        let (mut settings, folder) = settings(interface, file, code);
        settings.run.trusted = TrustedProxies::default();
        let running = Running::new((settings, folder));
        for (fields, _, expected) in CASES {
            assert_eq!(asked(&running, fields), expected, "{interface:?} {fields}");
        }
    }
}

#[test]
fn requests_say_when_they_were_passed_on_if_no_trusted_proxy_has_done_so() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    for (interface, file, code) in APPLICATIONS {
        let code = code.replace("HTTP_FORWARDED", "HTTP_X_REQUEST_START").replace("b'forwarded'", "b'x-request-start'");
        for (is_trusted, is_on) in [(true, true), (false, true), (true, false), (false, false)] {
            let (mut settings, folder) = settings(interface, file, &code);
            settings.request_start = is_on;
            if !is_trusted {
                settings.run.trusted = TrustedProxies::default();
            }
            let running = Running::new((settings, folder));
            for fields in ["", "X-Request-Start: t=1\r\nX-A: 1\r\nX-A: 2\r\nX-Request-Start: t=2\r\n"] {
                let response = asked(&running, fields);
                let start = response.rsplit_once("- - ").unwrap().1;
                let is_own = start.starts_with("t=1") && start.len() == "t=1700000000.000".len();
                let case = format!("{interface:?} {is_trusted} {is_on} {fields}: {start}");
                match (is_trusted && !fields.is_empty(), is_on) {
                    // A dict of a list of fields has the last one.
                    (true, _) => assert!(start.ends_with("t=2"), "{case}"),
                    (false, true) => assert!(is_own, "{case}"),
                    (false, false) => assert_eq!(start, "-", "{case}"),
                }
            }
        }
    }
}

fn asked(application: &Answering, fields: &str) -> String {
    content(&application.exchange(format!("GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n")))
}
