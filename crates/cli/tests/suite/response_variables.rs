//! Variables of responses: in their own fields, and in the log.

use std::{io::Write, net::TcpStream};

use crate::{
    rewriting::{fields, origin, run},
    running::{lines_of, received},
};

#[test]
fn fields_say_what_cache_and_servers_did() {
    let origin = origin("Cache-Control: max-age=60\r\n");
    let site = format!(
        "headers = {{ X-Cache = \"$upstream_cache_status\" }}\n\
         response-headers = [{{ add = \"X-By\", value = \"$upstream_addr $upstream_status $upstream_response_time\" }}]\n\
         [[site.route]]\npath = \"/live\"\nheaders = {{ X-Route = \"$upstream_addr\" }}\nproxy = {{ servers = \"{origin}\" }}\n\
         [[site.route]]\npath = \"/*\"\ncache = true\nproxy = {{ servers = \"{origin}\" }}\n"
    );
    let (_folder, serow) = run("[cache]\nmemory = \"1M\"", &site);
    let cases = [("/a", "", &["MISS"][..], true), ("/a", "", &["HIT"], false), ("/live", "", &[], true)];
    for (path, head, cache, has_server) in cases {
        let answer = serow.ask(path, head);
        assert_eq!(fields(&answer, "x-cache"), cache, "{}", answer.head);
        let by = fields(&answer, "x-by");
        match has_server {
            true => assert!(by[0].starts_with(&format!("{origin} 302 0.")), "{by:?}"),
            false => assert!(by.is_empty(), "{by:?}"),
        }
        assert_eq!(fields(&answer, "x-route").len(), usize::from(path == "/live"));
    }
}

#[test]
fn the_log_has_the_length_of_requests() {
    let (folder, serow) = run(
        "workers = 1\naccess-log = \"access.log\"\naccess-log-format = \"$request_length\"",
        &format!("proxy = {{ servers = \"{}\", buffer-requests = true }}\n", origin("")),
    );
    let requests = [
        ("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 47),
        ("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde", 72),
        (
            "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            78,
        ),
    ];
    for (request, _) in requests {
        let mut stream = TcpStream::connect(serow.address()).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        received(stream);
    }
    let lines = lines_of(&folder.path().join("access.log"), requests.len());
    let expected: Vec<_> = requests.iter().map(|(_, length)| length.to_string()).collect();
    assert_eq!(lines, expected);
}
