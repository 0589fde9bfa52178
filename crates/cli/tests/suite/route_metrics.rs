//! How long the requests of each route take, as metrics.

use std::{fs, io::Write, os::unix::net::UnixStream, path::Path};

use crate::running::{Running, eventually, exchange, output, received, serow, site};

const SETTINGS: &str = r#"
listen = "127.0.0.1:0"
admin = "unix:admin.sock"
route-metrics = true

[[site]]
hosts = ["a.example"]

[[site.route]]
path = "/moved"
redirect = { to = "/a.txt" }

[[site.route]]
path = "/*"
files = { root = "site", missing = "next" }

[[site.route]]
path = "/*"
files = { root = "other" }

[[site]]
files = { root = "site" }
"#;

fn settings() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in ["site", "other"] {
        fs::rename(site().keep(), folder.path().join(name)).unwrap();
    }
    fs::rename(folder.path().join("other/a.txt"), folder.path().join("other/b.txt")).unwrap();
    fs::write(folder.path().join("serow.toml"), SETTINGS).unwrap();
    folder
}

/// The number of a sample of the metrics.
fn sample(folder: &Path, name: &str) -> Option<String> {
    let stream = UnixStream::connect(folder.join("admin.sock")).unwrap();
    let metrics = exchange(stream, "/metrics", "");
    metrics.text().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned))
}

#[test]
fn requests_are_counted_for_each_route_across_reloads() {
    let folder = settings();
    let file = folder.path().join("serow.toml");
    let server = Running::of(serow(["run", "-c", file.to_str().unwrap()]));
    let count = |labels: &str| format!("serow_request_duration_seconds_count{{{labels}}}");
    let expected = [
        (r#"site="a.example",route="/*""#, 2),
        (r##"site="a.example",route="/*#2""##, 3),
        (r#"site="*",route="/*""#, 2),
        (r#"site="",route="""#, 1),
    ];
    let ask = || {
        for (host, path) in [
            ("a.example", "/a.txt"),
            ("a.example", "/a.txt"),
            ("a.example", "/b.txt"),
            ("a.example", "/b.txt"),
            ("a.example", "/neither"),
            ("b.example", "/a.txt"),
            ("b.example", "/missing"),
            ("a.example", "/moved"),
        ] {
            let mut stream = server.connect();
            write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
            received(stream);
        }
    };
    ask();
    for (labels, requests) in expected {
        eventually(labels, || (sample(folder.path(), &count(labels))? == requests.to_string()).then_some(()));
    }
    let reload = output(["reload", "-c", file.to_str().unwrap()]);
    assert!(reload.status.success(), "{reload:?}");
    ask();
    for (labels, requests) in expected {
        eventually(labels, || (sample(folder.path(), &count(labels))? == (2 * requests).to_string()).then_some(()));
        let infinite = format!("serow_request_duration_seconds_bucket{{{labels},le=\"+Inf\"}}");
        assert_eq!(sample(folder.path(), &infinite).unwrap(), (2 * requests).to_string());
    }
}

#[test]
fn nothing_is_counted_by_default() {
    let folder = settings();
    let file = folder.path().join("serow.toml");
    fs::write(&file, SETTINGS.replace("route-metrics = true", "")).unwrap();
    let server = Running::of(serow(["run", "-c", file.to_str().unwrap()]));
    exchange(server.connect(), "/a.txt", "");
    let stream = UnixStream::connect(folder.path().join("admin.sock")).unwrap();
    assert!(!exchange(stream, "/metrics", "").text().contains("serow_request_duration_seconds"));
}
