//! Upstream servers: their status, and changes at run time.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Output,
};

use crate::running::{Running, eventually, output, serow};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

/// A server whose every answer is its name.
fn named(name: &str) -> (TempDir, Running) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("index.html"), name).unwrap();
    let server = Running::start(folder.path(), &[]);
    (folder, server)
}

fn said(output: &Output) -> String {
    String::from_utf8([&output.stdout[..], &output.stderr].concat()).unwrap()
}

/// The servers that answer the next requests, each once, in alphabetical order.
fn answering(proxy: &Running) -> Vec<String> {
    let mut names: Vec<_> = (0..8).map(|_| proxy.get("/").text().to_owned()).collect();
    names.sort();
    names.dedup();
    names
}

/// A server of the status, by its name.
fn server_of(admin: &str, name: &str) -> Value {
    let status: Value = serde_json::from_slice(&output(["status", "--json", "--admin", admin]).stdout).unwrap();
    let servers = status["upstreams"][0]["servers"].as_array().cloned().unwrap_or_default();
    servers.into_iter().find(|server| server["name"] == name).unwrap_or_default()
}

/// The output of `serow upstream` with these words.
fn act(admin: &str, words: &[&str]) -> Output {
    output(["upstream"].into_iter().chain(words.iter().copied()).chain(["--admin", admin]))
}

/// A proxy for these servers, and the address of its admin socket in this folder.
fn proxy_with_admin_socket(folder: &TempDir, servers: &[&str]) -> (Running, String) {
    let admin = format!("unix:{}/admin.sock", folder.path().display());
    let mut command = serow(["proxy", "--listen", "127.0.0.1:0", "--workers", "1", "--admin", &admin]);
    command.args(servers);
    (Running::of(command), admin)
}

#[test]
fn servers_are_taken_out_and_brought_back() {
    let ((_one, one), (_other, other), (_third, third)) = (named("one"), named("other"), named("third"));
    let folder = tempfile::tempdir().unwrap();
    let (proxy, admin) = proxy_with_admin_socket(&folder, &[one.address(), &format!("{},id=b", other.address())]);
    assert_eq!(answering(&proxy), ["one", "other"]);
    let done = act(&admin, &["drain", "upstream", "b"]);
    assert_eq!(said(&done), format!("{} of upstream is draining\n", other.address()));
    assert_eq!((done.status.code(), answering(&proxy)), (Some(0), vec!["one".to_owned()]));
    assert_eq!(server_of(&admin, other.address())["state"], "draining");
    act(&admin, &["up", "upstream", "b"]);
    act(&admin, &["down", "upstream", one.address()]);
    assert_eq!(answering(&proxy), ["other"]);
    act(&admin, &["up", "upstream", one.address()]);
    assert!(act(&admin, &["weight", "upstream", one.address(), "7"]).status.success());
    assert_eq!(server_of(&admin, one.address())["weight"], 7);
    let added = act(&admin, &["add", "upstream", &format!("{},max=5", third.address())]);
    assert_eq!(said(&added), format!("{} of upstream is added\n", third.address()));
    assert!(act(&admin, &["remove", "upstream", one.address()]).status.success());
    assert_eq!(answering(&proxy), ["other", "third"]);
    assert_eq!(server_of(&admin, third.address())["max"], 5);
    let text = said(&output(["status", "--admin", &admin]));
    assert!(text.contains("\nupstream upstream\n  server ") && !text.contains(one.address()), "{text}");
}

