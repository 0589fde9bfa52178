//! Purges of the response cache: `serow purge`, and the method PURGE.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    process::Output,
};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    cache::{Origin, begin, send, status},
    running::{Answer, Running, eventually, lines_of, output, received, serow},
};

/// `serow run` in front of an origin, with these keys at the root, in `[cache]` and in the route.
fn start([root, cache, route]: [&str; 3]) -> (Running, Origin, TempDir) {
    let (origin, folder) = (Origin::start(), tempfile::tempdir().unwrap());
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkers = 2\nadmin = \"unix:admin.sock\"\n{root}\n[cache]\nmemory = \"1M\"\n{cache}\n\
         [[site]]\n[[site.route]]\npath = \"/*\"\n{route}\nproxy = {{ servers = \"{}\" }}\n",
        origin.address
    );
    (run(&folder, &settings), origin, folder)
}

fn run(folder: &TempDir, settings: &str) -> Running {
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    Running::of(command)
}

/// Runs a command that asks the server in this folder: its exit code, and what it prints.
fn command(folder: &TempDir, words: &[&str]) -> (i32, String) {
    let admin = format!("unix:{}/admin.sock", folder.path().display());
    let Output { status, stdout, stderr } = output(words.iter().copied().chain(["--admin", &admin]));
    (status.code().unwrap(), String::from_utf8([stdout, stderr].concat()).unwrap())
}

fn purge(folder: &TempDir, words: &[&str]) -> String {
    let (code, text) = command(folder, &[&["purge"], words].concat());
    assert_eq!(code, 0, "{text}");
    text
}

/// Sends PURGE for a path of `localhost`, with more fields: the status, and the body.
fn purge_request(serow: &Running, path: &str, fields: &str) -> (u16, String) {
    let request = format!("PURGE {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n");
    let answer = send(serow, &request);
    (answer.status(), answer.text().to_owned())
}

/// Whether the response for a path is stored now; after the request, it is.
fn is_stored(serow: &Running, path: &str) -> bool {
    let answer = serow.get(path);
    assert_eq!(answer.status(), 200);
    status(&answer).contains("; hit; ")
}

fn ask(port: u16, method: &str, host: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "{method} /fresh HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    received(stream)
}

const NOTHING: &str =
    "0 responses removed; a URL has the port that clients name in it, as in http://example.com:8080/page\n";

