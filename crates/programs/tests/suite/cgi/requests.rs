//! Requests as programs see them.

use std::fs;

use serow_requirements::requires;

use crate::{
    answering::content,
    cgi::places::{Programmed, write_program},
};

#[test]
fn a_program_has_the_variables_of_the_request_and_no_others() {
    let server = Programmed::with(
        &[("env", "printf 'Content-Type: text/plain\\n\\n'; exec env -0 | tr '\\0' '\\n'")],
        |settings| {
            settings.environment.push(("GIT_PROJECT_ROOT".into(), "/srv/git".into()));
        },
    );
    let answer = content(&server.exchange(
        "GET /cgi-bin/env/a%20b?c=d%20e HTTP/1.1\r\nHost: example.com:8080\r\nX-User: ann\r\nX_User: eve\r\nProxy: p\r\n\
         Te: trailers\r\nExpect: 100-continue\r\nX-Forwarded-For: 192.0.2.1\r\nConnection: close\r\n\r\n",
    ));
    let folder = fs::canonicalize(server.path("")).unwrap().display().to_string();
    // The shell sets PWD and the like itself.
    let of_shell = ["PWD=", "OLDPWD=", "SHLVL=", "_="];
    let mut lines: Vec<_> = answer.lines().filter(|line| !of_shell.iter().any(|name| line.starts_with(name))).collect();
    lines.retain(|line| !line.starts_with("REMOTE_PORT=") && !line.starts_with("SERVER_SOFTWARE="));
    lines.sort_unstable();
    let (root, file) = (format!("DOCUMENT_ROOT={folder}"), format!("SCRIPT_FILENAME={folder}/env"));
    let expected = [
        &root,
        "GATEWAY_INTERFACE=CGI/1.1",
        "GIT_PROJECT_ROOT=/srv/git",
        "HTTP_HOST=example.com:8080",
        "HTTP_X_USER=ann",
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "PATH_INFO=/a b",
        "QUERY_STRING=c=d%20e",
        "REDIRECT_STATUS=200",
        "REMOTE_ADDR=127.0.0.1",
        "REQUEST_METHOD=GET",
        "REQUEST_SCHEME=http",
        "REQUEST_URI=/cgi-bin/env/a%20b?c=d%20e",
        &file,
        "SCRIPT_NAME=/cgi-bin/env",
        "SERVER_ADDR=127.0.0.1",
        "SERVER_NAME=example.com",
        "SERVER_PORT=8080",
        "SERVER_PROTOCOL=HTTP/1.1",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn a_body_is_standard_input_with_its_exact_length_however_it_is_sent() {
    let script = "printf '\\n'; printf '%s ' \"${CONTENT_LENGTH-none}\"; cksum; pwd -P";
    let server = Programmed::one(script);
    let folder = fs::canonicalize(server.path("")).unwrap();
    // In memory, at its limit, and in a file.
    for length in [1, 65_536, 300_000] {
        let body = vec![b'x'; length];
        let answer = content(&server.post("/cgi-bin/a", &body));
        let mut words = answer.split_whitespace();
        assert_eq!((words.next(), words.nth(1)), (Some(&*length.to_string()), Some(&*length.to_string())));
        assert_eq!(words.next(), folder.to_str(), "it runs in its folder");
        let head = "POST /cgi-bin/a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
        let size = format!("{length:x}\r\n");
        let chunked = [head.as_bytes(), size.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat();
        assert_eq!(content(&server.exchange(chunked)), answer);
    }
    assert!(content(&server.get("/cgi-bin/a")).starts_with("none 4294967295 0\n"));
    assert!(content(&server.post("/cgi-bin/a", b"")).starts_with("none 4294967295 0\n"));
}

#[test]
fn a_query_does_not_become_arguments() {
    // RFC 3875 §4.4 allows it; php-cgi took options from it (CVE-2012-1823).
    let server = Programmed::one("printf '\\n%s' \"$#\"");
    assert_eq!(content(&server.get("/cgi-bin/a?-s+-d")), "0");
}

#[test]
fn nothing_of_the_folder_is_sent_as_a_file() {
    let server = Programmed::one("printf '\\n'");
    fs::write(server.path("text"), "secret").unwrap();
    fs::create_dir(server.path("sub")).unwrap();
    write_program(&server.path(".hidden"), "#!/bin/sh\nprintf '\\nsecret'");
    for path in ["/cgi-bin/text", "/cgi-bin/sub/", "/cgi-bin/", "/cgi-bin/.hidden", "/cgi-bin/none", "/other/a"] {
        let answer = server.get(path);
        assert!(answer.starts_with("HTTP/1.1 404 ") && !answer.contains("secret"), "{path}: {answer}");
    }
    assert!(server.get("/cgi-bin/a/../a").starts_with("HTTP/1.1 400 "));
}

#[test]
fn a_program_in_perl_answers_a_form() {
    requires!("program:perl");
    let server = Programmed::new(&[]);
    let text = "#!/usr/bin/perl\nuse strict; read(STDIN, my $form, $ENV{CONTENT_LENGTH});\n\
                my %f = map { split /=/, $_, 2 } split /&/, $form;\n\
                print \"Status: 201 Created\\r\\nContent-Type: text/plain\\r\\n\\r\\nHello $f{name}\";\n";
    write_program(&server.path("form.pl"), text);
    let answer = server.post("/cgi-bin/form.pl", b"name=Ann&age=3");
    assert!(answer.starts_with("HTTP/1.1 201 ") && content(&answer) == "Hello Ann", "{answer}");
}