#[test]
fn invalid_upstream_commands_are_refused() {
    let (_folder, server) = named("one");
    let folder = tempfile::tempdir().unwrap();
    let (_proxy, admin) = proxy_with_admin_socket(&folder, &[server.address()]);
    let address = server.address();
    let cases: [(&[&str], String, i32); 8] = [
        (&["down", "app", address], "there is no upstream app; available: upstream".to_owned(), 1),
        (&["down", "upstream", "x"], format!("upstream upstream: there is no server x; available: {address}"), 1),
        (
            &["add", "upstream", address],
            format!("upstream upstream: {address} is already a server of this upstream"),
            1,
        ),
        (&["remove", "upstream", address], format!("upstream upstream: {address} is the last server: "), 1),
        (&["weight", "upstream", address, "0"], r#"WEIGHT: "0" is not a whole number from 1 to 65535"#.to_owned(), 2),
        (&["drain", "upstream"], "<SERVER> is missing; see serow upstream drain --help".to_owned(), 2),
        (&["drain"], "<NAME>, <SERVER> is missing; see serow upstream drain --help".to_owned(), 2),
        (&["list", "app"], r#"the server has no upstream "app"; it has upstream"#.to_owned(), 1),
    ];
    for (words, expected, code) in cases {
        let output = act(&admin, words);
        assert!(said(&output).starts_with(&format!("serow: {expected}")), "{words:?}: {}", said(&output));
        assert_eq!(output.status.code(), Some(code), "{words:?}");
    }
}

#[test]
fn upstream_list_prints_the_servers_of_one_upstream_or_of_all() {
    let (_folder, server) = named("one");
    let folder = tempfile::tempdir().unwrap();
    let (_proxy, admin) = proxy_with_admin_socket(&folder, &[server.address()]);
    for words in [&["list"][..], &["list", "upstream"]] {
        let listed = String::from_utf8(act(&admin, words).stdout).unwrap();
        assert!(listed.starts_with("upstream upstream\n") && listed.contains(server.address()), "{words:?}: {listed}");
    }
    let json = act(&admin, &["list", "upstream", "--json"]).stdout;
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json[0]["servers"][0]["name"], server.address());
}

/// A site whose upstream is in a file.
struct Site {
    folder: TempDir,
    admin: String,
}

impl Site {
    fn new(servers: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let admin = format!("unix:{}/admin.sock", folder.path().display());
        let text = format!(
            "listen = \"127.0.0.1:0\"\nworkers = 1\nadmin = \"unix:admin.sock\"\n\
             [[upstream]]\nname = \"app\"\nservers = {servers:?}\n[[site]]\nproxy = {{ upstream = \"app\" }}\n"
        );
        fs::write(folder.path().join("serow.toml"), text).unwrap();
        Self { folder, admin }
    }

    fn file(&self) -> String {
        self.folder.path().join("serow.toml").display().to_string()
    }

    fn run(&self) -> Running {
        Running::of(serow(["run", "-c", &self.file()]))
    }

    /// Reloads with a new process.
    fn reload(&self) {
        let reloaded = output(["reload", "--new-process", "--admin", &self.admin]);
        assert!(reloaded.status.success(), "{}", said(&reloaded));
    }

    /// Whether the status says this of a server.
    fn state(&self, server: &Running) -> Value {
        server_of(&self.admin, server.address())["state"].clone()
    }
}

#[test]
fn changes_with_persist_outlive_reloads_and_crashes() {
    let ((_one, one), (_other, other)) = (named("one"), named("other"));
    let site = Site::new(&[one.address(), other.address()]);
    let server = site.run();
    assert_eq!(answering(&server), ["one", "other"]);
    // The file says where the admin is.
    let done = output(["upstream", "drain", "app", one.address(), "-c", &site.file()]);
    assert_eq!(said(&done), format!("{} of app is draining\n", one.address()));
    assert_eq!(answering(&server), ["other"]);
    site.reload();
    assert_eq!((site.state(&one), answering(&server).len()), ("up".into(), 2));
    act(&site.admin, &["down", "app", one.address(), "--persist"]);
    act(&site.admin, &["drain", "app", one.address(), "--persist"]);
    site.reload();
    assert_eq!((site.state(&one), answering(&server)), ("draining".into(), vec!["other".to_owned()]));
    let status = said(&output(["status", "--admin", &site.admin]));
    let line = format!("\nremembered for later generations\n  drain app {}\n", one.address());
    assert!(status.ends_with(&line), "{status}");
    let process = |status: &str| {
        let line = status.lines().find(|line| line.contains("serving, process")).unwrap_or_default();
        line.split("process ").nth(1).and_then(|rest| rest.split(',').next()?.parse::<i32>().ok())
    };
    let crashed = process(&status).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(crashed).unwrap(), Signal::KILL).unwrap();
    eventually("another generation serves", || {
        process(&said(&output(["status", "--admin", &site.admin]))).filter(|pid| *pid != crashed)
    });
    assert_eq!((site.state(&one), answering(&server)), ("draining".into(), vec!["other".to_owned()]));
    let refused = act(&site.admin, &["up", "ap", one.address()]);
    assert_eq!(said(&refused), "serow: there is no upstream ap; available: app\n");
    act(&site.admin, &["up", "app", one.address(), "--persist"]);
    assert_eq!(answering(&server), ["one", "other"]);
}

