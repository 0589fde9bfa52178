//! Clients behind trusted proxies, as the access log shows them and as they select a server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    thread,
};

use crate::running::{Answer, Running, exchange, lines_of, serow, site};

const FORMAT: &str = "$remote_addr|$remote_port|$realip_remote_addr|$uri|$upstream_addr";

/// `serow run` with this file, which is in the folder of a site.
fn run(folder: &Path, settings: &str) -> Running {
    let file = folder.join("serow.toml");
    let start =
        format!("listen = \"127.0.0.1:0\"\nworkers = 1\naccess-log = \"access.log\"\naccess-log-format = '{FORMAT}'\n");
    fs::write(&file, format!("{start}{settings}")).unwrap();
    Running::of(serow(["run", "-c", file.to_str().unwrap()]))
}

#[test]
fn the_log_shows_clients_whom_a_trusted_proxy_names() {
    let folder = site();
    let log = folder.path().join("access.log");
    let options = ["--access-log", log.to_str().unwrap(), "--access-log-format", FORMAT];
    let server =
        Running::start(folder.path(), &[&options[..], &["--trust", "127.0.0.0/8", "--trust", "10.0.0.0/8"]].concat());
    let cases = [
        ("", "127.0.0.1"),
        ("X-Forwarded-For: 192.0.2.7\r\n", "192.0.2.7"),
        // The client's own claim stands before its address.
        ("X-Forwarded-For: 1.1.1.1, 192.0.2.7, 10.1.2.3\r\n", "192.0.2.7"),
        ("X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 192.0.2.7:1234\r\n", "192.0.2.7"),
        ("X-Forwarded-For: [2001:db8::7]:80\r\n", "2001:db8::7"),
        ("X-Forwarded-For: 192.0.2.7, x\" 200\r\n", "127.0.0.1"),
        // Only one field names the client.
        ("X-Real-IP: 192.0.2.7\r\nForwarded: for=192.0.2.7\r\n", "127.0.0.1"),
    ];
    for (fields, _) in cases {
        assert_eq!(server.ask("/a.txt", fields).status(), 200);
    }
    let lines = lines_of(&log, cases.len());
    for (line, (fields, expected)) in lines.iter().zip(cases) {
        assert!(line.starts_with(&format!("{expected}|")), "{fields:?}: {line}");
        assert!(line.ends_with("|127.0.0.1|/a.txt|-"), "{line}");
        assert_eq!(line.contains("|-|127"), expected != "127.0.0.1", "{line}");
    }
}

#[test]
fn no_proxy_is_trusted_by_default() {
    let folder = site();
    let log = folder.path().join("access.log");
    let server = run(folder.path(), "[[site]]\nfiles = { root = \".\" }\n");
    server.ask("/a.txt", "X-Forwarded-For: 192.0.2.7\r\n");
    assert!(lines_of(&log, 1)[0].starts_with("127.0.0.1|"));
}

#[test]
fn the_trust_of_a_route_is_that_of_its_lines() {
    let folder = site();
    let log = folder.path().join("access.log");
    let upstream = Running::start(folder.path(), &[]);
    let address = upstream.address();
    let routes = [
        ("/own/*", format!("proxy = {{ servers = \"{address}\", trust = \"127.0.0.1\" }}"), "192.0.2.7"),
        ("/nobody/*", format!("proxy = {{ servers = \"{address}\", trust = [] }}"), "127.0.0.1"),
        ("/other/*", format!("proxy = {{ servers = \"{address}\", trust = \"10.0.0.0/8\" }}"), "127.0.0.1"),
        ("/inherited/*", format!("proxy = {{ servers = \"{address}\" }}"), "127.0.0.1"),
        ("/files/*", "files = { root = \".\" }".to_owned(), "127.0.0.1"),
        ("/moved/*", "redirect = { to = \"/files/*\" }".to_owned(), "127.0.0.1"),
    ];
    let tables = routes.iter().map(|(path, handler, _)| format!("[[site.route]]\npath = \"{path}\"\n{handler}\n"));
    let server = run(folder.path(), &format!("[[site]]\n{}", tables.collect::<String>()));
    let paths: Vec<_> = routes.iter().map(|(path, _, _)| path.replace('*', "a.txt")).collect();
    for path in &paths {
        server.ask(path, "X-Forwarded-For: 192.0.2.7\r\n");
    }
    let lines = lines_of(&log, paths.len());
    for ((path, (_, _, expected)), line) in paths.iter().zip(&routes).zip(lines) {
        assert!(line.starts_with(&format!("{expected}|")) && line.contains(&format!("|{path}|")), "{path}: {line}");
    }
}

