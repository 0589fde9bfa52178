//! Which route, and which believed field, a stored response belongs to.

use std::{
    fs,
    io::Write,
    net::{Ipv4Addr, TcpStream},
    path::Path,
};

use tempfile::TempDir;

use crate::{
    cache::{Origin, send, status},
    running::{Answer, Running, eventually, received, serow},
};

/// `serow run` with these settings, and a cache in a folder.
fn run(folder: &TempDir, sites: &str) -> Running {
    let settings = format!("listen = \"127.0.0.1:0\"\n[cache]\nmemory = \"1M\"\ndir = \"cache\"\n{sites}");
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    Running::of(command)
}

fn ask(port: u16, fields: &str) -> Answer {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    write!(stream, "GET /fresh HTTP/1.1\r\nHost: {fields}\r\nConnection: close\r\n\r\n").unwrap();
    received(stream)
}

/// Waits until so many responses are in files.
fn written(folder: &Path, count: usize) {
    eventually("the responses are written", || {
        let shards = fs::read_dir(folder.join("cache")).unwrap().map(|entry| entry.unwrap().path());
        let shards = shards.filter(|path| path.is_dir() && !path.ends_with("new"));
        (shards.flat_map(|shard| fs::read_dir(shard).unwrap()).count() >= count).then_some(())
    });
}

#[test]
fn sites_that_change_places_do_not_get_what_the_other_has_stored() {
    let (origins, folder) = ([(); 2].map(|()| Origin::start()), tempfile::tempdir().unwrap());
    let [inside, outside] = serow_ports::free_ports();
    let site = |port: u16, origin: &Origin| {
        let (listen, server) = (format!("listen = [\"127.0.0.1:{port}\"]"), origin.address);
        format!("[[site]]\n{listen}\ncache = true\nproxy = {{ servers = \"{server}\" }}\n")
    };
    let (internal, public) = (site(inside, &origins[0]), site(outside, &origins[1]));
    for sites in [format!("{public}{internal}"), public.clone()] {
        let mut serow = run(&folder, &format!("{internal}{public}"));
        assert_eq!(status(&ask(inside, "b.example")), "Serow; fwd=uri-miss; stored");
        written(folder.path(), 1);
        serow.stop();
        let mut serow = run(&folder, &sites);
        assert!(status(&ask(outside, "b.example")).starts_with("Serow; fwd=uri-miss"), "{sites}");
        if sites.contains(&internal) {
            assert!(status(&ask(inside, "b.example")).starts_with("Serow; hit"), "{sites}");
        }
        serow.stop();
        fs::remove_dir_all(folder.path().join("cache")).unwrap();
    }
}

#[test]
fn routes_that_change_places_do_not_get_what_the_other_has_stored() {
    let (origins, folder) = ([(); 2].map(|()| Origin::start()), tempfile::tempdir().unwrap());
    let route = |when: &str, origin: &Origin| {
        let server = origin.address;
        format!("[[site.route]]\n{when}\ncache = true\nproxy = {{ servers = \"{server}\" }}\n")
    };
    let first = route("path = \"/fresh*\"\nwhen = { header = { X-Inside = \"1\" } }", &origins[0]);
    let second = route("path-regex = \"/fresh*\"\nwhen = { header = { X-Inside = \"2\" } }", &origins[1]);
    let mut serow = run(&folder, &format!("[[site]]\n{first}{second}"));
    assert_eq!(status(&serow.ask("/fresh", "X-Inside: 1\r\n")), "Serow; fwd=uri-miss; stored");
    written(folder.path(), 1);
    serow.stop();
    let serow = run(&folder, &format!("[[site]]\n{second}{first}"));
    assert!(status(&serow.ask("/fresh", "X-Inside: 2\r\n")).starts_with("Serow; fwd="));
    assert!(status(&serow.ask("/fresh", "X-Inside: 1\r\n")).starts_with("Serow; hit"));
}

