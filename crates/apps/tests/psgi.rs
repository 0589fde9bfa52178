//! Perl's applications, by the perl that is installed.

mod support;

use serow_apps::{Application, Interface};
use support::{Running, body, settings};

fn run(code: &str) -> Running {
    Running::new(settings(Interface::Psgi, "app.psgi", code))
}

/// An application that answers with the variables of the environment that these names match, one a line.
fn variables(pattern: &str) -> Running {
    run(&format!(
        r#"sub {{ my $env = shift; [200, [], [map "$_=$env->{{$_}}\n", grep /{pattern}/, sort keys %$env]] }}"#
    ))
}

#[test]
fn requests_become_environments() {
    let running = variables("^[A-Z]");
    let head = "Host: [::1]:81\r\nX-One: 1\r\nX-One: 2\r\nX_One: 3\r\nProxy: evil\r\nCookie: a=1\r\nCookie: b=2\r\nContent-Type: a/b";
    let answer = running.exchange(format!("PUT /a%20b%2Fc%ff%zz%C3%A9?d=%20 HTTP/1.0\r\n{head}\r\n\r\n"));
    let lines: Vec<_> = body(&answer).lines().filter(|line| !line.starts_with("REMOTE_PORT=")).collect();
    let expected = [
        "CONTENT_TYPE=a/b",
        "HTTP_COOKIE=a=1; b=2",
        "HTTP_HOST=[::1]:81",
        "HTTP_X_ONE=1, 2",
        "PATH_INFO=/a b/c\u{fffd}%zzé",
        "QUERY_STRING=d=%20",
        "REMOTE_ADDR=127.0.0.1",
        "REQUEST_METHOD=PUT",
        "REQUEST_URI=/a%20b%2Fc%ff%zz%C3%A9?d=%20",
        "SCRIPT_NAME=",
        "SERVER_NAME=[::1]",
        "SERVER_PORT=81",
        "SERVER_PROTOCOL=HTTP/1.0",
    ];
    assert_eq!(lines, expected);
    let answer = running.exchange("OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(body(&answer).contains("\nPATH_INFO=\n") && body(&answer).contains("\nREQUEST_URI=*\n"), "{answer}");
    let answer = running.get("/%00?");
    assert!(body(&answer).contains("\nPATH_INFO=/\0\nQUERY_STRING=\n"), "{answer}");
}

#[test]
fn bodies_reach_the_application_and_can_be_read_again() {
    let running = run(r#"
sub {
    my $env = shift;
    my ($input, $length) = @$env{'psgi.input', 'CONTENT_LENGTH'};
    my $read = $input->read(my $first, $length // 10) // -1;
    $input->seek(0, 0);
    my $again = join '', $input->getlines;
    $input->close;
    return [200, [], [$length // 'none', ' ', $read, ' ', $first eq $again ? 'same' : 'other', ' ', $again]];
}
"#);
    assert_eq!(body(&running.get("/")), "none 0 same ");
    assert_eq!(body(&running.get("/")), "none 0 same ");
    assert_eq!(body(&running.post("/", b"")), "0 0 same ");
    assert_eq!(body(&running.post("/", b"a\0b\nc")), "5 5 same a\0b\nc");
    let chunked =
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    assert_eq!(body(&running.exchange(chunked)), "3 3 same abc");
    let answer = running.post("/", &vec![b'x'; 300_000]);
    assert!(body(&answer).starts_with("300000 300000 same xxx"), "{}", &body(&answer)[..40]);
}

#[test]
fn what_cannot_be_loaded_is_told_with_file_and_line() {
    for (code, expected) in [
        ("\ndie 'no';\n", "no at "),
        ("use strict;\nsub { $x }\n", "app.psgi line 2"),
        ("\nuse No::Such::Module;\n", "app.psgi line 2"),
        ("{ a => 1 }\n", "is to be a code reference"),
        ("0\n", "is to be a code reference, and is '0'"),
    ] {
        for preload in [false, true] {
            let (mut settings, _folder) = settings(Interface::Psgi, "app.psgi", code);
            settings.preload = preload;
            let error = Application::new(settings, 1).run().unwrap_err();
            assert!(error.contains(expected) && error.contains("app.psgi"), "{error}");
        }
    }
}
