//! Why a request gets 404 or 421: in the log, at this machine, and from `serow check --request`.

use std::{fs, path::Path};

use crate::running::{Running, exchange_as, serow, site};

/// `serow run` with these settings, in a folder with a site.
fn run(folder: &Path, settings: &str) -> Running {
    let file = folder.join("serow.toml");
    fs::write(folder.join("users.htpasswd"), USERS).unwrap();
    fs::write(&file, format!("listen = \"127.0.0.1:0\"\nworkers = 1\n{settings}")).unwrap();
    Running::of(serow(["run", "-c", file.to_str().unwrap()]))
}

const USERS: &str = "alice:{SHA}W8r/fyL/UzygmbNAjq2HbA67qac=\n";

const SITES: &str = r#"
[cache]
memory = "1M"

[[site]]
hosts = ["a.example", "www.a.example"]

[[site.route]]
path = "/static/*"
files = { root = "." }

[[site.route]]
path = "/users/*"
allow = "192.0.2.0/24"
basic = { file = "users.htpasswd" }
cache = true
proxy = { servers = "127.0.0.1:1" }

[[site.route]]
path = "/old/*"
redirect = { to = "/new/*" }

[[site.route]]
path = "/icon/*"
rewrite = "/static/icon/*"

[[site.route]]
path = ["/app", "/app/*"]
methods = "GET"
files = { root = ".", missing = "next" }

[[site.route]]
path = "/app/*"
proxy = { servers = "127.0.0.1:1" }

[[site]]
hosts = ["b.example"]
files = { root = "." }
"#;

#[test]
fn the_log_says_why_there_is_nothing() {
    let folder = site();
    let server = run(folder.path(), SITES);
    let root = folder.path().canonicalize().unwrap();
    let root = root.display();
    let of_a = "Host: a.example\r\n";
    for (path, host, status, expected) in [
        (
            "/static/a.txt?secret",
            of_a,
            404,
            format!("GET /static/a.txt: no file {root}/static/a.txt (site a.example, route 1, /static/*)"),
        ),
        ("/none%0a", of_a, 404, "GET /none%0a: no route matches (site a.example)".to_owned()),
        ("/x", "Host: b.example\r\n", 404, format!("GET /x: no file {root}/x (site b.example, /*)")),
        (
            "/",
            "Host: c.example\r\n",
            421,
            "GET /: no site has the host c.example; hosts are a.example, www.a.example, b.example".to_owned(),
        ),
        ("/users/1", of_a, 403, "GET /users/1: 403, since `allow` and `deny` refuse the address 127.0.0.1".to_owned()),
    ] {
        assert_eq!(exchange_as(server.connect(), path, host).status(), status, "{path}");
        let line = server.line_with(path.split('?').next().unwrap());
        assert!(
            line.contains(&format!("{expected}; log-level = \"info\" ")) && line.contains("WARN"),
            "{line}\n{expected}"
        );
        // The first of its kind only, unless the level of the log is info.
        assert_eq!(exchange_as(server.connect(), path, host).status(), status, "{path}");
    }
    let mut server = server;
    server.stop();
    let rest = server.last_lines();
    assert!(!rest.iter().any(|line| line.contains("no file") || line.contains("no route")), "{rest:?}");
}

#[test]
fn with_level_info_each_is_told_and_a_flood_is_not() {
    let folder = site();
    let server = run(folder.path(), &format!("log-level = \"info\"\n{SITES}"));
    let ask = |path: &str| exchange_as(server.connect(), path, "Host: b.example\r\n").status();
    for path in ["/1", "/2", "/3"] {
        assert_eq!(ask(path), 404);
        server.line_with(&format!("GET {path}: no file"));
    }
    for _ in 0..100 {
        assert_eq!(ask("/flood"), 404);
    }
    let mut server = server;
    server.stop();
    let lines = server.last_lines().iter().filter(|line| line.contains("/flood")).count();
    assert!((1..100).contains(&lines), "{lines}");
}

