//! `serow proxy`, in front of real servers.

use crate::running::{Running, lines_of, output, serow, site};

/// A proxy for these servers.
fn proxy(servers: &[&str], options: &[&str]) -> Running {
    let mut command = serow(["proxy"]);
    command.args(servers).args(["--listen", "127.0.0.1:0", "--workers", "1"]).args(options);
    Running::of(command)
}

#[test]
fn responses_of_upstream_servers_come_through() {
    let folder = site();
    let socket = folder.path().join("app.sock");
    let (one, other) = (
        Running::start(folder.path(), &[]),
        Running::start(folder.path(), &["--listen", &format!("unix:{}", socket.display())]),
    );
    assert!(other.announcement.contains("unix:"), "{}", other.announcement);
    let proxy = proxy(&[one.address(), &format!("unix:{},weight=2", socket.display())], &[]);
    assert!(proxy.announcement.contains(&format!("Serving {}, unix:", one.address())), "{}", proxy.announcement);
    for _ in 0..6 {
        let answer = proxy.get("/a.txt");
        assert_eq!((answer.status(), answer.text()), (200, "a"), "{}", answer.head);
    }
    assert_eq!(proxy.get("/missing").status(), 404);
}

#[test]
fn a_server_that_is_not_there() {
    let folder = site();
    let closed = Running::start(folder.path(), &[]).address().to_owned();
    let proxy = proxy(&[&closed], &["--access-log", "-"]);
    assert_eq!(proxy.get("/").status(), 502);
}

#[test]
fn the_access_log_says_who_was_asked() {
    let folder = site();
    let server = Running::start(folder.path(), &[]);
    let closed = "127.0.0.1:1";
    let log = folder.path().join("access.log");
    let format = "$status|$upstream_addr|$upstream_status|$upstream_connect_time|$upstream_response_time";
    let options = ["--access-log", log.to_str().unwrap(), "--access-log-format", format];
    let proxy = proxy(&[closed, &format!("{},backup", server.address())], &options);
    assert_eq!(proxy.get("/a.txt").status(), 200);
    let line = &lines_of(&log, 1)[0];
    let parts: Vec<_> = line.split('|').collect();
    let asked = format!("{closed}, {}", server.address());
    assert_eq!((parts[0], parts[1], parts[2]), ("200", asked.as_str(), "502, 200"), "{line}");
    assert!(parts[3].starts_with("-, 0.0") && parts[4].matches("0.").count() == 2, "{line}");
}

#[test]
fn servers_that_mean_nothing() {
    let cases: [(&[&str], &str); 7] = [
        (&[], "a server is missing; name one, as in serow proxy 127.0.0.1:9000; see serow proxy --help"),
        (
            &["9000", "127.0.0.1:9000"],
            "UPSTREAM: duplicate server 127.0.0.1:9000: leave one out, and give the other a weight",
        ),
        (&["a:1", "a:1,weight=2"], "UPSTREAM: duplicate server a:1: leave one out, and give the other a weight"),
        (&["a:1,id=x", "b:1,id=x"], "UPSTREAM: duplicate id x: write another one"),
        (&["a:1,backup"], "UPSTREAM: all servers are backups: remove `,backup` from at least one"),
        (&["a:1", "--hash-key", "path"], "--hash-key needs --balance hash: write both, or none"),
        (&["a:1", "--check-rise", "5"], "--check-rise needs --check: write tcp, http or grpc there"),
    ];
    for (arguments, expected) in cases {
        let output = output(["proxy"].iter().chain(arguments));
        assert_eq!(String::from_utf8(output.stderr).unwrap(), format!("serow: {expected}\n"));
        assert_eq!(output.status.code(), Some(2), "{expected}");
    }
}
