//! Addresses and cookies of other servers, as clients see them.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    thread,
};

use crate::running::{Answer, Running, serow};

/// A server whose responses have these fields, and how many requests it got.
pub(crate) fn origin(fields: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
                head.push(byte[0]);
            }
            let _ = write!(
                stream,
                "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nConnection: close\r\nX-Number: {number}\r\n{fields}\r\n"
            );
        }
    });
    address
}

pub(crate) fn run(root: &str, site: &str) -> (tempfile::TempDir, Running) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("serow.toml"), format!("listen = \"127.0.0.1:0\"\n{root}\n[[site]]\n{site}")).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    let running = Running::of(command);
    (folder, running)
}

pub(crate) fn fields(answer: &Answer, name: &str) -> Vec<String> {
    let lines = answer.head.lines().filter_map(|line| line.split_once(": "));
    lines.filter(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).collect()
}

#[test]
fn a_cached_redirect_has_the_values_of_each_request() {
    let origin =
        origin("Location: http://app:8080/next\r\nCache-Control: max-age=60\r\nRefresh: 0; url=http://app:8080/\r\n");
    let site = format!(
        "cache = true\nproxy = {{ servers = \"{origin}\", rewrite-location = {{ \"http://app:8080/\" = \
         \"$scheme://$host/$http_x_edge/\" }} }}\n"
    );
    let (_folder, serow) = run("[cache]\nmemory = \"1M\"", &site);
    let ask = |edge: &str| serow.ask("/", &format!("X-Edge: {edge}\r\n"));
    let first = ask("one");
    let host = "http://localhost";
    assert_eq!(fields(&first, "location"), [format!("{host}/one/next")], "{}", first.head);
    let second = ask("two;%0d");
    // The response of the first request, with the address of the second.
    assert_eq!(fields(&second, "x-number"), ["0"], "{}", second.head);
    assert_eq!(fields(&second, "location"), [format!("{host}/two%3B%0d/next")]);
    assert_eq!(fields(&second, "refresh"), [format!("0; url={host}/two%3B%0d/")]);
    assert!(fields(&second, "cache-status")[0].starts_with("Serow; hit"));
}

#[test]
fn the_cookie_of_the_proxy_itself_stays() {
    let origin = origin("Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2; Domain=app.internal\r\nLocation: /x\r\n");
    let root = format!("[[upstream]]\nname = \"a\"\nservers = \"{origin}\"\nsticky = \"insert\"");
    let proxy = "[site.proxy]\nupstream = \"a\"\ncookie-path = { \"/\" = \"/app/\" }\ncookie-domain = { \"app.internal\" = \"\" }\n\
                 cookie-flags = { \"*\" = [\"secure\", \"samesite=strict\"] }\nset-response-header = \"X-A: 1\"\n";
    let (_folder, serow) = run(&root, proxy);
    let answer = serow.ask("/", "");
    let cookies = fields(&answer, "set-cookie");
    assert_eq!(cookies[..2], ["a=1; Path=/app/; Secure; SameSite=Strict", "b=2; Secure; SameSite=Strict"]);
    assert!(
        cookies[2].starts_with("route=") && cookies[2].ends_with("; Path=/; HttpOnly; SameSite=Lax"),
        "{cookies:?}"
    );
    assert_eq!((fields(&answer, "location"), fields(&answer, "x-a")), (vec!["/x".to_owned()], vec!["1".to_owned()]));
}