#[test]
fn the_root_trusts_for_all_routes_and_the_hash_of_the_client() {
    let folder = site();
    let log = folder.path().join("access.log");
    let upstreams = [(); 8].map(|()| Running::start(folder.path(), &[]));
    let servers: Vec<_> = upstreams.iter().map(|server| format!("\"{}\"", server.address())).collect();
    let settings = format!(
        "trust = \"127.0.0.1\"\n[[upstream]]\nname = \"app\"\nbalance = \"hash\"\nservers = [{}]\n[[site]]\n\
         proxy = {{ upstream = \"app\" }}\n",
        servers.join(", ")
    );
    let server = run(folder.path(), &settings);
    for client in 1..=16 {
        for _ in 0..2 {
            server.ask("/a.txt", &format!("X-Forwarded-For: 192.0.2.{client}\r\n"));
        }
    }
    let mut of_clients = BTreeMap::<_, BTreeSet<_>>::new();
    for line in lines_of(&log, 32) {
        let parts: Vec<_> = line.split('|').map(str::to_owned).collect();
        of_clients.entry(parts[0].clone()).or_default().insert(parts[4].clone());
    }
    assert!(of_clients.len() == 16 && of_clients.values().all(|servers| servers.len() == 1), "{of_clients:?}");
    // Clients are spread, which they would not be if all were the one peer.
    let reached: BTreeSet<_> = of_clients.into_values().flatten().collect();
    assert!(reached.len() > 3, "{reached:?}");
}

#[test]
fn the_proxy_protocol_names_the_peer_that_has_to_be_trusted() {
    let folder = site();
    let log = folder.path().join("access.log");
    let options = ["--access-log", log.to_str().unwrap(), "--access-log-format", FORMAT, "--proxy-protocol"];
    // Connections come from this machine, which is trusted here, but say that they are from elsewhere.
    let server =
        Running::start(folder.path(), &[&options[..], &["--trust", "127.0.0.1", "--trust", "10.0.0.0/8"]].concat());
    let cases = [("203.0.113.9", "203.0.113.9"), ("10.0.0.5", "192.0.2.7")];
    for (number, (peer, expected)) in cases.into_iter().enumerate() {
        let mut stream = server.connect();
        write!(stream, "PROXY TCP4 {peer} 192.0.2.1 4711 80\r\n").unwrap();
        assert_eq!(exchange(stream, "/a.txt", "X-Forwarded-For: 192.0.2.7\r\n").status(), 200);
        let line = lines_of(&log, number + 1).remove(number);
        assert!(line.starts_with(&format!("{expected}|")) && line.contains(&format!("|{peer}|")), "{line}");
    }
}

/// Routes that depend on the client: some are for certain clients only, the others show its variables.
const ROUTES: &str = "[[map]]\nfrom = \"$remote_addr\"\nto = \"known\"\nvalues = { \"192.0.2.*\" = \"yes\" }\ndefault = \"no\"\n\
    [[site]]\n\
    [[site.route]]\npath = \"/inside\"\nwhen = { client = \"192.0.2.0/24\" }\nrespond = { body = \"inside\" }\n\
    [[site.route]]\npath = \"/tls\"\nwhen = { scheme = \"https\" }\nrespond = { body = \"tls\" }\n\
    [[site.route]]\npath = \"/to\"\nredirect = { to = \"$scheme://a.example/$known\" }\n\
    [[site.route]]\npath = \"/*\"\nheaders = { X-Client = \"$remote_addr:$remote_port:$https\" }\n\
    respond = { body = \"$remote_addr $scheme $known\" }\n";

fn whole(answer: &Answer) -> String {
    format!("{}\r\n\r\n{}", answer.head, answer.text())
}

#[test]
fn routes_see_clients_whom_a_trusted_proxy_names() {
    let folder = site();
    let server = run(folder.path(), &format!("trust = [\"127.0.0.1\", \"10.0.0.0/8\"]\n{ROUTES}"));
    let cases = [
        // path, fields, what the response has
        ("/inside", "X-Forwarded-For: 192.0.2.7\r\n", "\r\n\r\ninside"),
        ("/inside", "X-Forwarded-For: 192.0.2.7, 10.0.0.2\r\n", "\r\n\r\ninside"),
        ("/inside", "X-Forwarded-For: 203.0.113.1\r\nX-Forwarded-For: 192.0.2.7\r\n", "\r\n\r\ninside"),
        ("/inside", "X-Forwarded-For: [::ffff:192.0.2.7]:80\r\n", "\r\n\r\ninside"),
        // The client's own claim stands before its address.
        ("/inside", "X-Forwarded-For: 192.0.2.7, 203.0.113.1\r\n", "\r\n\r\n203.0.113.1 http no"),
        ("/inside", "", "\r\n\r\n127.0.0.1 http no"),
        ("/tls", "X-Forwarded-Proto: https\r\n", "\r\n\r\ntls"),
        ("/tls", "X-Forwarded-Proto: http\r\n", "\r\n\r\n127.0.0.1 http no"),
        ("/to", "X-Forwarded-Proto: https\r\nX-Forwarded-For: 192.0.2.7\r\n", "ocation: https://a.example/yes\r\n"),
        ("/x", "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n", "X-Client: 192.0.2.7::on\r\n"),
        ("/x", "X-Forwarded-For: 2001:db8::7\r\n", "\r\n\r\n2001:db8::7 http no"),
    ];
    for (path, fields, expected) in cases {
        let text = whole(&server.ask(path, fields));
        assert!(text.contains(expected), "{path} {fields:?}: {text}");
    }
}