#[test]
fn the_counts_of_all_generations_are_added() {
    let (_folder, one) = named("one");
    let site = Site::new(&[one.address()]);
    let server = site.run();
    assert_eq!(answering(&server), ["one"]);
    site.reload();
    assert_eq!(answering(&server), ["one"]);
    eventually("all are counted", || (server_of(&site.admin, one.address())["requests"] == 16).then_some(()));
}

#[test]
fn there_may_be_many_servers() {
    let servers: Vec<_> =
        (1..=2000).map(|number| format!("127.1.{}.{}:9000", number / 250, number % 250 + 1)).collect();
    let site = Site::new(&servers.iter().map(String::as_str).collect::<Vec<_>>());
    let _server = site.run();
    // An answer that takes long is in the status when it is asked for again.
    let state = |server: &str| server_of(&site.admin, server)["state"].as_str().map(str::to_owned);
    eventually("the last server is in the status", || state(&servers[1999]).filter(|state| state == "up"));
    assert!(act(&site.admin, &["remove", "app", &servers[0]]).status.success());
    eventually("the first is in it no more", || state(&servers[0]).is_none().then_some(()));
    assert_eq!(state(&servers[1999]).as_deref(), Some("up"));
}

/// A request over TCP.
fn post(address: &str, token: Option<&str>, body: &str) -> crate::running::Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(crate::running::TIMEOUT)).unwrap();
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    let length = body.len();
    let head = "POST /upstreams HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    write!(stream, "{head}{token}Content-Length: {length}\r\n\r\n{body}").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    crate::running::Answer::parse(&bytes)
}

