//! Client addresses that are forged, in every spelling, through lists of addresses, limits, and what upstreams receive.

use std::fs;

use tempfile::TempDir;

use crate::running::{Running, lines_of, serow};

/// A server that lets 10.0.0.0/8 in, with a limit of one request in an hour; and its folder.
fn start(trust: &str) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("public")).unwrap();
    fs::write(folder.path().join("public/a.txt"), "a").unwrap();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 1\ntrust = {trust}\naccess-log = \"access.log\"\n\
         access-log-format = '$remote_addr'\n[[limit]]\nname = \"one\"\nrate = \"1/h\"\n[[site]]\n\
         [[site.route]]\npath = \"/allowed/*\"\nallow = [\"10.0.0.0/8\"]\n\
         files = {{ root = \"public\", strip-prefix = true }}\n\
         [[site.route]]\npath = \"/limited/*\"\nlimits = [\"one\"]\n\
         files = {{ root = \"public\", strip-prefix = true }}\n"
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), folder)
}

/// The proxy itself, if it names no client.
const PROXY: &str = "127.0.0.1";
const CLIENT: &str = "10.0.0.7";

/// Fields as a trusted proxy passes them on, and the client that counts.
const FIELDS: [(&str, &str); 33] = [
    ("X-Forwarded-For: 10.0.0.7", CLIENT),
    ("x-forwarded-for:10.0.0.7  ", CLIENT),
    ("X-Forwarded-For: 10.0.0.7:4711", CLIENT),
    ("X-Forwarded-For: [10.0.0.7]", CLIENT),
    ("X-Forwarded-For: ::ffff:10.0.0.7", CLIENT),
    ("X-Forwarded-For: ::FFFF:0a00:0007", CLIENT),
    ("X-Forwarded-For: [::ffff:10.0.0.7]:80", CLIENT),
    ("X-Forwarded-For: , 10.0.0.7 ,,", CLIENT),
    // The client says what stands before its address.
    ("X-Forwarded-For: 192.0.2.1, 10.0.0.7", CLIENT),
    ("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 10.0.0.7", CLIENT),
    ("X-Forwarded-For: 127.0.0.1, 10.0.0.7", CLIENT),
    ("X-Forwarded-For: 10.0.0.7, 127.0.0.1", CLIENT),
    ("X-Forwarded-For: 10.0.0.7\r\nX-Forwarded-For: 192.0.2.1", "192.0.2.1"),
    ("X-Forwarded-For: 10.0.0.7, 192.0.2.1", "192.0.2.1"),
    ("X-Forwarded-For: 10.0.0.7, 2001:db8::1", "2001:db8::1"),
    // Not addresses: whatever stands before them does not count either.
    ("X-Forwarded-For: 010.0.0.7", PROXY),
    ("X-Forwarded-For: 10.7", PROXY),
    ("X-Forwarded-For: 0x0a000007", PROXY),
    ("X-Forwarded-For: 167772167", PROXY),
    ("X-Forwarded-For: 10.0.0.7.", PROXY),
    ("X-Forwarded-For: 10.0.0.7/32", PROXY),
    ("X-Forwarded-For: 10.0.0.7:99999", PROXY),
    ("X-Forwarded-For: 10.0.0.7%eth0", PROXY),
    ("X-Forwarded-For: \"10.0.0.7\"", PROXY),
    ("X-Forwarded-For: for=10.0.0.7", PROXY),
    ("X-Forwarded-For: [10.0.0.7", PROXY),
    ("X-Forwarded-For: 10.0.0.7, unknown", PROXY),
    ("X-Forwarded-For: 10.0.0.7;10.0.0.7", PROXY),
    ("X-Forwarded-For: ", PROXY),
    // Fields that do not count, also under names that others take for those that do.
    ("Forwarded: for=10.0.0.7", PROXY),
    ("X-Real-IP: 10.0.0.7\r\nTrue-Client-IP: 10.0.0.7", PROXY),
    ("X_Forwarded_For: 10.0.0.7", PROXY),
    ("X-Forwarded_For: 10.0.0.7", PROXY),
];

#[test]
fn behind_a_trusted_proxy_each_spelling_is_the_right_client() {
    let (server, folder) = start("[\"127.0.0.1\"]");
    let mut limited = Vec::new();
    for (fields, client) in FIELDS {
        let fields_line = format!("{fields}\r\n");
        let expected = if client == CLIENT { 200 } else { 403 };
        assert_eq!(server.ask("/allowed/a.txt", &fields_line).status(), expected, "{fields}");
        // All spellings of a client have one limit.
        let expected = if limited.contains(&client) { 429 } else { 200 };
        limited.push(client);
        assert_eq!(server.ask("/limited/a.txt", &fields_line).status(), expected, "{fields}");
    }
    let lines = lines_of(&folder.path().join("access.log"), 2 * FIELDS.len());
    for (pair, (fields, client)) in lines.chunks(2).zip(FIELDS) {
        assert_eq!(pair, [client, client], "{fields}");
    }
}

#[test]
fn without_a_trusted_proxy_only_the_peer_counts() {
    let (server, _folder) = start("[]");
    assert_eq!(server.get("/limited/a.txt").status(), 200);
    for (fields, _) in FIELDS {
        let fields_line = format!("{fields}\r\n");
        assert_eq!(server.ask("/allowed/a.txt", &fields_line).status(), 403, "{fields}");
        assert_eq!(server.ask("/limited/a.txt", &fields_line).status(), 429, "{fields}");
    }
}

#[test]
fn upstreams_receive_no_forged_address() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 1\n[[site]]\nproxy = {{ servers = \"{}\" }}\n",
        upstream.local_addr().unwrap()
    );
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    let server = Running::of(command);
    let head = std::thread::scope(|scope| {
        let received = scope.spawn(|| {
            let (mut stream, _) = upstream.accept().unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                std::io::Read::read_exact(&mut stream, &mut byte).unwrap();
                head.push(byte[0]);
            }
            std::io::Write::write_all(&mut stream, b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
            String::from_utf8(head).unwrap().to_lowercase()
        });
        let names =
            ["X_Real_IP", "X-Real_IP", "X_Forwarded_For", "X-Forwarded-For", "X.Real.IP", "X-Real-IP", "Forwarded"];
        let fields: String = names.iter().map(|name| format!("{name}: for=10.0.0.7\r\n")).collect();
        assert_eq!(server.ask("/", &fields).status(), 204);
        received.join().unwrap()
    });
    assert!(!head.contains("10.0.0.7"), "{head}");
    assert!(head.contains("x-forwarded-for: 127.0.0.1"), "{head}");
}