#[test]
fn urls_of_clients_that_a_rewrite_leads_to_one_path_share_no_response() {
    let (origin, folder) = (Origin::start(), tempfile::tempdir().unwrap());
    let server = origin.address;
    let route = |path: &str, rewrite: &str| {
        let key = "{ ignore-query = [\"utm\"] }";
        let proxy = format!("{{ servers = \"{server}\", set-header = \"If-None-Match: $request_uri\" }}");
        format!("[[site.route]]\npath = \"{path}\"\n{rewrite}cache = {key}\nproxy = {proxy}\n")
    };
    let own = route("/*/public", "rewrite = \"/public\"\n");
    let passing = "[[site.route]]\npath = \"/on/*\"\nrewrite = \"/public\"\n";
    let serow = run(&folder, &format!("[[site]]\n{own}{passing}{}", route("/public", "")));
    for (path, status_start) in [
        ("/a/public", "Serow; fwd=uri-miss"),
        ("/b/public", "Serow; fwd=uri-miss"),
        ("/a/public?x=1", "Serow; fwd=uri-miss"),
        ("/on/1", "Serow; fwd=uri-miss"),
        ("/on/2", "Serow; fwd=uri-miss"),
        ("/public", "Serow; fwd=uri-miss"),
        ("/a/public", "Serow; hit"),
        ("/a/public?utm=1", "Serow; hit"),
        ("/on/2", "Serow; hit"),
        ("/public", "Serow; hit"),
    ] {
        let answer = serow.get(path);
        assert!(status(&answer).starts_with(status_start), "{path}: {}", status(&answer));
    }
    let asked: Vec<_> = origin.requests();
    let expected = [
        ("", "/a/public"),
        ("", "/b/public"),
        ("?x=1", "/a/public?x=1"),
        ("", "/on/1"),
        ("", "/on/2"),
        ("", "/public"),
    ];
    let expected = expected.map(|(query, uri)| format!("GET /public{query} if-none-match: {uri}"));
    assert_eq!(asked, expected);
}

#[test]
fn another_upstream_does_not_send_what_is_in_the_folder() {
    let (origins, folder) = ([(); 2].map(|()| Origin::start()), tempfile::tempdir().unwrap());
    let start = |origin: &Origin| {
        let (address, cache) = (origin.address.to_string(), folder.path().join("cache"));
        let mut command = serow(["proxy", &address, "--listen", "127.0.0.1:0", "--cache", "1M", "--cache-dir"]);
        command.arg(cache);
        Running::of(command)
    };
    let request = "GET /fresh HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n";
    let mut serow = start(&origins[0]);
    assert_eq!(status(&send(&serow, request)), "Serow; fwd=uri-miss; stored");
    written(folder.path(), 1);
    serow.stop();
    let mut serow = start(&origins[1]);
    assert_eq!(status(&send(&serow, request)), "Serow; fwd=uri-miss; stored");
    serow.stop();
    assert!(status(&send(&start(&origins[0]), request)).starts_with("Serow; "));
}

#[test]
fn the_key_has_what_the_handler_believes() {
    let (origin, folder) = (Origin::start(), tempfile::tempdir().unwrap());
    for trust in ["trust = [\"127.0.0.1\"]", "trust = []"] {
        let server = origin.address;
        let sites = format!("[[site]]\ncache = true\nproxy = {{ servers = \"{server}\", {trust} }}\n");
        let serow = run(&folder, &sites);
        let is_believed = trust.contains("127");
        serow.get("/public");
        for field in ["Host: evil.example", "Prefix: /evil", "Proto: https", "Proto: HTTPS", "Path: /evil"] {
            let answer = serow.ask("/public", &format!("X-Forwarded-{field}\r\n"));
            assert_eq!(status(&answer).starts_with("Serow; fwd=uri-miss"), is_believed, "{trust} {field}");
        }
        // The client's identity does not make another URL.
        let answer = serow.ask("/public", "X-Forwarded-For: 192.0.2.1\r\n");
        assert!(status(&answer).starts_with("Serow; hit"), "{trust}");
        fs::remove_dir_all(folder.path().join("cache")).unwrap();
    }
}
