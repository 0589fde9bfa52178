//! Mistakes: one line that says what to do, and the exit code.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt, process::Output};

use crate::running::{Running, output, serow, site};

/// The only line of standard error; nothing was printed beside it.
fn only_line(output: &Output) -> String {
    let line = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(line.matches('\n').count(), 1, "one line: {line}");
    assert!(line.starts_with("serow: ") && line.ends_with('\n'), "{line}");
    assert!(output.stdout.is_empty());
    line.trim_end().trim_start_matches("serow: ").to_owned()
}

#[test]
fn wrong_usage_ends_with_2() {
    let cases: [(&[&str], &str); 14] = [
        (&["--listen", "nowhere:80"], "--listen: \"nowhere:80\" is not an address: names other than localhost are not"),
        (&["--listen", "http://127.0.0.1:80/"], "--listen: \"http://127.0.0.1:80/\" is not an address: write the"),
        (&["--listen", "::1"], "--listen: \"::1\" is not an address: an IPv6 address needs brackets"),
        (&["--head-timeout", "10"], "--head-timeout: \"10\" is not a duration: write a number and a unit"),
        (&["--max-head", "big"], "--max-head: \"big\" is not a size: write a number of bytes"),
        (&["--workers", "many"], "--workers: \"many\" is not a whole number from 1 to 1024"),
        (&["--unix-mode", "888"], "--unix-mode: \"888\" is not a file mode: write three octal digits"),
        (&["--expires", "*.css"], "--expires: \"*.css\" is not a duration"),
        (&["--type", "md"], "--type: \"md\" is not an ending and its media type"),
        (&["--rewrite", "/a=b"], "--rewrite: \"/a=b\" is not a pattern and a path"),
        (&["--log-level", "loud"], "--log-level: \"loud\" is not one of off, error, warn, info, debug, trace"),
        (&["--expires", "1h", "--cache-control", "no-cache"], "--expires and --cache-control: only one may be without"),
        (&["--wrokers", "1"], "there is no option --wrokers; did you mean --workers?"),
        (&["a", "b"], "\"b\" is an unexpected argument"),
    ];
    for (arguments, expected) in cases {
        let output = output(arguments);
        let line = only_line(&output);
        assert!(line.starts_with(expected), "{line}");
        assert_eq!(output.status.code(), Some(2), "{line}");
    }
}

#[test]
fn a_server_that_cannot_start_exits_with_1() {
    let folder = site();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let root = path("");
    let occupied = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = occupied.local_addr().unwrap().to_string();
    let cases: [(&[&str], String); 16] = [
        (&[&path("none")], format!("there is no folder {}: create it", path("none"))),
        (&[&path("a.txt")], format!("{} is not a folder", path("a.txt"))),
        (&["/dev/null"], "/dev/null is not a folder".to_owned()),
        (&["no\nsuch"], r"there is no folder no\nsuch: create it".to_owned()),
        (&[&root, "--listen", &address], format!("{address} is in use by suite")),
        (&[&root, "--listen", "192.0.2.1:80"], "192.0.2.1:80 is not an address of this machine".to_owned()),
        (&[&root, "--listen", "fd:77"], "fd:77 is not open".to_owned()),
        (&[&root, "--listen", "unix:/none/a.sock"], "unix:/none/a.sock is in a folder that does not exist".to_owned()),
        (&[&root, "--access-log", "/none/a.log"], "cannot write the access log /none/a.log: No such file".to_owned()),
        (&[&root, "--access-log", &root], format!("cannot write the access log {root}: Is a directory")),
        (&[&root, "--spa", "../a.html"], "--spa \"../a.html\": give the path of a file below".to_owned()),
        (&[&root, "--spa", "app.html"], format!("--spa \"app.html\": there is no such file in {root}: create it")),
        (&[&root, "--not-found", "x"], format!("--not-found \"x\": there is no such file in {root}: create it")),
        (&[&root, "--index", "a/b"], "--index \"a/b\": give a name, without a folder".to_owned()),
        (&[&root, "--cache-control", "a\nb"], r#"--cache-control "a\nb": leave out control characters"#.to_owned()),
        (&[&root, "--default-type", "a\nb"], r#"--default-type "a\nb": leave out control characters"#.to_owned()),
    ];
    for (arguments, expected) in cases {
        let output = output(arguments);
        let line = only_line(&output);
        assert!(line.starts_with(&expected), "{line}\n{expected}");
        assert_eq!(output.status.code(), Some(1), "{line}");
    }
}

#[test]
fn a_folder_that_nobody_may_read_is_served_as_403() {
    let folder = site();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o000)).unwrap();
    // Root may read everything, and cannot see this mistake.
    if fs::read_dir(folder.path()).is_err() {
        assert_eq!(Running::start(folder.path(), &[]).get("/").status(), 403);
    }
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
}

