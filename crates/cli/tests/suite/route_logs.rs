//! Access logs of sites and routes.

use std::{fs, io::Write, path::Path};

use rustix::process::Signal;

use crate::running::{Running, eventually, lines_of, output, received, serow, site};

/// `serow run` with these settings, in a folder with a site.
fn run(folder: &Path, settings: &str) -> Running {
    let file = folder.join("serow.toml");
    fs::write(&file, format!("listen = \"127.0.0.1:0\"\nworkers = 1\nadmin = \"unix:admin.sock\"\n{settings}"))
        .unwrap();
    Running::of(serow(["run", "-c", file.to_str().unwrap()]))
}

fn ask(server: &Running, host: &str, path: &str) {
    let mut stream = server.connect();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    received(stream);
}

const SITES: &str = r#"
access-log = "root.log"
access-log-format = '$server_name $uri $status $id|$1'

[[map]]
from = "$arg_who"
to = "kind"
values = { bot = "0" }
default = "1"

[[site]]
hosts = ["a.example", "www.a.example"]
access-log = { file = "a.log", if = "$kind" }

[[site.route]]
path = "/healthz"
access-log = "off"
respond = { status = 204 }

[[site.route]]
path = "/moved"
redirect = { to = "/a.txt" }

[[site.route]]
path-regex = "^/users/(?<id>[0-9]+)/([a-z]+)$"
access-log = [{ file = "users.log", format = '$id $2 $status $kind' }, "a.log"]
files = { root = "." }

[[site.route]]
path = "/old/*"
rewrite = "/new/*/$1"

[[site.route]]
path = "/new/*"
access-log = { format = '$1 of $uri' }
respond = { status = 200 }

[[site.route]]
path = "/*"
files = { root = ".", missing = "next" }

[[site.route]]
path = "/never"
files = { root = "." }

[[site]]
hosts = ["b.example"]
files = { root = "." }
"#;

#[test]
fn requests_are_in_the_logs_of_their_route() {
    let folder = site();
    let server = run(folder.path(), SITES);
    for (host, path) in [
        ("a.example", "/healthz"),
        ("a.example", "/moved"),
        ("a.example", "/users/7/x"),
        ("www.a.example", "/a.txt"),
        ("a.example", "/a.txt?who=bot"),
        ("a.example", "/missing"),
        ("a.example", "/old/b%22"),
        ("b.example", "/a.txt"),
        ("c.example", "/a.txt"),
    ] {
        ask(&server, host, path);
    }
    let log = |name: &str, count| lines_of(&folder.path().join(name), count);
    assert_eq!(log("root.log", 2), ["b.example /a.txt 200 -|-", "- /a.txt 421 -|-"]);
    let of_site = [
        "a.example /moved 302 -|-",
        "a.example /users/7/x 404 7|7",
        "a.example /a.txt 200 -|a.txt",
        "a.example /missing 404 -|-",
        r"b\x22/b\x22 of /old/b%22",
    ];
    assert_eq!(log("a.log", 5), of_site);
    assert_eq!(log("users.log", 1), ["7 x 404 1"]);
}

#[test]
fn samples_keep_errors_and_statuses_select() {
    let folder = site();
    let server = run(
        folder.path(),
        r#"
access-log = [{ file = "all.log", format = "$status" }, { file = "wrong.log", format = "$uri", status = "4xx" }]

[[site]]

[[site.route]]
path = "/often/*"
access-log = { file = "often.log", format = "$status", sample = 5, keep = "404" }
files = { root = ".", strip-prefix = true }

[[site.route]]
path = "/*"
files = { root = "." }
"#,
    );
    for _ in 0..20 {
        server.get("/often/a.txt");
        server.get("/often/missing");
        server.get("/a.txt");
    }
    server.get("/missing");
    let log = |name: &str, count| lines_of(&folder.path().join(name), count);
    assert_eq!(log("wrong.log", 1), ["/missing"]);
    let often = log("often.log", 24);
    let count = |status| often.iter().filter(|line| *line == status).count();
    assert_eq!((often.len(), count("200"), count("404")), (24, 4, 20));
    assert_eq!(log("all.log", 21).len(), 21);
}

#[test]
fn all_logs_are_opened_again_and_those_that_a_reload_removes_end() {
    let folder = site();
    let sites = |last: &str| {
        let hosts = ["a", "b", "c"].map(|host| {
            let log = if host == "c" { last } else { "shared.log" };
            format!("[[site]]\nhosts = [\"{host}\"]\naccess-log = {{ file = \"{log}\", format = \"$host\" }}\n")
                + "files = { root = \".\" }\n"
        });
        hosts.concat()
    };
    let mut server = run(folder.path(), &sites("own.log"));
    let path = |name: &str| folder.path().join(name);
    for host in ["a", "b", "c", "d"] {
        ask(&server, host, "/a.txt");
    }
    assert_eq!(lines_of(&path("shared.log"), 2), ["a", "b"]);
    assert_eq!(lines_of(&path("own.log"), 1), ["c"]);
    for name in ["shared.log", "own.log"] {
        fs::rename(path(name), path(&format!("{name}.1"))).unwrap();
    }
    server.signal(Signal::USR1);
    for name in ["shared.log", "own.log"] {
        eventually(name, || path(name).exists().then_some(()));
    }
    ask(&server, "c", "/a.txt");
    assert_eq!(lines_of(&path("own.log"), 1), ["c"]);

    let settings = fs::read_to_string(path("serow.toml")).unwrap().replace("own.log", "shared.log");
    fs::write(path("serow.toml"), settings).unwrap();
    ask(&server, "c", "/a.txt");
    assert!(output(["reload", "-c", path("serow.toml").to_str().unwrap()]).status.success());
    // The old generation may take a connection that came during the reload.
    let shared = eventually("a line of the new generation", || {
        ask(&server, "c", "/a.txt");
        fs::read_to_string(path("shared.log")).ok().filter(|text| !text.is_empty())
    });
    assert!(shared.lines().all(|line| line == "c") && lines_of(&path("own.log"), 2).len() >= 2);
    let status = output(["status", "--json", "-c", path("serow.toml").to_str().unwrap()]);
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["access_log"]["lost"], 0);
    assert_eq!(server.stop().code(), Some(0));
}
