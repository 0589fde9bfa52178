//! The admin endpoint: who may use it, its responses, and `serow status`.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        net::{UnixListener, UnixStream},
        process::CommandExt,
    },
    path::Path,
    process::Command,
    thread,
};

use crate::running::{Running, eventually, output, received, site};
use rustix::process::Signal;
use serde_json::Value;
use serow_requirements::requires;
use tempfile::TempDir;

/// A server with an admin socket in its folder.
fn start(folder: &TempDir, options: &[&str]) -> (Running, String) {
    let admin = format!("unix:{}", folder.path().join("admin.sock").display());
    let server = Running::start(folder.path(), &[&["--admin", &admin], options].concat());
    (server, admin)
}

fn curl(arguments: &[&str]) -> String {
    let output = Command::new("curl").args(["-s", "--max-time", "20"]).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The response of the admin endpoint to curl.
fn ask(admin: &str, path: &str, options: &[&str]) -> String {
    let socket = admin.strip_prefix("unix:").unwrap();
    curl(&[&["--unix-socket", socket, &format!("http://localhost{path}")], options].concat())
}

/// The numbers, as soon as they are as they should be.
#[track_caller]
fn settled(admin: &str, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    eventually(what, || {
        last = serde_json::from_str(&ask(admin, "/status", &[])).unwrap();
        wanted(&last).then(|| last.clone())
    })
}

fn status_of(admin: &str) -> (Option<i32>, String, String) {
    let output = output(["status", "--admin", admin]);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_numbers_are_json_and_nobody_else_gets_them() {
    requires!("program:curl");
    let folder = site();
    let (mut server, admin) = start(&folder, &[]);
    let socket = folder.path().join("admin.sock");
    assert_eq!(fs::symlink_metadata(&socket).unwrap().mode() & 0o777, 0o600);
    let answer = ask(&admin, "/status", &["-i"]);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("\r\ncache-control: no-store"), "{head}");
    assert!(head.contains("\r\ncontent-type: application/json"), "{head}");
    assert!(body.lines().count() > 40, "a line for each field");
    let status: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&status["workers"], &status["requests"]["total"]), (&1.into(), &0.into()));
    assert!(ask(&admin, "/", &[]).contains("GET /status"));
    for (path, options, expected) in [
        ("/nothing", &[][..], "404"),
        ("/nothing", &["-X", "DELETE"], "404"),
        ("/status", &["-X", "DELETE"], "405"),
        ("/status", &["-d", "x"], "405"),
        ("/status", &["-I"], "200"),
    ] {
        let options = [options, &["-o", "/dev/null", "-w", "%{http_code}"]].concat();
        assert_eq!(ask(&admin, path, &options), expected, "{path} {options:?}");
    }
    // Not the folder's business, and not in its log.
    assert_eq!(settled(&admin, "nothing is counted", |_| true)["requests"]["total"], 0);
    assert_eq!(server.stop().code(), Some(0));
    assert!(!socket.exists());
}

#[test]
fn requests_of_both_versions_add_up() {
    requires!("program:curl");
    let folder = site();
    let (server, admin) = start(&folder, &[]);
    let url = |path: &str| format!("http://{}{path}", server.address());
    for path in ["/", "/a.txt", "/missing"] {
        curl(&["--http1.1", &format!("{}?[1-20]", url(path))]);
        for _ in 0..5 {
            // One at a time: curl 7.88 breaks off what it asks for on a connection that it uses again.
            curl(&["--http2-prior-knowledge", &url(path)]);
        }
    }
    let status = settled(&admin, "all are counted", |status| {
        status["requests"]["total"] == 75
            && status["requests"]["in_progress"] == 0
            && status["connections"]["open"] == 0
    });
    let (connections, requests, http2) = (&status["connections"], &status["requests"], &status["http2"]);
    assert_eq!([&requests["http1"], &requests["http2"]], [60, 15]);
    assert_eq!([&requests["status_2xx"], &requests["status_4xx"], &requests["status_5xx"]], [50, 25, 0]);
    // "<h1>Hello</h1>", "a" and "404 Not Found" with the end of its line.
    assert_eq!(requests["body_bytes_sent"], 25 * (14 + 1 + 14));
    assert_eq!([&connections["accepted"], &connections["http1"], &connections["http2"]], [18, 3, 15]);
    assert_eq!([&http2["streams_opened"], &http2["streams_active"], &http2["streams_reset_by_peer"]], [15, 0, 0]);
}