#[test]
fn a_root_that_the_configured_user_may_not_read_fails_the_check_and_is_logged() {
    // Another user can be tried by root only.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let folder = site();
    let (closed, file) = (folder.path().join("closed"), folder.path().join("serow.toml"));
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let text = "listen = \"127.0.0.1:0\"\nuser = 65534\ngroup = 65534\n[[site]]\nfiles = { root = \"closed\" }\n";
    fs::write(&file, text).unwrap();
    let check = |mode| {
        fs::set_permissions(&closed, PermissionsExt::from_mode(mode)).unwrap();
        output(["check", "-c", file.to_str().unwrap()])
    };
    assert_eq!(check(0o755).status.code(), Some(0));
    for (mode, expected) in [(0o700, "uid 65534 may not enter "), (0o711, "uid 65534 may not list ")] {
        let output = check(mode);
        let line = only_line(&output);
        assert!(line.starts_with(expected) && line.contains("closed"), "{line}");
        assert_eq!(output.status.code(), Some(1), "{line}");
    }
    check(0o700);
    let server = Running::of(serow(["run", "-c", file.to_str().unwrap()]));
    assert_eq!(server.get("/").status(), 403);
    let line = server.line_with("cannot open ");
    assert!(line.contains("closed") && line.contains("Permission denied"), "{line}");
    assert!(line.contains("; the server runs as uid 65534"), "{line}");
}

#[test]
fn words_that_are_no_folder_get_a_hint_where_a_command_or_a_port_was_meant() {
    let folder = site();
    fs::create_dir(folder.path().join("app")).unwrap();
    let cases: [(&[&str], &str); 5] = [
        (
            &["version"],
            "there is no folder version: create it, or name another one; for the version, write serow --version",
        ),
        (
            &["start"],
            "there is no folder start: create it, or name another one; to run a settings file, write serow run -c",
        ),
        (&["chekc"], "there is no folder chekc: create it, or name another one; did you mean the command serow check?"),
        (
            &["8000"],
            "there is no folder 8000: create it, or name another one; to listen on the port 8000, write --listen",
        ),
        (&["app", "--spa", "index.html"], "serow app has no option --spa; to serve the folder app, write serow ./app"),
    ];
    for (arguments, expected) in cases {
        let output = serow(arguments).current_dir(folder.path()).output().unwrap();
        let line = only_line(&output);
        assert!(line.starts_with(expected), "{line}");
    }
}

#[test]
fn check_finds_a_missing_folder_of_a_log_and_a_port_of_https_without_tls() {
    let folder = site();
    let site = "[[site]]\nfiles = { root = \".\" }\n";
    let check = |text: &str| {
        fs::write(folder.path().join("serow.toml"), format!("{text}\n{site}")).unwrap();
        serow(["check"]).current_dir(folder.path()).output().unwrap()
    };
    let output = check("access-log = \"missing/access.log\"");
    let lines = String::from_utf8(output.stdout).unwrap();
    let expected = "missing/access.log: its folder does not exist: create it";
    assert!(lines.contains("warning: `access-log` ") && lines.contains(expected), "{lines}");
    let output = serow(["run"]).current_dir(folder.path()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("create its folder, or name another file with `access-log`"), "{errors}");
    assert_eq!(output.status.code(), Some(1));
    for (listen, expected) in [(":443", true), (":8443", false)] {
        let output = check(&format!("listen = {listen:?}"));
        let lines = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            lines.contains(":443 is without TLS, which browsers use on port 443: write tls = "),
            expected,
            "{lines}"
        );
    }
}