#[test]
fn routes_ignore_forged_fields_of_peers_that_are_not_trusted() {
    let folder = site();
    for trust in ["", "trust = \"10.0.0.0/8\"\n"] {
        let server = run(folder.path(), &format!("{trust}{ROUTES}"));
        for path in ["/inside", "/tls"] {
            let text = whole(&server.ask(path, "X-Forwarded-For: 192.0.2.7\r\nX-Forwarded-Proto: https\r\n"));
            assert!(text.contains("\r\n\r\n127.0.0.1 http no"), "{trust} {path}: {text}");
        }
    }
}

#[test]
fn another_field_names_the_client_for_the_log_routes_and_servers() {
    let folder = site();
    let log = folder.path().join("access.log");
    let origin = origin();
    let settings = format!(
        "trust = \"127.0.0.1\"\ntrust-header = \"CF-Connecting-IP\"\n[[site]]\n\
         [[site.route]]\npath = \"/nobody/*\"\nproxy = {{ servers = \"{origin}\", trust = [] }}\n\
         [[site.route]]\npath = \"/*\"\nwhen = {{ client = \"192.0.2.0/24\" }}\nheaders = {{ X-Client = \"$remote_addr\" }}\n\
         proxy = {{ servers = \"{origin}\" }}\n\
         [[site.route]]\npath = \"/*\"\nrespond = {{ status = 403 }}\n"
    );
    let server = run(folder.path(), &settings);
    let forged = "X-Forwarded-For: 192.0.2.9\r\n";
    let cases = [
        ("CF-Connecting-IP: 192.0.2.7\r\n", 200, "192.0.2.7"),
        // A name that the client gives to its connection's fields removes nothing.
        ("cf-connecting-ip: 192.0.2.7\r\nConnection: cf-connecting-ip\r\n", 200, "192.0.2.7"),
        ("", 403, "127.0.0.1"),
        ("CF-Connecting-IP: 192.0.2.7, 192.0.2.8\r\n", 403, "127.0.0.1"),
        ("CF-Connecting-IP: unknown\r\n", 403, "127.0.0.1"),
    ];
    for (fields, status, client) in cases {
        let answer = server.ask("/a", &format!("{forged}{fields}"));
        assert_eq!(answer.status(), status, "{fields}");
        if status == 200 {
            assert_eq!(answer.field("x-client"), Some(client));
            let head = answer.text().to_ascii_lowercase();
            assert!(head.contains(&format!("x-forwarded-for: {client}, 127.0.0.1\r\n")), "{head}");
        }
    }
    let answer = server.ask("/nobody/a", &format!("{forged}CF-Connecting-IP: 192.0.2.7\r\n"));
    assert!(answer.text().to_ascii_lowercase().contains("x-forwarded-for: 127.0.0.1\r\n"), "{}", answer.text());
    let clients = cases.iter().map(|(_, _, client)| *client).chain(["127.0.0.1"]);
    for (line, client) in lines_of(&log, cases.len() + 1).iter().zip(clients) {
        assert!(line.starts_with(&format!("{client}|")), "{line}");
    }
}

#[test]
fn the_field_of_clients_that_are_not_trusted_is_removed() {
    let folder = site();
    let settings = format!(
        "trust = \"10.0.0.0/8\"\ntrust-header = \"X-Client-Address\"\n[[site]]\nproxy = {{ servers = \"{}\" }}\n",
        origin()
    );
    let server = run(folder.path(), &settings);
    let answer = server.ask("/a", "X-Client-Address: 192.0.2.7\r\nX-Forwarded-For: 192.0.2.9\r\n");
    let head = answer.text().to_ascii_lowercase();
    assert!(head.contains("x-forwarded-for: 127.0.0.1\r\n") && !head.contains("192.0.2."), "{head}");
}

/// A server that responds with the head of the request.
pub(crate) fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut head, mut byte) = (Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
                head.push(byte[0]);
            }
            let length = head.len();
            let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all(&head);
        }
    });
    address
}
