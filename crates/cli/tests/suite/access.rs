//! Access control: addresses, users, rate limits.

use std::{fs, io::Write, process::Stdio, time::Duration};

use data_encoding::BASE64;
use tempfile::TempDir;

use crate::running::{Running, eventually, received, serow};

/// A server with these settings and the file a.txt; and its folder.
fn start(settings: &str) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("public")).unwrap();
    fs::write(folder.path().join("public/a.txt"), "a").unwrap();
    fs::write(folder.path().join("users"), format!("alice:{HASH}\n")).unwrap();
    fs::write(folder.path().join("networks"), "127.0.0.1\n").unwrap();
    let settings = format!("listen = \"127.0.0.1:0\"\nworkers = 1\n{settings}\n");
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), folder)
}

/// Of "open sesame", which is checked faster than what `serow password` writes.
const HASH: &str = "$2y$05$jO1mS.eJn7.eXQpRiTb5j.UybACQNqGmhKQbb0aUFIAiD0uH7ds3G";

/// The hash that `serow password` prints behind the name.
fn hash(password: &str) -> String {
    let mut command = serow(["password", "alice", "--hash", "bcrypt"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(format!("{password}\n").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    line.trim_end().strip_prefix("alice:").unwrap().to_owned()
}

fn basic(credentials: &str) -> String {
    format!("Authorization: Basic {}\r\n", BASE64.encode(credentials.as_bytes()))
}

fn statuses(serow: &Running, path: &str, fields: &[&str]) -> Vec<u16> {
    fields.iter().map(|fields| serow.ask(path, fields).status()).collect()
}

#[test]
fn users_have_passwords_and_the_file_may_change() {
    let (serow, folder) =
        start("[[site]]\nbasic = { file = \"users\", realm = \"Reports\" }\nfiles = { root = \"public\" }");
    let asked = serow.ask("/a.txt", "");
    assert_eq!(
        (asked.status(), asked.field("www-authenticate")),
        (401, Some("Basic realm=\"Reports\", charset=\"UTF-8\""))
    );
    let [right, wrong, unknown] = ["alice:open sesame", "alice:open", "eve:open sesame"].map(basic);
    let twice = format!("{right}{right}");
    assert_eq!(statuses(&serow, "/a.txt", &[&right, &right, &wrong, &unknown, &twice]), [200, 200, 401, 401, 401]);
    // A password that has been verified is not good for ever.
    fs::write(folder.path().join("users"), format!("alice:{}\n", hash("another"))).unwrap();
    eventually("the file is read again", || (serow.ask("/a.txt", &right).status() == 401).then_some(()));
    assert_eq!(statuses(&serow, "/a.txt", &[&right, &basic("alice:another")]), [401, 200]);
    // A file that cannot be used changes nothing.
    fs::write(folder.path().join("users"), "alice:secret\n").unwrap();
    let warning = serow.line_with("stays in use");
    assert!(warning.contains("line 1: user \"alice\"") && !warning.contains("secret"), "{warning}");
    assert_eq!(statuses(&serow, "/a.txt", &[&basic("alice:another"), &basic("alice:secret")]), [200, 401]);
}

#[test]
fn the_client_counts_where_a_proxy_is_trusted() {
    let (serow, _folder) = start(
        "trust = [\"127.0.0.1\"]\n[[site]]\nallow = [\"10.0.0.0/8\", \"2001:db8::/32\"]\ndeny = [\"10.1.0.0/16\"]\n\
         [[site.route]]\npath = \"/open/*\"\nallow = [\"0.0.0.0/0\", \"!192.0.2.0/24\"]\nfiles = { root = \"public\", strip-prefix = true }\n\
         [[site.route]]\npath = \"/*\"\nfiles = { root = \"public\" }",
    );
    let from = |address: &str| format!("X-Forwarded-For: {address}\r\n");
    for (path, address, expected) in [
        ("/a.txt", "10.0.0.1", 200),
        ("/a.txt", "10.1.0.1", 403),
        ("/a.txt", "192.0.2.1", 403),
        ("/a.txt", "::ffff:10.0.0.1", 200),
        ("/a.txt", "2001:db8::1", 200),
        ("/a.txt", "10.0.0.1, 192.0.2.1", 403),
        ("/a.txt", "nonsense", 403),
        ("/missing", "192.0.2.1", 403),
        ("/open/a.txt", "198.51.100.1", 200),
        ("/open/a.txt", "192.0.2.1", 403),
    ] {
        assert_eq!(serow.ask(path, &from(address)).status(), expected, "{path} {address}");
    }
}

#[test]
fn the_rules_of_a_site_guard_responses_of_the_router() {
    let (serow, _folder) = start(
        "[[site]]\ndeny = [\"file:networks\"]\n[[site.route]]\npath = \"/fixed\"\nrespond = { status = 204 }\n\
         [[site.route]]\npath = \"/moved\"\nredirect = { to = \"/fixed\" }\n\
         [[site.route]]\npath = \"/tried/*\"\nfiles = { root = \"public\", strip-prefix = true, missing = \"next\" }\n\
         [[site.route]]\npath = \"/tried/*\"\nrespond = { status = 204 }",
    );
    for path in ["/fixed", "/moved", "/tried/a.txt", "/tried/b.txt", "/nowhere"] {
        assert_eq!(serow.ask(path, "").status(), 403, "{path}");
    }
}

#[test]
fn an_address_or_a_user_is_enough() {
    let (serow, _folder) = start(
        "trust = [\"127.0.0.1\"]\n[[site]]\nallow = [\"10.0.0.0/8\"]\nbasic = { file = \"users\" }\nsatisfy = \"any\"\n\
         files = { root = \"public\" }",
    );
    let right = basic("alice:open sesame");
    for (fields, expected) in [
        ("X-Forwarded-For: 10.0.0.1\r\n".to_owned(), 200),
        (right.clone(), 200),
        (String::new(), 401),
        (basic("alice:wrong"), 401),
        (format!("X-Forwarded-For: 10.0.0.1\r\n{}", basic("alice:wrong")), 200),
    ] {
        assert_eq!(serow.ask("/a.txt", &fields).status(), expected, "{fields}");
    }
}

#[test]
fn requests_that_come_too_often_are_refused_or_wait() {
    let (serow, _folder) = start(
        "[[limit]]\nname = \"few\"\nrate = \"1/h\"\nburst = 1\ncost = { 404 = 0 }\n\
         [[limit]]\nname = \"slow\"\nrate = \"20/s\"\nburst = 9\ndelay = 0\n\
         [[limit]]\nname = \"trial\"\nrate = \"1/h\"\ndry-run = true\n\
         [[site]]\nlimits = [\"few\"]\n\
         [[site.route]]\npath = \"/slow/*\"\nlimits = [\"slow\"]\nfiles = { root = \"public\", strip-prefix = true }\n\
         [[site.route]]\npath = \"/trial/*\"\nlimits = [\"trial\"]\nfiles = { root = \"public\", strip-prefix = true }\n\
         [[site.route]]\npath = \"/free/*\"\nlimits = []\nfiles = { root = \"public\", strip-prefix = true }\n\
         [[site.route]]\npath = \"/*\"\nfiles = { root = \"public\" }",
    );
    assert_eq!(statuses(&serow, "/missing", &[""; 3]), [404; 3]);
    let first = serow.ask("/a.txt", "");
    assert_eq!((first.status(), first.field("ratelimit")), (200, Some("\"few\";r=1;t=3600")));
    assert_eq!(first.field("ratelimit-policy"), Some("\"few\";q=2;w=3600"));
    assert_eq!(serow.ask("/a.txt", "").status(), 200);
    let refused = serow.ask("/a.txt", "");
    assert_eq!((refused.status(), refused.field("retry-after")), (429, Some("3600")));
    assert_eq!(statuses(&serow, "/free/a.txt", &[""; 3]), [200; 3]);
    assert_eq!(statuses(&serow, "/trial/a.txt", &[""; 3]), [200; 3]);
    serow.line_with("limit trial: requests would be refused (dry-run)");
    let began = std::time::Instant::now();
    assert_eq!(statuses(&serow, "/slow/a.txt", &[""; 5]), [200; 5]);
    assert!(began.elapsed() >= Duration::from_millis(190), "{:?}", began.elapsed());
}

#[test]
fn a_preflight_request_needs_no_password() {
    let (serow, _folder) = start(
        "[[site]]\nbasic = { file = \"users\" }\ncors = { origins = [\"https://a.example\"] }\nfiles = { root = \"public\" }",
    );
    let preflight = "Origin: https://a.example\r\nAccess-Control-Request-Method: PUT\r\n";
    for (fields, expected) in [(preflight, 204), ("Origin: https://a.example\r\n", 401)] {
        let mut stream = serow.connect();
        write!(stream, "OPTIONS /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n").unwrap();
        assert_eq!(received(stream).status(), expected, "{fields}");
    }
    let refused = serow.ask("/a.txt", "Origin: https://a.example\r\n");
    assert_eq!((refused.status(), refused.field("access-control-allow-origin")), (401, Some("https://a.example")));
}