#[test]
fn over_tcp_a_token_is_needed_to_change_something() {
    let (_folder, one) = named("one");
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    fs::write(&token, "0123456789abcdef\n").unwrap();
    let [admin, bare] = serow_ports::free_ports::<2>().map(|port| format!("127.0.0.1:{port}"));
    let proxy = |admin: &str, more: &[&Path]| {
        let mut command =
            serow(["proxy", one.address(), "--listen", "127.0.0.1:0", "--workers", "1", "--admin", admin]);
        for file in more {
            command.arg("--admin-token-file").arg(file);
        }
        Running::of(command)
    };
    let (_proxy, _bare) = (proxy(&admin, &[&token]), proxy(&bare, &[]));
    let command = format!(r#"{{"upstream":"upstream","server":"{}","action":"drain"}}"#, one.address());
    for (token, expected) in [(Some("0123456789abcdef"), 200), (Some("0123456789abcdeg"), 401), (None, 401)] {
        assert_eq!(post(&admin, token, &command).status(), expected, "{token:?}");
    }
    assert_eq!(post(&bare, Some("0123456789abcdef"), &command).status(), 403);
    let words = ["up", "upstream", one.address()];
    assert!(said(&act(&admin, &words)).starts_with("serow: the token is missing or wrong"));
    assert!(said(&act(&bare, &words)).starts_with("serow: over TCP, changes need a token"));
    assert!(output(["status", "--admin", &admin]).status.success());
    let file = token.to_str().unwrap();
    let done = output(["upstream"].into_iter().chain(words).chain(["--admin", &admin, "--admin-token-file", file]));
    assert_eq!(said(&done), format!("{} of upstream is up\n", one.address()));
    assert_eq!(post(&admin, Some("0123456789abcdef"), "{}").status(), 400);
    let lost = command.replace("drain", "remove");
    assert_eq!(post(&admin, Some("0123456789abcdef"), &lost).status(), 422);
}

#[test]
fn a_reload_may_change_the_token() {
    let (_folder, one) = named("one");
    let site = Site::new(&[one.address()]);
    let port = format!("127.0.0.1:{}", serow_ports::free_port());
    let write = |token: &str| {
        fs::write(site.folder.path().join(token), token).unwrap();
        let text = format!(
            "listen = \"127.0.0.1:0\"\nworkers = 1\nadmin = {port:?}\nadmin-token-file = {token:?}\n\
             [[site]]\nproxy = {{ servers = {:?} }}\n",
            one.address()
        );
        fs::write(site.file(), text).unwrap();
    };
    let (first, second) = ("first-0123456789abcdef", "second-0123456789abcdef");
    write(first);
    let _server = site.run();
    // Those who ask find the token by the file, as it is now.
    write(second);
    assert!(!output(["reload", "-c", &site.file()]).status.success());
    let token = site.folder.path().join(first).display().to_string();
    let reloaded = output(["reload", "--admin", &port, "--admin-token-file", &token]);
    assert!(reloaded.status.success(), "{}", said(&reloaded));
    assert!(output(["upstream", "down", one.address(), one.address(), "-c", &site.file()]).status.success());
    let late = output(["reload", "--admin", &port, "--admin-token-file", &token]);
    assert!(said(&late).contains("the token is missing or wrong"), "{}", said(&late));
}

#[test]
fn the_list_has_tengines_formats() {
    let (_folder, one) = named("one");
    let port = format!("127.0.0.1:{}", serow_ports::free_port());
    let mut command = serow(["proxy", one.address(), "127.0.0.1:1", "--listen", "127.0.0.1:0", "--admin", &port]);
    command.args(["--check", "tcp", "--check-interval", "100ms", "--check-fall", "1"]);
    let _proxy = Running::of(command);
    let get = |path: &str| crate::running::exchange(TcpStream::connect(&port).unwrap(), path, "");
    eventually("the second is down", || {
        get("/upstreams?format=csv").text().contains(",127.0.0.1:1,down,0,").then_some(())
    });
    let down: Value = serde_json::from_str(get("/upstreams?format=json&status=down").text()).unwrap();
    assert_eq!((&down["servers"]["total"], &down["servers"]["up"]), (&1.into(), &0.into()));
    assert_eq!(down["servers"]["server"][0]["name"], "127.0.0.1:1");
    for (path, media_type, expected) in [
        ("/upstreams", "text/html; charset=utf-8", "<title>Serow: upstreams</title>"),
        ("/upstreams?format=csv", "text/plain; charset=utf-8", "0,upstream,"),
        ("/upstreams?format=prometheus", "text/plain; charset=utf-8", "nginx_upstream_count_down 1"),
        (
            "/metrics",
            "text/plain; version=0.0.4; charset=utf-8",
            "serow_upstream_check_up{upstream=\"upstream\",server=",
        ),
    ] {
        let answer = get(path);
        assert_eq!((answer.status(), answer.field("content-type")), (200, Some(media_type)), "{path}");
        assert!(answer.text().contains(expected), "{}", answer.text());
    }
    assert_eq!(get("/upstreams?format=xml").status(), 400);
}
