//! Scripts, and their responses.

use std::io::Read;

use serow_programs::php::PhpSettings;
use serow_requirements::requires;

use crate::{
    answering::{body, content},
    php::fpm::Running,
};

fn running(script: &str) -> Running {
    Running::new(&[("index.php", &format!("<?php {script}"))], PhpSettings::default())
}

#[test]
fn a_script_sees_the_request() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = running(
        "header('Content-Type: text/plain'); foreach (['REQUEST_METHOD', 'QUERY_STRING', 'SERVER_NAME', 'SERVER_PORT', \
         'REMOTE_ADDR', 'HTTP_HOST', 'HTTP_X_USER', 'HTTP_PROXY', 'HTTP_X_FORWARDED_FOR', 'SERVER_PROTOCOL'] as $n) \
         echo $n, '=', $_SERVER[$n] ?? '-', ';';",
    );
    let answer = server.exchange(
        "GET /a?b=c HTTP/1.1\r\nHost: example.com:8080\r\nX-User: ann\r\nX_User: eve\r\nX.User: eve\r\nProxy: p\r\n\
         Connection: close\r\n\r\n",
    );
    let expected = "REQUEST_METHOD=GET;QUERY_STRING=b=c;SERVER_NAME=example.com;SERVER_PORT=8080;REMOTE_ADDR=127.0.0.1;\
                    HTTP_HOST=example.com:8080;HTTP_X_USER=ann;HTTP_PROXY=-;HTTP_X_FORWARDED_FOR=-;\
                    SERVER_PROTOCOL=HTTP/1.1;";
    assert_eq!(content(&answer), expected);
}

#[test]
fn bodies_arrive_whole_however_they_are_sent() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = running("echo $_SERVER['CONTENT_LENGTH'], ' ', md5(file_get_contents('php://input'));");
    let long = vec![b'x'; 300_000];
    let answer = server.post("/", &long);
    assert_eq!(content(&answer), format!("300000 {}", digest(&server)));
    let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
    let chunked = [head.as_bytes(), b"493e0\r\n", &long, b"\r\n0\r\n\r\n"].concat();
    assert_eq!(content(&server.exchange(chunked)), content(&answer));
}

/// PHP's own digest of the same bytes.
fn digest(server: &Running) -> String {
    server.write("digest.php", "<?php echo md5(str_repeat('x', 300000));");
    content(&server.get("/digest.php"))
}

#[test]
fn statuses_and_fields_are_those_of_the_script() {
    requires!("file:/usr/sbin/php-fpm*");
    for (script, status, field) in [
        ("", 200, ""),
        ("http_response_code(404);", 404, ""),
        ("header('Location: /b');", 302, "location: /b"),
        ("header('Location: /b', true, 201);", 201, "location: /b"),
        ("header('Status: 418 Teapot');", 418, ""),
        ("setcookie('a', '1'); setcookie('b', '2');", 200, "set-cookie: b=2"),
        ("header('HTTP/1.1 103 Early Hints');", 502, ""),
        ("header('X-A : v');", 502, ""),
        ("throw new Exception('oops');", 500, ""),
        ("header('Connection: close'); header('X-B: 1');", 200, "x-b: 1"),
    ] {
        let answer = running(script).get("/");
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{script}: {answer}");
        assert!(answer.to_lowercase().contains(field), "{script}: {answer}");
    }
}

#[test]
fn a_response_shorter_than_announced_is_not_taken_for_complete() {
    requires!("file:/usr/sbin/php-fpm*");
    let answer = running("header('Content-Length: 10'); echo 'short';").get("/");
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    let server = running(
        "header('Content-Length: 10'); echo 'short'; ob_end_flush(); flush(); while (!file_exists('go')) usleep(1000);",
    );
    let mut connection = server.begin("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    server.write("go", "");
    let mut rest = Vec::new();
    // It ends with an error.
    let _ = connection.read_to_end(&mut rest);
    let answer = String::from_utf8(rest).unwrap();
    // The head has been sent: the client sees that bytes are missing.
    assert!(answer.to_lowercase().contains("content-length: 10\r\n") && body(&answer) == "short", "{answer}");
    let answer = running("header('Content-Length: 3'); echo 'longer';").get("/");
    assert_eq!(body(&answer), "lon");
}

#[test]
fn a_response_to_head_has_no_body() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = running("header('Content-Length: 5'); echo 'hello';");
    let answer = server.exchange("HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.to_lowercase().contains("content-length: 5\r\n"), "{answer}");
    assert_eq!(body(&answer), "");
}

#[test]
fn a_child_that_dies_costs_its_request() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = running("if ($_GET['die'] ?? 0) shell_exec('kill -9 ' . getmypid()); echo 'alive';");
    assert!(server.get("/?die=1").starts_with("HTTP/1.1 502 "));
    assert_eq!(content(&server.get("/")), "alive");
}

#[test]
fn a_long_response_arrives_whole() {
    requires!("file:/usr/sbin/php-fpm*");
    let server = running("for ($i = 0; $i < 100; $i++) echo str_repeat(chr(65 + $i % 26), 50000);");
    assert_eq!(content(&server.get("/")).len(), 5_000_000);
}
