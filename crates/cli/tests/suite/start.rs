//! Starting: where it listens, what it prints, which folders it serves.

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    net::TcpListener,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::PermissionsExt, net::UnixStream},
    },
    process::{Command, Stdio},
};

use crate::running::{Running, eventually, exchange, serow, site};

#[test]
fn one_line_names_folder_and_url() {
    let folder = site();
    let mut server = Running::start(folder.path(), &[]);
    let shown = folder.path().canonicalize().unwrap();
    assert_eq!(server.announcement, format!("Serving {} at http://{}/", shown.display(), server.address()));
    assert_eq!(server.get("/").text(), "<h1>Hello</h1>");
    assert_eq!(server.stop().code(), Some(0));
    assert_eq!(server.last_lines(), [""; 0]);
}

#[test]
fn the_word_files_may_be_left_out_and_so_may_the_folder() {
    let folder = site();
    for arguments in [&["--listen", "0"][..], &["files", "--listen", "0"], &["files", ".", "--listen", "0"]] {
        let mut command = serow(arguments);
        command.current_dir(&folder);
        assert_eq!(Running::of(command).get("/a.txt").text(), "a");
    }
}

#[test]
fn standard_output_stays_empty() {
    let folder = site();
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0"]).stdout(Stdio::piped());
    let mut server = Running::of(command);
    server.get("/");
    server.stop();
    let output = std::io::read_to_string(server.child.stdout.take().unwrap()).unwrap();
    assert_eq!(output, "");
}

#[test]
fn folders_of_any_name_are_served() {
    let parent = tempfile::tempdir().unwrap();
    let names = [&b"with two spaces"[..], b"caf\xc3\xa9", b"latin-\xe9", b"line\nbreak\x1b[31m", b"-dash"];
    for name in names {
        let folder = parent.path().join(OsStr::from_bytes(name));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("a.txt"), name).unwrap();
        let mut command = serow(["--listen", "0", "--"]);
        command.arg(OsStr::from_bytes(name)).current_dir(&parent);
        let server = Running::of(command);
        assert_eq!(server.get("/a.txt").body, name);
        assert!(!server.announcement.contains('\x1b'), "{}", server.announcement);
    }
}

#[test]
fn several_addresses_at_once() {
    let folder = site();
    let socket = folder.path().join("server.sock");
    let unix = format!("unix:{}", socket.display());
    let mut server = Running::start(folder.path(), &["--listen", "[::1]:0", "--listen", &unix]);
    let urls = server.urls();
    assert_eq!(urls.len(), 3);
    assert!(urls[0].starts_with("http://127.0.0.1:") && urls[1].starts_with("http://[::1]:"), "{urls:?}");
    assert_eq!(urls[2], unix);
    let ipv6 = urls[1].trim_start_matches("http://").trim_end_matches('/');
    assert_eq!(exchange(std::net::TcpStream::connect(ipv6).unwrap(), "/a.txt", "").text(), "a");
    assert_eq!(exchange(UnixStream::connect(&socket).unwrap(), "/a.txt", "").text(), "a");
    server.stop();
    assert!(!socket.exists(), "the file of the socket is removed");
}

#[test]
fn the_file_of_a_unix_socket_has_the_mode_that_was_asked_for() {
    let folder = site();
    for mode in [0o600, 0o666] {
        let socket = folder.path().join(format!("{mode:o}.sock"));
        let unix = format!("unix:{}", socket.display());
        let _server = Running::start(folder.path(), &["--listen", &unix, "--unix-mode", &format!("{mode:o}")]);
        assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, mode);
    }
}

#[test]
fn a_socket_can_be_handed_over() {
    let folder = site();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", r#"exec "$0" "$@" 3<&0 0</dev/null"#, env!("CARGO_BIN_EXE_serow")]);
    command.arg(folder.path()).args(["--listen", "fd:3"]).stdin(OwnedFd::from(listener));
    let server = Running::of(command);
    assert_eq!(server.urls(), [format!("http://{address}/")]);
    assert_eq!(server.get("/a.txt").text(), "a");
}

#[test]
fn a_port_is_shared_only_by_those_who_agree() {
    let folder = site();
    let first = Running::start(folder.path(), &["--reuse-port"]);
    let mut second = serow([folder.path()]);
    second.args(["--listen", first.address(), "--reuse-port"]);
    let second = Running::of(second);
    assert_eq!(first.address(), second.address());
    let mut third = serow([folder.path()]);
    let output = third.args(["--listen", first.address()]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_proxy_protocol_says_who_the_client_is() {
    let folder = site();
    let log = folder.path().join("access.log");
    let server = Running::start(folder.path(), &["--proxy-protocol", "--access-log", log.to_str().unwrap()]);
    let mut stream = server.connect();
    stream.write_all(b"PROXY TCP4 192.0.2.7 192.0.2.1 4711 80\r\n").unwrap();
    assert_eq!(exchange(stream, "/a.txt", "").status(), 200);
    assert!(crate::running::lines_of(&log, 1)[0].starts_with("192.0.2.7 - - ["));

    let mut stream = server.connect();
    stream.write_all(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = std::io::Read::read_to_end(&mut stream, &mut answer);
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "a client without the header is not served");
}

#[test]
fn the_port_of_the_environment_is_used_unless_an_address_is_given() {
    let folder = site();
    let start = |arguments: &[&str]| {
        let mut command = serow([folder.path()]);
        command.args(["--workers", "1"]).args(arguments).env("PORT", "0");
        Running::of(command)
    };
    let server = start(&[]);
    assert!(server.announcement.ends_with(" (all addresses)"), "{}", server.announcement);
    assert!(!server.announcement.contains(":8080"), "{}", server.announcement);
    assert!(start(&["--listen", "127.0.0.1:0"]).announcement.ends_with("/"));
    for command in [&["files"][..], &["proxy", "127.0.0.1:9"], &["app", "--", "true"]] {
        let output = serow(command).current_dir(folder.path()).env("PORT", "http").output().unwrap();
        let line = String::from_utf8(output.stderr).unwrap();
        let expected = "serow: the environment has PORT=\"http\", which is not a port: ";
        assert!(line.starts_with(expected), "{line}");
        assert_eq!(output.status.code(), Some(2), "{line}");
    }
}

#[test]
fn workers_share_the_work() {
    let folder = site();
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0", "--workers", "3"]);
    let server = Running::of(command);
    let tasks = format!("/proc/{}/task", server.child.id());
    eventually("three workers", || {
        let names =
            fs::read_dir(&tasks).ok()?.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
        let workers = names.filter(|name| name.trim_end().strip_prefix("serow-").is_some_and(is_number)).count();
        (workers == 3).then_some(())
    });
    assert_eq!(server.get("/a.txt").text(), "a");
}

fn is_number(text: &str) -> bool {
    text.parse::<u32>().is_ok()
}