#[test]
fn the_command_purges_what_it_names() {
    let (serow, _origin, folder) = start(["", "", "cache = true"]);
    let paths = ["/fresh", "/public", "/tagged"];
    let cases: [(&[&str], &str, [bool; 3]); 10] = [
        (&["http://localhost/fresh"], "1 response removed\n", [false, true, true]),
        (&["HTTP://LOCALHOST:80/fresh"], "1 response removed\n", [false, true, true]),
        (&["localhost/fresh", "localhost/public"], "1 response removed\n1 response removed\n", [false, false, true]),
        (&["https://localhost/fresh"], NOTHING, [true, true, true]),
        (&["http://localhost/fresh?"], NOTHING, [true, true, true]),
        (&["--prefix", "localhost"], "3 responses removed\n", [false, false, false]),
        (&["--prefix", "http://localhost/f"], "1 response removed\n", [false, true, true]),
        (&["--prefix", "local"], NOTHING, [true, true, true]),
        (&["--tag", "d e"], "responses with the tag \"d e\" were removed\n", [true, true, false]),
        (&["--all"], "3 responses removed\n", [false, false, false]),
    ];
    for (words, text, kept) in cases {
        for path in paths {
            is_stored(&serow, path);
        }
        assert_eq!(purge(&folder, words), text, "{words:?}");
        assert_eq!(paths.map(|path| is_stored(&serow, path)), kept, "{words:?}");
    }
    purge(&folder, &["--tag", "a\"b", "--soft"]);
    let line = serow.line_with("soft");
    assert!(line.contains(r#"admin: purge tag="a\"b" soft, by uid"#), "{line}");
}

#[test]
fn wrong_commands_purge_nothing_and_say_what_to_write() {
    let (serow, _origin, folder) = start(["", "", "cache = true"]);
    is_stored(&serow, "/fresh");
    let cases: [(&[&str], &str); 5] = [
        (&["--all", "https://a/#b"], "has a fragment"),
        (&["--all", "--prefix", "/a"], "write https://example.com/path"),
        (&["--all", "ftp://a/"], "has another scheme"),
        (&["--all", "--tag", ""], "is not a tag"),
        (&[], "is missing"),
    ];
    for (words, expected) in cases {
        let (code, text) = command(&folder, &[&["purge"], words].concat());
        assert!(code == 2 && text.contains(expected), "{words:?}: {code} {text}");
    }
    assert!(is_stored(&serow, "/fresh"));
    let answer = post(&folder, "{\"purge\":{\"url\":\"a b\"}}");
    assert!(answer.status() == 400 && answer.text().contains("has no valid host"), "{answer:?}");
    assert!(is_stored(&serow, "/fresh"));
    let answer = post(&folder, "{\"purge\":{\"url\":\"localhost/fresh\"}}");
    assert_eq!((answer.status(), answer.text()), (200, "1 response removed\n"));
    assert!(!is_stored(&serow, "/fresh"));
}

fn post(folder: &TempDir, json: &str) -> Answer {
    let mut stream = std::os::unix::net::UnixStream::connect(folder.path().join("admin.sock")).unwrap();
    let length = json.len();
    write!(
        stream,
        "POST /purge HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{json}"
    )
    .unwrap();
    received(stream)
}

#[test]
fn a_soft_purge_makes_responses_stale() {
    let (serow, origin, folder) = start(["", "", "cache = true"]);
    is_stored(&serow, "/fresh");
    is_stored(&serow, "/revalidated");
    origin.requests();
    assert_eq!(purge(&folder, &["--all", "--soft"]), "2 responses made stale\n");
    assert_eq!(status(&serow.get("/fresh")), "Serow; fwd=stale; fwd-status=304; stored");
    assert_eq!(origin.next(), "GET /fresh if-none-match: \"a\"");
    let stale = serow.get("/revalidated");
    assert!(status(&stale).contains("hit") && stale.text() == "0123456789", "{}", stale.head);
    assert_eq!(origin.next(), "GET /revalidated if-none-match: \"a\"");
    eventually("the response is fresh", || {
        let answer = serow.get("/revalidated");
        ["ttl=60", "ttl=5"].iter().any(|ttl| status(&answer).contains(ttl)).then_some(())
    });
}

#[test]
fn clients_do_not_see_tags() {
    let (serow, _origin, _folder) = start(["", "", "cache = true"]);
    for _ in 0..2 {
        let answer = serow.get("/tagged");
        for name in ["surrogate-key", "xkey", "cache-tag"] {
            assert_eq!(answer.field(name), None, "{}", answer.head);
        }
    }
}

#[test]
fn responses_on_their_way_are_purged_too() {
    let (serow, origin, folder) = start(["", "", "cache = true"]);
    let cases: [(&str, &[&str]); 3] =
        [("/slow", &["localhost/slow"]), ("/slow-tagged", &["--tag", "a"]), ("/slow", &["--all"])];
    for (path, words) in cases {
        purge(&folder, &["--all"]);
        let before = begin(&serow, path, "\r\n\r\n01234");
        assert_eq!(origin.requests(), [format!("GET {path}")]);
        purge(&folder, words);
        // It does not get what was requested before the purge.
        let after = begin(&serow, path, "\r\n\r\n01234");
        assert!(after.1.contains("Serow; fwd=uri-miss; stored"), "{path}: {}", after.1);
        assert_eq!(origin.requests(), [format!("GET {path}")]);
        for (mut stream, _) in [before, after] {
            origin.go_on.send(()).unwrap();
            let mut rest = String::new();
            stream.read_to_string(&mut rest).unwrap();
            assert_eq!(rest, "56789");
        }
    }
}

#[test]
fn allowed_clients_purge_by_requests() {
    let (serow, origin, _folder) =
        start(["", "purge-from = [\"127.0.0.1\"]", "cache = { ignore-query = [\"utm_*\"] }"]);
    let stored = |paths: [&str; 2]| paths.map(|path| is_stored(&serow, path));
    let paths = ["/fresh", "/tagged"];
    for (path, fields, text, kept) in [
        ("/fresh", "", "{\"status\":\"ok\",\"responses\":1}\n", [false, true]),
        ("/fresh?utm_source=x", "", "{\"status\":\"ok\",\"responses\":1}\n", [false, true]),
        ("/fresh?a", "", "{\"status\":\"ok\",\"responses\":0}\n", [true, true]),
        ("/", "Surrogate-Key: a x\r\n", "{\"status\":\"ok\",\"tags\":2}\n", [true, false]),
        ("/", "xkey: c\r\n", "{\"status\":\"ok\",\"tags\":1}\n", [true, false]),
        ("/", "Cache-Tag: d e\r\n", "{\"status\":\"ok\",\"tags\":1}\n", [true, false]),
    ] {
        stored(paths);
        assert_eq!(purge_request(&serow, path, fields), (200, text.to_owned()), "{path} {fields}");
        assert_eq!(stored(paths), kept, "{path} {fields}");
    }
    for field in ["Fastly-Soft-Purge", "Serow-Soft-Purge"] {
        assert_eq!(purge_request(&serow, "/fresh", &format!("{field}: 1\r\n")).0, 200);
        assert_eq!(status(&serow.get("/fresh")), "Serow; fwd=stale; fwd-status=304; stored", "{field}");
    }
    let requests = origin.requests();
    assert!(requests.iter().all(|request| request.starts_with("GET ")), "{requests:?}");
}

#[test]
fn requests_that_may_not_purge_are_refused() {
    let many: String = (0..300).map(|number| format!("t{number} ")).collect();
    let refused = |(serow, origin, _folder): (Running, Origin, TempDir), cases: &[(&str, u16)]| {
        is_stored(&serow, "/fresh");
        for (fields, expected) in cases {
            assert_eq!(purge_request(&serow, "/fresh", fields).0, *expected, "{fields}");
            assert_eq!(is_stored(&serow, "/fresh"), *expected != 200, "{fields}");
        }
        let requests = origin.requests();
        assert!(requests.iter().all(|request| request.starts_with("GET ")), "{requests:?}");
    };
    refused(
        start(["", "purge-from = [\"10.0.0.0/8\"]", "cache = true"]),
        &[
            ("", 403),
            // Addresses that the client itself claims.
            ("X-Forwarded-For: 10.0.0.1\r\n", 403),
            ("Forwarded: for=10.0.0.1\r\n", 403),
        ],
    );
    refused(start(["", "purge-from = []", "cache = true"]), &[("", 403)]);
    let many = format!("Surrogate-Key: {many}\r\n");
    refused(
        start(["", "purge-from = [\"127.0.0.1\"]", "cache = true"]),
        &[
            ("", 200),
            // A proxy on this machine that is not in `trust`: anybody may be behind it.
            ("X-Forwarded-For: 127.0.0.1\r\n", 403),
            ("Forwarded: for=127.0.0.1\r\n", 403),
            ("Via: 1.1 a\r\n", 403),
            ("X-Real-IP: 127.0.0.1\r\n", 403),
            // A web page in a browser of this machine.
            ("Origin: http://localhost\r\n", 403),
            ("Sec-Fetch-Site: same-origin\r\n", 403),
            // No tags, or more than are remembered.
            ("Surrogate-Key: \r\n", 400),
            ("Cache-Tag: ,\r\n", 400),
            (many.as_str(), 400),
        ],
    );
    refused(
        start(["trust = [\"127.0.0.1\"]", "purge-from = [\"127.0.0.1\", \"192.0.2.0/24\"]", "cache = true"]),
        &[
            ("X-Forwarded-For: 192.0.2.1\r\n", 200),
            ("", 200),
            ("X-Forwarded-For: 198.51.100.1\r\n", 403),
            ("X-Forwarded-For: 192.0.2.1, 198.51.100.1\r\n", 403),
            // The proxy is allowed, but does not name its client.
            ("X-Forwarded-For: nonsense\r\n", 403),
            ("Forwarded: for=192.0.2.1\r\n", 403),
        ],
    );
}

#[test]
fn without_purge_from_the_method_is_for_the_origin() {
    let (serow, origin, _folder) = start(["", "", "cache = true"]);
    is_stored(&serow, "/fresh");
    assert_eq!(purge_request(&serow, "/missing", "").0, 404);
    assert!(is_stored(&serow, "/fresh"));
    // A method that the cache does not know invalidates its URI if it succeeds (RFC 9111 §4.4).
    assert_eq!(purge_request(&serow, "/fresh", ""), (200, "0123456789".to_owned()));
    assert!(!is_stored(&serow, "/fresh"));
    assert_eq!(origin.requests(), ["GET /fresh", "PURGE /missing", "PURGE /fresh", "GET /fresh"]);
}

#[test]
fn other_methods_do_not_become_purges() {
    let (serow, origin, _folder) = start(["", "purge-from = [\"127.0.0.1\"]", "cache = true"]);
    is_stored(&serow, "/fresh");
    origin.requests();
    let override_field = "X-HTTP-Method-Override: PURGE\r\nSurrogate-Key: a\r\nContent-Length: 0\r\n";
    for method in ["POST", "purge", "PURGES"] {
        let request =
            format!("{method} /missing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{override_field}\r\n");
        assert_eq!(send(&serow, &request).status(), 404, "{method}");
        assert_eq!(origin.requests(), [format!("{method} /missing")]);
    }
    assert!(is_stored(&serow, "/fresh"));
}

#[test]
fn a_forged_host_does_not_purge_what_another_site_has_stored() {
    let (origin, folder) = (Origin::start(), tempfile::tempdir().unwrap());
    let [any, own] = serow_ports::free_ports();
    let proxy = format!("cache = true\nproxy = {{ servers = \"{}\" }}\n", origin.address);
    let settings = format!(
        "listen = \"127.0.0.1:{any}\"\n[cache]\nmemory = \"1M\"\npurge-from = [\"127.0.0.1\"]\n\
         [[site]]\n{proxy}[[site]]\nhosts = [\"b.example\"]\nlisten = [\"127.0.0.1:{own}\"]\n{proxy}"
    );
    let serow = run(&folder, &settings);
    let is_hit = |port| status(&ask(port, "GET", "b.example")).contains("; hit; ");
    assert_eq!([is_hit(any), is_hit(own)], [false, false]);
    assert_eq!([is_hit(any), is_hit(own)], [true, true]);
    // The first site serves every host at its address, but not what the second has stored.
    assert_eq!(ask(any, "PURGE", "B.example").text(), "{\"status\":\"ok\",\"responses\":1}\n");
    assert_eq!([is_hit(any), is_hit(own)], [false, true]);
    assert_eq!(ask(own, "PURGE", "a.example").status(), 421);
    assert_eq!([is_hit(any), is_hit(own)], [true, true]);
    assert_eq!(ask(own, "PURGE", "b.example").status(), 200);
    assert_eq!([is_hit(any), is_hit(own)], [true, false]);
    drop(serow);
}

#[test]
fn routes_for_the_same_path_do_not_get_what_another_has_stored() {
    let (origins, folder) = ([(); 3].map(|()| Origin::start()), tempfile::tempdir().unwrap());
    let [first, second] = serow_ports::free_ports();
    let [inside, outside, other] =
        origins.each_ref().map(|origin| format!("cache = true\nproxy = {{ servers = \"{}\" }}\n", origin.address));
    let settings = format!(
        "listen = []\n[cache]\nmemory = \"1M\"\n[[site]]\nlisten = [\"127.0.0.1:{first}\"]\n\
         [[site.route]]\npath = \"/*\"\nwhen = {{ header = {{ X-Inside = \"1\" }} }}\n{inside}\
         [[site.route]]\npath = \"/*\"\n{outside}\
         [[site]]\nlisten = [\"127.0.0.1:{second}\"]\n[[site.route]]\npath = \"/*\"\n{other}"
    );
    let _serow = run(&folder, &settings);
    for (port, fields) in [(first, "b.example\r\nX-Inside: 1"), (first, "b.example"), (second, "b.example")] {
        for _ in 0..2 {
            assert_eq!(ask(port, "GET", fields).status(), 200);
        }
    }
    assert_eq!(origins.each_ref().map(|origin| origin.requests().len()), [1, 1, 1]);
}

#[test]
fn the_command_line_has_a_cache_to_purge() {
    let origin = Origin::start();
    let start = |options: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        let admin = format!("unix:{}/admin.sock", folder.path().display());
        let mut command = serow(["proxy", &origin.address.to_string(), "--listen", "127.0.0.1:0", "--admin", &admin]);
        command.args(options);
        (Running::of(command), folder)
    };
    let (with_cache, folder) = start(&["--cache", "1M"]);
    assert_eq!([is_stored(&with_cache, "/fresh"), is_stored(&with_cache, "/fresh")], [false, true]);
    assert_eq!(purge(&folder, &["http://localhost/fresh"]), "1 response removed\n");
    assert!(!is_stored(&with_cache, "/fresh"));
    let (_without, folder) = start(&[]);
    let (code, text) = command(&folder, &["purge", "--all"]);
    assert!(code == 1 && text.contains("the server has no cache: write [cache]"), "{code}: {text}");
}

#[test]
fn the_status_and_metrics_tell_what_the_cache_did() {
    let (serow, _origin, folder) = start(["", "", "cache = true"]);
    for path in ["/fresh", "/fresh", "/tagged", "/stale", "/stale", "/private", "/missing"] {
        serow.get(path);
    }
    send(&serow, "POST /missing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    purge(&folder, &["https://localhost/"]);
    let (_, json) = command(&folder, &["status", "--json"]);
    let status: Value = serde_json::from_str(&json).unwrap();
    let cache = &status["cache"];
    for (key, expected) in [
        ("hits", 1),
        ("stale_hits", 0),
        ("revalidated", 1),
        ("collapsed", 0),
        ("misses", 5),
        ("bypassed", 1),
        ("stored", 3),
        ("not_stored", 2),
        ("purges", 1),
        ("evictions", 0),
        ("memory", 1 << 20),
    ] {
        assert_eq!(cache[key], expected, "{key}: {cache}");
    }
    assert!(cache["bytes"].as_u64() > Some(30) && cache["tags"].as_u64() >= Some(5), "{cache}");
    let mut stream = std::os::unix::net::UnixStream::connect(folder.path().join("admin.sock")).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let metrics = received(stream);
    for line in [
        "serow_cache_requests_total{result=\"miss\"} 5",
        "serow_cache_requests_total{result=\"hit\"} 1",
        "serow_cache_evictions_total 0",
    ] {
        assert!(metrics.text().lines().any(|found| found == line), "{line}\n{}", metrics.text());
    }
    let (_, lines) = command(&folder, &["status"]);
    assert!(lines.contains("  requests   "), "{lines}");
    // The next generation begins with an empty cache; what was counted stays.
    assert_eq!(command(&folder, &["reload", "--new-process"]).0, 0);
    let ended = eventually("the first generation has ended", || {
        let status: Value = serde_json::from_str(&command(&folder, &["status", "--json"]).1).unwrap();
        (status["generations"].as_array()?.len() == 1).then_some(status)
    });
    assert_eq!((&ended["cache"]["misses"], &ended["cache"]["bytes"]), (&5.into(), &0.into()));
}

#[test]
fn the_command_lists_what_the_cache_holds() {
    let (serow, _origin, folder) = start(["", "", "cache = true"]);
    for path in ["/fresh", "/tagged", "/language", "/missing"] {
        serow.get(path);
    }
    serow.ask("/language", "Accept-Language: de\r\n");
    let list = |by: &str| {
        let (code, json) = command(&folder, &["cache", "--json", "--by", by]);
        assert_eq!(code, 0, "{json}");
        let answer: Value = serde_json::from_str(&json).unwrap();
        let lines = answer["list"].as_array().unwrap().iter();
        let mut lines: Vec<_> = lines
            .map(|line| (line["name"].as_str().unwrap().to_owned(), line["responses"].as_u64().unwrap()))
            .collect();
        lines.sort();
        lines
    };
    let named =
        |lines: &[(&str, u64)]| lines.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<Vec<_>>();
    let urls = [("http://localhost/fresh", 1), ("http://localhost/language", 2), ("http://localhost/tagged", 1)];
    assert_eq!(list("largest"), named(&urls));
    assert_eq!(list("requested"), named(&urls));
    let (_, json) = command(&folder, &["cache", "--json", "--by", "requested"]);
    let answer: Value = serde_json::from_str(&json).unwrap();
    let first = &answer["list"][0];
    assert_eq!((&first["name"], &first["requests"]), (&"http://localhost/language".into(), &1.into()));
    assert_eq!(list("host"), named(&[("http://localhost", 4)]));
    assert_eq!(list("tag"), named(&[("a", 1), ("b", 1), ("c", 1), ("d e", 1), ("f", 1)]));
    let (_, text) = command(&folder, &["cache"]);
    assert!(text.starts_with("cache       ") && text.contains("http://localhost/fresh"), "{text}");
    let (code, text) = command(&folder, &["cache", "--by", "size"]);
    assert!(code == 2 && text.contains("largest"), "{text}");
}

#[test]
fn logs_have_the_status_of_the_cache_as_nginx_names_it() {
    let format = "access-log = \"access.log\"\naccess-log-format = '$uri $upstream_cache_status'";
    let (serow, _origin, folder) = start([format, "", "cache = true"]);
    for path in ["/fresh", "/fresh", "/stale", "/stale", "/tolerant", "/private"] {
        serow.get(path);
    }
    serow.ask("/tolerant", "X-Fail: 1\r\n");
    serow.ask("/fresh", "X-HTTP-Method: PUT\r\n");
    let expected = [
        "/fresh BYPASS",
        "/fresh HIT",
        "/fresh MISS",
        "/private MISS",
        "/stale MISS",
        "/stale REVALIDATED",
        "/tolerant MISS",
        "/tolerant STALE",
    ];
    // Each worker writes lines of its own.
    let mut lines = lines_of(&folder.path().join("access.log"), expected.len());
    lines.sort();
    assert_eq!(lines, expected);
    let (serow, _origin, folder) = start([format, "", "cache = false"]);
    serow.get("/fresh");
    assert_eq!(lines_of(&folder.path().join("access.log"), 1), ["/fresh -"]);
}

#[test]
fn cache_status_is_left_out_or_has_the_key() {
    let (serow, _origin, _folder) = start(["", "", "cache = { cache-status = \"off\" }"]);
    for _ in 0..2 {
        assert_eq!(serow.get("/fresh").field("cache-status"), None);
    }
    let keys = "cache = { cache-status = \"debug\", key = [\"header:X-A\"] }";
    let (serow, _origin, _folder) = start(["", "", keys]);
    let answer = serow.ask("/fresh?a=\"\\", "X-A: b\"\r\n");
    let expected = r#"Serow; fwd=uri-miss; stored; key="http://localhost/fresh?a=\"\\ x-a b\"""#;
    assert_eq!(status(&answer), expected);
    assert!(status(&serow.get("/public")).ends_with("; key=\"http://localhost/public x-a %00\""));
    let passed = serow.ask("/fresh", "X-Rewrite-URL: /\r\n");
    assert_eq!(status(&passed), "Serow; fwd=bypass");
}
