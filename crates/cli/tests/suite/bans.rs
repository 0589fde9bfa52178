//! Bans and limits of clients: at accept, behind trusted proxies, by `serow ban`, and over reloads and crashes.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::Output,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::running::{Running, TIMEOUT, eventually, exchange, lines_of, output, received, serow};

/// A server with these settings, the files a.txt and large, an admin socket, and the user alice, whose password is "open
/// sesame"; and its folder.
fn start(settings: &str) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("public")).unwrap();
    fs::write(folder.path().join("public/a.txt"), "a").unwrap();
    fs::File::create(folder.path().join("public/large")).unwrap().set_len(50 << 20).unwrap();
    fs::write(folder.path().join("users"), "alice:$2y$05$jO1mS.eJn7.eXQpRiTb5j.UybACQNqGmhKQbb0aUFIAiD0uH7ds3G\n")
        .unwrap();
    let settings = format!("listen = \"127.0.0.1:0\"\nworkers = 1\nadmin = {:?}\n{settings}\n", admin(folder.path()));
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), folder)
}

fn admin(folder: &Path) -> String {
    format!("unix:{}/admin.sock", folder.display())
}

/// Runs `serow ban`, or another command: the exit code and all that it prints.
fn run(folder: &TempDir, words: &[&str]) -> (i32, String) {
    let admin = admin(folder.path());
    let Output { status, stdout, stderr } = output(words.iter().copied().chain(["--admin", &admin]));
    (status.code().unwrap(), String::from_utf8([stdout, stderr].concat()).unwrap())
}

fn status(folder: &TempDir) -> Value {
    serde_json::from_str(&run(folder, &["status", "--json"]).1).unwrap()
}

fn metrics(folder: &TempDir) -> String {
    let mut stream = std::os::unix::net::UnixStream::connect(folder.path().join("admin.sock")).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    received(&mut stream).text().to_owned()
}

/// The status of the response on this connection; `None` if the server closes it instead.
fn status_on(mut stream: TcpStream, path: &str, fields: &str) -> Option<u16> {
    // The server may have closed it by now.
    let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n");
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    text.split(' ').nth(1).map(|status| status.parse().unwrap())
}

/// A connection on which a PROXY header names this client.
fn proxied(server: &Running, client: &str) -> TcpStream {
    let mut stream = server.connect();
    let (family, local) = if client.contains(':') { ("TCP6", "::1") } else { ("TCP4", "127.0.0.1") };
    write!(stream, "PROXY {family} {client} {local} 4711 80\r\n").unwrap();
    stream
}

const FILES: &str = "[[site]]\nfiles = { root = \"public\" }";

const LIMITED: &str = "[[limit]]\nname = \"few\"\nrate = \"1/h\"\nburst = 1\n\
    ban = { after = 3, within = \"1m\", for = \"10m\" }\n\
    [[site]]\nlimits = [\"few\"]\nfiles = { root = \"public\" }";