#[test]
fn a_thousand_streams_at_once() {
    requires!("program:curl");
    let folder = site();
    fs::write(folder.path().join("large"), vec![b'x'; 1 << 20]).unwrap();
    let (server, admin) = start(&folder, &[]);
    // Ten connections that ask a hundred times each, and open no window: SETTINGS_INITIAL_WINDOW_SIZE 0.
    let mut clients: Vec<TcpStream> = (0..10).map(|_| server.connect()).collect();
    for client in &mut clients {
        let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\0".to_vec();
        for stream in (1..200_u32).step_by(2) {
            let block = b"\x82\x86\x04\x06/large\x41\x01a";
            bytes.extend_from_slice(&[0, 0, block.len() as u8, 1, 5]);
            bytes.extend_from_slice(&stream.to_be_bytes());
            bytes.extend_from_slice(block);
        }
        client.write_all(&bytes).unwrap();
    }
    let status = settled(&admin, "all are open", |status| status["http2"]["streams_active"] == 1000);
    assert_eq!(status["requests"]["in_progress"], 1000);
    assert_eq!(status["connections"]["open_http2"], 10);
    let (code, text, _) = status_of(&admin);
    assert!(code == Some(0) && text.contains("1,000 active, 1,000 opened"), "{text}");
    // The first three of each are cut off by the client.
    for client in &mut clients {
        for stream in [1, 3, 5] {
            client.write_all(&[0, 0, 4, 3, 0, 0, 0, 0, stream, 0, 0, 0, 8]).unwrap();
        }
    }
    let status = settled(&admin, "thirty are cut off", |status| status["http2"]["streams_reset_by_peer"] == 30);
    assert_eq!((&status["http2"]["streams_active"], &status["requests"]["in_progress"]), (&970.into(), &970.into()));
}

#[test]
fn people_get_lines() {
    requires!("program:curl");
    let folder = site();
    let (server, admin) = start(&folder, &[]);
    server.get("/");
    settled(&admin, "it is counted", |status| status["requests"]["status_2xx"] == 1);
    let (code, text, errors) = status_of(&admin);
    assert_eq!((code, errors.as_str()), (Some(0), ""));
    assert!(text.starts_with(&format!("serow          {}, 1 worker\n", env!("CARGO_PKG_VERSION"))), "{text}");
    assert!(
        text.contains("  answered     1 2xx\n") && text.contains("  total        1: 1 HTTP/1, 0 HTTP/2\n"),
        "{text}"
    );
    let json = output(["status", "--json", "--admin", &admin]).stdout;
    assert_eq!(serde_json::from_slice::<Value>(&json).unwrap()["requests"]["total"], 1);
}

#[test]
fn a_dead_servers_socket_is_replaced_and_a_living_ones_is_not() {
    let folder = site();
    let (mut first, admin) = start(&folder, &[]);
    let mut second = crate::running::serow([folder.path()]);
    let refused = second.args(["--listen", "127.0.0.1:0", "--admin", &admin]).output().unwrap();
    let expected =
        format!("serow: --admin: {admin} is in use by another program; choose another with --admin, or stop it\n");
    assert_eq!(String::from_utf8(refused.stderr).unwrap().lines().last().unwrap(), expected.trim_end());
    assert_eq!(refused.status.code(), Some(1));
    first.signal(Signal::KILL);
    first.child.wait().unwrap();
    let (code, _, errors) = status_of(&admin);
    assert_eq!(code, Some(1));
    assert_eq!(errors, format!("serow: nothing listens on {admin}: the server has ended, or has another --admin\n"));
    let (_server, admin) = start(&folder, &[]);
    assert_eq!(status_of(&admin).0, Some(0));
}

#[test]
fn no_answer_is_one_line() {
    let folder = site();
    let path = |name: &str| folder.path().join(name);
    let at = |path: &Path| format!("unix:{}", path.display());
    let missing = at(&path("missing.sock"));
    let (code, _, errors) = status_of(&missing);
    assert_eq!(code, Some(1));
    assert!(
        errors.starts_with(&format!("serow: there is no {missing}: name the settings file of the server with -c FILE")),
        "{errors}"
    );
    assert!(errors.trim_end().lines().count() == 1, "{errors}");

    // Somebody else, who says something else and closes.
    let listener = UnixListener::bind(path("other.sock")).unwrap();
    let other = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        stream.write_all(b"220 mail.example.com ESMTP\r\n").unwrap();
    });
    let (code, _, errors) = status_of(&at(&path("other.sock")));
    assert!(code == Some(1) && errors.contains("is not a Serow admin socket"), "{errors}");
    other.join().unwrap();

    let server = Running::start(folder.path(), &["--listen", &at(&path("files.sock"))]);
    let (code, _, errors) = status_of(&at(&path("files.sock")));
    assert!(code == Some(1) && errors.contains("answers 404 and not with a status"), "{errors}");
    drop(server);

    // Root may connect to everything.
    if !rustix::process::geteuid().is_root() {
        let _listener = UnixListener::bind(path("closed.sock")).unwrap();
        fs::set_permissions(path("closed.sock"), fs::Permissions::from_mode(0o000)).unwrap();
        let (code, _, errors) = status_of(&at(&path("closed.sock")));
        assert!(code == Some(1) && errors.contains("belongs to another user"), "{errors}");
    }
}

