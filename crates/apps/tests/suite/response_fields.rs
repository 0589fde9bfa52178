//! Fields of responses that are the server's, in all languages.

use crate::support::{Running, content, settings};
use serow_apps::{Application, Interface};
use serow_requirements::requires;

/// Each responds as its query says: the status, the pieces of the body, then names and values, separated by commas and
/// percent-encoded.
const RACK: &str = r#"
require 'uri'
Pieces = Struct.new(:all) { def each(&block) = all.each(&block) }
run ->(env) do
  status, body, *fields = env['QUERY_STRING'].split(',').map { |part| URI.decode_www_form_component(part) }
  [status.to_i, fields.each_slice(2).to_a, env['PATH_INFO'] == '/list' ? [body] : Pieces.new(body.chars)]
end
"#;
const PSGI: &str = r#"
package Pieces { sub new { bless [@_[1 .. $#_]] } sub getline { shift @{$_[0]} } sub close { } }
sub {
    my $env = shift;
    my ($status, $body, @fields) = map { s/%(..)/chr hex $1/ger } split /,/, $env->{QUERY_STRING};
    [$status, \@fields, $env->{PATH_INFO} eq '/list' ? [$body] : Pieces->new(split //, $body)];
}
"#;
const WSGI: &str = r"
from urllib.parse import unquote
def app(environ, start_response):
    status, body, *fields = [unquote(part) for part in environ['QUERY_STRING'].split(',')]
    start_response(status + ' X', list(zip(fields[::2], fields[1::2])))
    body = body.encode()
    return [body] if environ['PATH_INFO'] == '/list' else (body[place : place + 1] for place in range(len(body)))
";
const ASGI: &str = r"
from urllib.parse import unquote
async def app(scope, receive, send):
    if scope['type'] == 'lifespan':
        return
    status, body, *fields = [unquote(part) for part in scope['query_string'].decode().split(',')]
    fields = [field.encode() for field in fields]
    await send({'type': 'http.response.start', 'status': int(status), 'headers': list(zip(fields[::2], fields[1::2]))})
    pieces = [body] if scope['path'] == '/list' else list(body)
    for place, piece in enumerate(pieces, 1):
        await send({'type': 'http.response.body', 'body': piece.encode(), 'more_body': place < len(pieces)})
";
const PHP: &str = r#"<?php
return function (array $server): array {
    [$status, $body] = $parts = array_map('rawurldecode', explode(',', $server['QUERY_STRING']));
    $fields = [];
    foreach (array_chunk(array_slice($parts, 2), 2) as [$name, $value]) {
        $fields[$name][] = $value;
    }
    $pieces = (static function () use ($body) { yield from str_split($body); })();
    return [(int) $status, $fields, $server['PATH_INFO'] === '/list' ? $body : $pieces];
};
"#;
const APPLICATIONS: [(Interface, &str, &str); 5] = [
    (Interface::Rack, "config.ru", RACK),
    (Interface::Psgi, "app.psgi", PSGI),
    (Interface::Wsgi, "application.py", WSGI),
    (Interface::Asgi, "application.py", ASGI),
    (Interface::PhpWorker, "app.php", PHP),
];

fn each(test: impl Fn(Interface, &Running)) {
    for (interface, file, code) in APPLICATIONS {
        test(interface, &Running::new(settings(interface, file, code)));
    }
}

#[test]
fn a_transfer_encoding_of_an_application_changes_no_body() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    let bodies = [
        ("hello", "hello"),
        ("0%0A1%0A2", "0\n1\n2"),
        ("0%0D%0A%0D%0A", "0\r\n\r\n"),
        ("1%0D%0Aa%0D%0A0%0D%0A%0D%0A", "1\r\na\r\n0\r\n\r\n"),
    ];
    each(|interface, running| {
        for path in ["/list", "/pieces"] {
            for (sent, body) in bodies {
                for coding in ["chunked", "Chunked", "gzip", "gzip%2C%20chunked", "identity"] {
                    if interface == Interface::Rack && coding.eq_ignore_ascii_case("chunked") {
                        continue;
                    }
                    let answer = running.get(&format!("{path}?200,{sent},Transfer-Encoding,{coding}"));
                    let is_right = answer.starts_with("HTTP/1.1 200 ") && content(&answer) == body;
                    assert!(is_right, "{interface:?} {path} {coding} {body:?}: {answer}");
                }
            }
        }
    });
}

/// `Rack::Chunked` does so; a body that is not chunked never looks complete.
#[test]
fn bodies_that_rack_applications_have_chunked_are_decoded() {
    requires!("ruby:rack");
    let running = Running::new(settings(Interface::Rack, "config.ru", RACK));
    for path in ["/list", "/pieces"] {
        let answer = running.get(&format!("{path}?200,1%0D%0Aa%0D%0A0%0D%0A%0D%0A,Transfer-Encoding,chunked"));
        assert_eq!(content(&answer), "a", "{answer}");
        for wrong in ["hello", "0%0A1%0A2%0A", "0%0D%0A1%0D%0A", "1%0D%0Aa%0D%0A", "0%0D%0A%0D%0Amore"] {
            let answer = running.get(&format!("{path}?200,{wrong},Transfer-Encoding,chunked"));
            let is_complete = answer.ends_with("0\r\n\r\n") || answer.contains("content-length");
            assert!(!is_complete, "{path} {wrong}: {answer}");
        }
    }
}

#[test]
fn fields_of_the_connection_do_not_reach_clients() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    let fields = "Connection,close,Keep-Alive,timeout%3D5,Upgrade,h2c,TE,trailers,Proxy-Connection,close,X-Kept,1";
    each(|interface, running| {
        for path in ["/list", "/pieces"] {
            let answer = running.get(&format!("{path}?200,ab,{fields}")).to_lowercase();
            assert!(answer.contains("x-kept: 1\r\n") && content(&answer) == "ab", "{interface:?} {answer}");
            for name in ["keep-alive", "upgrade", "te", "proxy-connection"] {
                assert!(!answer.contains(&format!("\r\n{name}: ")), "{interface:?} {path} {name}: {answer}");
            }
        }
    });
}

#[test]
fn line_breaks_in_fields_add_none() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    each(|interface, running| {
        for path in ["/list", "/pieces"] {
            for field in [
                "X-A,b%0D%0AX-Evil:%201",
                "X-A,b%0DX-Evil:%201",
                "X-A,b%00X-Evil",
                "X-A%0D%0AX-Evil,b",
                "X-A%0AX-Evil,b",
                "X-A:%20b%0AX-Evil,c",
            ] {
                let answer = running.get(&format!("{path}?200,ab,{field}"));
                assert!(
                    answer.starts_with("HTTP/1.1 50") && !answer.contains("Evil"),
                    "{interface:?} {field}: {answer}"
                );
            }
            let answer = running.get(&format!("{path}?200,ab,Set-Cookie,a%3D1%0Ab%3D2"));
            // In Rack 2, these are two values.
            let is_refused = interface != Interface::Rack || answer.starts_with("HTTP/1.1 50");
            assert_eq!(answer.contains("b=2"), !is_refused, "{interface:?}: {answer}");
        }
    });
}

#[test]
fn bodies_end_at_their_content_length_and_205_has_none() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    each(|interface, running| {
        for length in [0, 1, 3] {
            let answer = running.get(&format!("/pieces?200,abcdef,Content-Length,{length}"));
            assert!(answer.starts_with("HTTP/1.1 200 "), "{interface:?} {length}: {answer}");
            assert!(answer.contains(&format!("content-length: {length}\r\n")), "{interface:?} {length}: {answer}");
            assert_eq!(content(&answer), "abcdef"[..length], "{interface:?}");
        }
        for path in ["/list", "/pieces"] {
            for fields in ["", ",Content-Length,6"] {
                let answer = running.get(&format!("{path}?205,abcdef{fields}"));
                assert!(answer.starts_with("HTTP/1.1 205 ") && content(&answer).is_empty(), "{interface:?} {answer}");
                assert!(answer.contains("content-length: 0\r\n"), "{interface:?} {answer}");
            }
        }
    });
}

#[test]
fn a_target_that_names_the_host_is_the_host() {
    requires!("ruby:rack", "program:perl", "program:/usr/bin/python3", "program:php");
    let applications = [
        (
            Interface::Rack,
            "config.ru",
            "run ->(env) { [200, {}, [env['HTTP_HOST'].inspect.delete('\"') + ' ' + env['SERVER_NAME']]] }",
        ),
        (Interface::Psgi, "app.psgi", "sub { [200, [], [\"$_[0]{HTTP_HOST} $_[0]{SERVER_NAME}\"]] }"),
        (
            Interface::PhpWorker,
            "app.php",
            "<?php return fn (array $server) => \"$server[HTTP_HOST] $server[SERVER_NAME]\";",
        ),
        (
            Interface::Wsgi,
            "application.py",
            "def app(environ, start_response):\n    start_response('200 OK', [])\n    \
             return [(environ['HTTP_HOST'] + ' ' + environ['SERVER_NAME']).encode()]\n",
        ),
    ];
    for (interface, file, code) in applications {
        let running = Running::new(settings(interface, file, code));
        for (head, expected) in [
            ("GET / HTTP/1.1\r\nHost: evil.example", "evil.example evil.example"),
            ("GET http://good.example/ HTTP/1.1\r\nHost: evil.example", "good.example good.example"),
            ("GET http://good.example:81/ HTTP/1.1\r\nhost: evil.example:82", "good.example:81 good.example"),
            ("GET http://good.example HTTP/1.0", "good.example good.example"),
            ("GET http://good.example/ HTTP/1.0\r\nHost: evil.example", "good.example good.example"),
            (
                "GET http://good.example/ HTTP/1.1\r\nHost: evil.example\r\nX-A: 1\r\nX-A: 2",
                "good.example good.example",
            ),
            ("GET http://good.example/ HTTP/1.1\r\nHost: good.example", "good.example good.example"),
        ] {
            let answer = running.exchange(format!("{head}\r\nConnection: close\r\n\r\n"));
            assert_eq!(content(&answer), expected, "{interface:?} {head}: {answer}");
        }
    }
}

#[test]
fn hints_with_a_bad_field_lose_only_that() {
    requires!("ruby:rack");
    let running = Running::new(settings(
        Interface::Rack,
        "config.ru",
        r#"run ->(env) { env['rack.early_hints'].call('link' => '</a>', 'bad name' => '1', '' => '2', "nul\0" => '3', 'x' => "\0", 'y' => "a\rx-evil: 1"); [200, {}, ['.']] }"#,
    ));
    let answer = running.get("/");
    assert!(answer.starts_with("HTTP/1.1 103 ") && answer.contains("link: </a>\r\n"), "{answer}");
    assert!(answer.contains("HTTP/1.1 200 ") && !answer.contains("evil"), "{answer}");
}

/// Names of Python's modules, with the application beside it.
#[test]
fn files_named_like_modules_of_python_do_not_replace_them() {
    requires!("program:/usr/bin/python3");
    let names = [
        "token",
        "tokenize",
        "signal",
        "socket",
        "select",
        "selectors",
        "inspect",
        "dis",
        "opcode",
        "types",
        "logging",
        "asyncio",
        "queue",
        "traceback",
        "linecache",
        "ast",
        "re",
        "enum",
        "stat",
        "threading",
        "heapq",
        "ssl",
        "concurrent",
        "collections",
        "string",
        "copy",
        "random",
        "functools",
        "weakref",
        "contextlib",
        "marshal",
        "io",
        "os",
        "abc",
        "warnings",
    ];
    let applications = [
        (Interface::Wsgi, "def app(environ, start_response):\n    start_response('200 OK', [])\n    return [b'.']\n"),
        (
            Interface::Asgi,
            "async def app(scope, receive, send):\n    await send({'type': 'lifespan.startup.complete'})\n",
        ),
    ];
    for (interface, code) in applications {
        for preload in [false, true] {
            let (mut settings, folder) = settings(interface, "application.py", code);
            for name in names {
                let file = folder.path().join(format!("{name}.py"));
                std::fs::write(file, "raise RuntimeError('of the application')\n").unwrap();
            }
            settings.preload = preload;
            settings.run.processes = std::num::NonZero::<usize>::MIN;
            if preload {
                settings.run.environment.push(("PYTHONPATH".into(), ".".into()));
            }
            Application::new(settings, 1).run().unwrap_or_else(|error| panic!("{interface:?} {preload}: {error}"));
        }
    }
}