#[test]
fn administrators_ban_clients_and_reloads_and_crashes_do_not_end_bans() {
    let (server, folder) = start(FILES);
    let get = || status_on(server.connect(), "/a.txt", "");
    let mut open = server.connect();
    write!(open, "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert!(open.read(&mut [0; 1024]).unwrap() > 0);
    assert_eq!(run(&folder, &["ban", "list"]), (0, "nobody is banned\n".to_owned()));
    let added = run(&folder, &["ban", "add", "127.0.0.1", "--for", "10m", "--reason", "a\ntest"]);
    assert_eq!(added, (0, "127.0.0.1 is banned for 10 min 0 s\n".to_owned()));
    server.line_with(r#"admin: ban client="127.0.0.1" for=600 reason="a\ntest", by uid"#);
    assert_eq!(get(), None);
    // A connection that is open already receives a response.
    assert_eq!(exchange(open, "/a.txt", "").status(), 403);
    let list = run(&folder, &["ban", "list"]).1;
    assert!(list.contains("127.0.0.1") && list.contains("administrator  a test"), "{list}");
    for _ in 0..2 {
        assert_eq!(run(&folder, &["reload"]).0, 0);
        assert_eq!(get(), None);
    }
    let serving = || {
        let status = status(&folder);
        let mut generations = status["generations"].as_array()?.iter();
        generations.find(|generation| generation["stage"] == "serving")?["process"].as_i64()
    };
    let before = eventually("a generation serves", serving);
    kill_process(Pid::from_raw(i32::try_from(before).unwrap()).unwrap(), Signal::KILL).unwrap();
    eventually("another generation serves", || serving().filter(|pid| *pid != before));
    assert_eq!(get(), None);
    let json: Value = serde_json::from_str(&run(&folder, &["ban", "list", "--json"]).1).unwrap();
    assert_eq!((&json["banned"], &json["list"][0]["client"]), (&1.into(), &"127.0.0.1".into()));
    assert!(json["list"][0]["remaining_seconds"].as_u64().unwrap() <= 600);
    assert!(run(&folder, &["status"]).1.contains("1 clients are banned"));
    let removed = run(&folder, &["ban", "remove", "127.0.0.1"]);
    assert_eq!(removed, (0, "127.0.0.1 is no longer banned\n".to_owned()));
    assert_eq!(get(), Some(200));
    assert_eq!(run(&folder, &["ban", "remove", "127.0.0.1"]).1, "127.0.0.1 was not banned\n");
    assert_eq!(run(&folder, &["reload"]).0, 0);
    assert_eq!(get(), Some(200));
    assert!(status(&folder)["connections"]["refused_banned"].as_u64().unwrap() >= 1);
}

#[test]
fn clients_who_break_a_limit_are_banned_at_accept() {
    let (server, folder) = start(&format!("proxy-protocol = true\n{LIMITED}"));
    let get = |client: &str| status_on(proxied(&server, client), "/a.txt", "");
    let outcomes: Vec<_> = (0..7).map(|_| get("2001:db8::1")).collect();
    assert_eq!(outcomes, [Some(200), Some(200), Some(429), Some(429), Some(429), None, None]);
    server.line_with("limit few: a client is banned for 600 seconds");
    // Of the same network, and of others.
    assert_eq!([get("2001:db8::ffff"), get("2001:db8:0:1::1"), get("192.0.2.1")], [None, Some(200), Some(200)]);
    let status = status(&folder);
    assert_eq!((&status["bans"]["banned"], &status["bans"]["list"][0]["client"]), (&1.into(), &"2001:db8::/64".into()));
    assert_eq!(status["connections"]["refused_banned"], 3);
    let text = metrics(&folder);
    for line in [
        "serow_limits 1",
        "serow_bans_added_total{origin=\"limit\"} 1",
        "serow_connections_failed_total{at=\"ban\"} 3",
        "serow_limit_requests_total{limit=\"few\",outcome=\"refused\",dry_run=\"false\"} 3",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert_eq!(run(&folder, &["reload"]).0, 0);
    assert_eq!([get("2001:db8::1"), get("192.0.2.1")], [None, Some(200)]);
}

#[test]
fn behind_a_trusted_proxy_requests_of_banned_clients_are_refused_and_never_the_proxy() {
    let (server, folder) = start(&format!("trust = [\"127.0.0.1\"]\n{LIMITED}"));
    let get = |fields: &str| server.ask("/a.txt", fields).status();
    let bad = "X-Forwarded-For: 192.0.2.1\r\n";
    assert_eq!([(); 6].map(|()| get(bad)), [200, 200, 429, 429, 429, 403]);
    assert_eq!(get("X-Forwarded-For: 192.0.2.2\r\n"), 200);
    // An address that the client itself claims does not help.
    assert_eq!(get("X-Forwarded-For: 192.0.2.3, 192.0.2.1\r\n"), 403);
    // The proxy's own requests are limited, but it is not banned.
    assert_eq!([(); 8].map(|()| get("")), [200, 200, 429, 429, 429, 429, 429, 429]);
    let (code, said) = run(&folder, &["ban", "add", "127.0.0.1"]);
    assert!(code == 1 && said.contains("127.0.0.1 is in `trust`"), "{code}: {said}");
    let status = status(&folder);
    assert_eq!((&status["bans"]["banned"], &status["bans"]["refused_requests"]), (&1.into(), &2.into()));
}

#[test]
fn a_client_has_so_many_connections() {
    let (server, folder) = start(&format!("proxy-protocol = true\nmax-connections-per-client = 2\n{FILES}"));
    // A client that has received a response is connected for sure.
    let connected = |client: &str| {
        let mut stream = proxied(&server, client);
        let _ = write!(stream, "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n");
        matches!(stream.read(&mut [0; 1024]), Ok(1..)).then_some(stream)
    };
    let mut first = vec![connected("192.0.2.1").unwrap(), connected("192.0.2.1").unwrap()];
    assert!(connected("192.0.2.1").is_none());
    server.line_with("a client has 2 connections, as many as `max-connections-per-client`");
    let _others =
        [connected("192.0.2.2").unwrap(), connected("2001:db8::1").unwrap(), connected("2001:db8::2").unwrap()];
    assert!(connected("2001:db8::3").is_none());
    first.pop();
    let again = eventually("a connection that ends makes room", || connected("192.0.2.1"));
    assert!(status(&folder)["connections"]["refused_per_client"].as_u64().unwrap() >= 2);
    drop((first, again));
    for _ in 0..50 {
        // Counts do not leak.
        eventually("there is room", || connected("192.0.2.1"));
    }
}

#[test]
fn without_a_proxy_the_peer_counts_and_trusted_proxies_have_any_number() {
    for (trust, expected) in [("[]", false), ("[\"127.0.0.1\"]", true)] {
        let (server, _folder) = start(&format!("trust = {trust}\nmax-connections-per-client = 1\n{FILES}"));
        let mut first = server.connect();
        write!(first, "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert!(first.read(&mut [0; 1024]).unwrap() > 0);
        assert_eq!(status_on(server.connect(), "/a.txt", "").is_some(), expected, "{trust}");
    }
}

#[test]
fn a_client_has_so_many_requests_at_a_time_until_responses_are_sent() {
    let (server, folder) = start(
        "trust = [\"127.0.0.1\"]\n[[site]]\nmax-requests-per-client = 1\n\
         [[site.route]]\npath = \"/free/*\"\nmax-requests-per-client = 0\n\
         files = { root = \"public\", strip-prefix = true }\n\
         [[site.route]]\npath = \"/own/*\"\nmax-requests-per-client = 1\n\
         files = { root = \"public\", strip-prefix = true }\n\
         [[site.route]]\npath = \"/*\"\nfiles = { root = \"public\" }",
    );
    let from = |client: &str| format!("X-Forwarded-For: {client}\r\n");
    // A download that is not read.
    let mut slow = server.connect();
    write!(slow, "GET /large HTTP/1.1\r\nHost: localhost\r\n{}\r\n", from("192.0.2.1")).unwrap();
    slow.peek(&mut [0]).unwrap();
    let refused = server.ask("/a.txt", &from("192.0.2.1"));
    assert_eq!((refused.status(), refused.field("retry-after")), (429, Some("1")));
    for (path, client, expected) in [
        ("/missing", "192.0.2.1", 429),
        ("/free/a.txt", "192.0.2.1", 200),
        ("/own/a.txt", "192.0.2.1", 200),
        ("/a.txt", "192.0.2.2", 200),
        ("/a.txt", "2001:db8::1", 200),
    ] {
        assert_eq!(server.ask(path, &from(client)).status(), expected, "{path} {client}");
    }
    drop(slow);
    eventually("the request has ended", || (server.ask("/a.txt", &from("192.0.2.1")).status() == 200).then_some(()));
    for _ in 0..50 {
        assert_eq!(server.ask("/a.txt", &from("192.0.2.1")).status(), 200, "counts do not leak");
    }
    assert!(status(&folder)["access"]["requests_refused_per_client"].as_u64().unwrap() >= 2);
}

#[test]
fn the_log_has_users_and_what_limits_decide() {
    let (server, folder) = start(&format!(
        "access-log = \"access.log\"\naccess-log-format = '$uri|$remote_user|$limit_name|$limit_status'\n\
         [[limit]]\nname = \"few\"\nrate = \"1/h\"\n\
         [[limit]]\nname = \"slow\"\nrate = \"1/2s\"\nburst = 9\ndelay = 0\n\
         [[limit]]\nname = \"trial\"\nrate = \"1/h\"\ndry-run = true\n\
         [[site]]\n\
         [[site.route]]\npath = \"/few/*\"\nlimits = [\"trial\", \"few\"]\n{0}\
         [[site.route]]\npath = \"/slow/*\"\nlimits = [\"slow\"]\n{0}\
         [[site.route]]\npath = \"/trial/*\"\nlimits = [\"trial\"]\n{0}\
         [[site.route]]\npath = \"/users/*\"\nbasic = {{ file = \"users\" }}\n{0}\
         [[site.route]]\npath = \"/*\"\nfiles = {{ root = \"public\" }}\n",
        "files = { root = \"public\", strip-prefix = true }\n"
    ));
    let alice = "Authorization: Basic YWxpY2U6b3BlbiBzZXNhbWU=\r\n";
    let wrong = "Authorization: Basic YWxpY2U6c2VjcmV0\r\n";
    for (path, fields) in [
        ("/few/a.txt", ""),
        ("/few/a.txt", ""),
        ("/slow/a.txt", ""),
        ("/slow/a.txt", ""),
        ("/trial/a.txt", ""),
        ("/trial/a.txt", ""),
        ("/users/a.txt", alice),
        ("/users/a.txt", wrong),
        ("/a.txt", ""),
    ] {
        server.ask(path, fields);
    }
    let lines = lines_of(&folder.path().join("access.log"), 9);
    let expected = [
        "/few/a.txt|-|trial|PASSED",
        "/few/a.txt|-|few|REJECTED",
        "/slow/a.txt|-|slow|PASSED",
        "/slow/a.txt|-|slow|DELAYED",
        "/trial/a.txt|-|trial|REJECTED_DRY_RUN",
        "/trial/a.txt|-|trial|REJECTED_DRY_RUN",
        "/users/a.txt|alice|-|-",
        "/users/a.txt|alice|-|-",
        "/a.txt|-|-|-",
    ];
    assert_eq!(lines, expected);
    let warning = server.line_with("a password or a name is wrong");
    assert!(!warning.contains("secret") && !warning.contains("alice"), "{warning}");
}

/// A peer that sends requests that it does not finish holds its connection, and is not idle; others wait, and those
/// that are idle make room.
#[test]
fn fifty_idle_connections_of_fifty_do_not_lock_others_out() {
    let (server, _folder) = start(&format!("max-connections = 50\n{FILES}"));
    let connect = || {
        let mut stream = server.connect();
        write!(stream, "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        assert!(stream.read(&mut [0; 1024]).unwrap() > 0);
        stream
    };
    let busy: Vec<_> = (0..10)
        .map(|_| {
            let mut stream = server.connect();
            write!(stream, "GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            stream.peek(&mut [0]).unwrap();
            stream
        })
        .collect();
    let mut attackers: Vec<_> = (0..40).map(|_| connect()).collect();
    for round in 0..3 {
        let began = std::time::Instant::now();
        assert_eq!(server.get("/a.txt").status(), 200);
        // Idle connections stay open for 75 s.
        assert!(began.elapsed() < TIMEOUT / 2, "round {round}: {:?}", began.elapsed());
        // Attackers whose connections were closed connect again.
        attackers.retain_mut(|stream| {
            stream.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            !matches!(stream.read(&mut [0; 16]), Ok(0))
        });
        while attackers.len() < 40 {
            attackers.push(connect());
        }
    }
    // Downloads are not idle, however slow: none was cut.
    for mut stream in busy {
        let mut length = 0;
        let mut piece = vec![0; 1 << 20];
        while length < 50 << 20 {
            match stream.read(&mut piece).unwrap() {
                0 => panic!("a download was cut at {length}"),
                read => length += read,
            }
        }
    }
}