#[test]
fn people_at_this_machine_see_the_hosts() {
    let folder = site();
    let server = run(folder.path(), SITES);
    assert!(server.announcement.contains("http://a.example:"), "{}", server.announcement);
    assert!(server.announcement.contains(" and http://b.example:"), "{}", server.announcement);
    for (host, fields, expected) in [
        ("localhost", "", true),
        ("127.0.0.1:80", "", true),
        ("c.example", "", false),
        ("localhost", "X-Forwarded-For: 192.0.2.1\r\n", false),
    ] {
        let answer = exchange_as(server.connect(), "/", &format!("Host: {host}\r\n{fields}"));
        assert_eq!(answer.status(), 421);
        let text = answer.text();
        let hosts = "hosts are a.example, www.a.example, b.example";
        assert_eq!(text.contains(hosts), expected, "{host} {fields} {text}");
        assert!(text.starts_with("421 Misdirected Request\n"), "{text}");
    }
    let open = run(
        folder.path(),
        "[[site]]\nhosts = \"a.example\"\nfiles = { root = \".\" }\n[[site]]\nfiles = { root = \".\" }\n",
    );
    assert!(open.announcement.contains("http://127.0.0.1:"), "{}", open.announcement);
}

#[test]
fn a_request_can_be_examined_without_a_server() {
    let folder = site();
    fs::write(folder.path().join("users.htpasswd"), USERS).unwrap();
    let settings = folder.path().join("serow.toml");
    fs::write(&settings, SITES).unwrap();
    let root = folder.path().canonicalize().unwrap();
    let root = root.to_str().unwrap();
    let check = |arguments: &[&str]| {
        let output = serow(["check", "-c", settings.to_str().unwrap()]).args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().replace(root, "ROOT")
    };
    for (request, expected) in [
        (
            "GET /static/a.txt",
            "GET /static/a.txt for the host a.example\nsite     a.example\nroute    route 1, /static/*\naccess   for all\n\
             content  no file ROOT/static/a.txt\n",
        ),
        (
            "GET https://b.example/a.txt",
            "GET /a.txt for the host b.example\nsite     b.example\nroute    /*\naccess   for all\ncontent  the file \
             ROOT/a.txt\n",
        ),
        (
            "/users/7",
            "GET /users/7 for the host a.example\nsite     a.example\nroute    route 2, /users/*\naccess   127.0.0.1 is \
             refused (403) by its address\nidentity a password (basic) is needed (401)\ncache    a stored response is \
             sent if there is a fresh one\ncontent  the upstream 127.0.0.1:1 answers\n",
        ),
        (
            "GET /old/x",
            "GET /old/x for the host a.example\nsite     a.example\nroute    route 3, /old/*\naccess   for all\n\
             content  the status 302, to /new/x\n",
        ),
        (
            "GET /icon/a",
            "GET /icon/a for the host a.example\nsite     a.example\nroute    none matches\ncontent  the status 404\n",
        ),
        (
            "GET /app/x",
            "GET /app/x for the host a.example\nsite     a.example\nroute    route 5, /app, /app/* leaves it to the next: \
             no file ROOT/app/x\nroute    route 6, /app/*\naccess   for all\ncontent  the upstream 127.0.0.1:1 answers\n",
        ),
        (
            "GET http://c.example/",
            "GET / for the host c.example\nsite     no site has the host c.example; hosts are a.example, www.a.example, \
             b.example\ncontent  the status 421\n",
        ),
        (
            "POST /nothing",
            "POST /nothing for the host a.example\nsite     a.example\nroute    none matches\ncontent  the status 404\n",
        ),
    ] {
        let said = check(&["--request", request]);
        assert!(said.starts_with(expected), "{request}\n{said}\n{expected}");
    }
    let with_host = check(&["--request", "/a.txt", "--header", "Host: b.example"]);
    assert!(with_host.starts_with("GET /a.txt for the host b.example\n"), "{with_host}");
    for arguments in [&["--request", "nonsense"][..], &["--request", "/", "--header", "x"], &["--header", "a: b"]] {
        let output = serow(["check", "-c", settings.to_str().unwrap()]).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}