#[test]
fn a_port_is_possible_for_this_machine_only() {
    requires!("program:curl");
    let folder = site();
    for (address, problem) in [
        ("0.0.0.0:0", "0.0.0.0:0 can be reached from other machines; write unix:/path, or a port of"),
        (":9000", "[::]:9000 can be reached from other machines"),
        ("fd:3", "fd:3 may be reached by anybody"),
    ] {
        let folder = folder.path().to_str().unwrap();
        let refused = output([folder, "--listen", "127.0.0.1:0", "--admin", address]);
        let line = String::from_utf8(refused.stderr).unwrap();
        assert!(line.starts_with(&format!("serow: --admin: {problem}")), "{line}");
        assert_eq!((refused.status.code(), line.lines().count()), (Some(2), 1));
    }
    let port = format!("127.0.0.1:{}", serow_ports::free_port());
    let _server = Running::start(folder.path(), &["--admin", &port]);
    assert_eq!(status_of(&port).0, Some(0));
    // A page of somebody else's that has given its name this machine's address.
    let url = format!("http://{port}/status");
    let code = |host: &str| curl(&["-o", "/dev/null", "-w", "%{http_code}", "-H", &format!("Host: {host}"), &url]);
    assert_eq!([code("localhost"), code(&port), code("evil.example:80")], ["200", "200", "403"]);
}

#[test]
fn it_goes_on_until_the_server_has_ended() {
    requires!("program:curl");
    let folder = site();
    fs::write(folder.path().join("large"), vec![b'x'; 64 << 20]).unwrap();
    let (mut server, admin) = start(&folder, &[]);
    let mut slow = server.connect();
    slow.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    settled(&admin, "it is being sent", |status| status["requests"]["in_progress"] == 1);
    server.signal(Signal::TERM);
    eventually("it accepts no more", || TcpStream::connect(server.address()).is_err().then_some(()));
    assert_eq!(settled(&admin, "it still answers", |_| true)["requests"]["in_progress"], 1);
    assert_eq!(received(slow).body.len(), 64 << 20);
    let ended = eventually("the server ends", || server.child.try_wait().unwrap());
    assert_eq!(ended.code(), Some(0));
    let socket = folder.path().join("admin.sock");
    assert!(UnixStream::connect(socket).is_err());
}

#[test]
fn other_users_get_403_even_where_the_file_admits_them() {
    requires!("program:curl");
    let folder = site();
    let (server, admin) = start(&folder, &[]);
    let socket = folder.path().join("admin.sock");
    for place in [folder.path(), &socket] {
        fs::set_permissions(place, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let stop = |user: Option<u32>| {
        let mut command = Command::new("curl");
        command.args(["-s", "--max-time", "20", "-X", "POST", "--unix-socket"]).arg(&socket);
        user.map(|user| command.uid(user));
        let output = command.arg("http://localhost/stop").output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    if rustix::process::geteuid().is_root() {
        assert_eq!(stop(Some(NOBODY)), "this socket is for the user that runs the server, and for root\n");
        let line = server.line_with("admin: ");
        assert!(line.contains("admin: POST /stop, by uid 65534 (pid "), "{line}");
        assert!(line.ends_with("): refused with 403 Forbidden"), "{line}");
        assert!(ask(&admin, "/status", &[]).contains("\"requests\""), "the server goes on");
    }
    assert_eq!(stop(None), "stopping: the server finishes the requests in progress\n");
    let line = server.line_with("admin: ");
    let user = rustix::process::geteuid().as_raw();
    assert!(line.contains(&format!("admin: stop the server, by uid {user} (pid ")), "{line}");
}

#[test]
fn an_abstract_admin_socket_is_refused() {
    // Nothing is served where it is accepted, either: there is no such folder.
    let output = output(["/no/such/folder", "--admin", "unix:@serow-test"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("unix:@serow-test is an abstract socket, which has no permissions"), "{said}");
    assert!(said.contains("write the path of a file, as in unix:/run/serow/admin.sock"), "{said}");
}

/// The user `nobody` of all distributions (systemd.io/UIDS-GIDS).
const NOBODY: u32 = 65_534;
