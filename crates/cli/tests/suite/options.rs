//! Each option does what its help says.

use std::{
    fs,
    io::{Read, Write},
    os::unix::fs::symlink,
    path::Path,
    time::Duration,
};

use crate::running::{Running, received, serow, site};

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

#[test]
fn index() {
    let folder = site();
    write(folder.path(), "sub/home.htm", "home");
    write(folder.path(), "sub/start.htm", "start");
    let server = Running::start(folder.path(), &["--index", "start.htm", "--index", "home.htm"]);
    assert_eq!(server.get("/sub/").text(), "start");
    assert!(server.get("/").text().contains("index.html"), "no index any more: a listing");
}

#[test]
fn listing() {
    let folder = site();
    write(folder.path(), "sub/b.txt", "");
    write(folder.path(), "sub/c.txt", "");
    let server = Running::start(folder.path(), &[]);
    assert!(server.get("/sub/").text().contains("b.txt"));
    let json = server.ask("/sub/", "Accept: application/json\r\n");
    assert_eq!(json.field("Content-Type"), Some("application/json"));
    let server = Running::start(folder.path(), &["--listing", "off"]);
    assert_eq!(server.get("/sub/").status(), 404);
    for (format, media_type) in [("html", "text/html; charset=utf-8"), ("json", "application/json")] {
        let server = Running::start(folder.path(), &["--listing", format]);
        for accept in ["Accept: application/json\r\n", "Accept: text/html\r\n"] {
            assert_eq!(server.ask("/sub/", accept).field("Content-Type"), Some(media_type));
        }
    }
    let server = Running::start(folder.path(), &["--listing-limit", "1"]);
    let page = server.get("/sub/");
    assert!(page.text().contains("b.txt") != page.text().contains("c.txt"), "{}", page.text());
}

#[test]
fn hidden() {
    let folder = site();
    write(folder.path(), ".env", "secret");
    assert_eq!(Running::start(folder.path(), &[]).get("/.env").status(), 404);
    assert_eq!(Running::start(folder.path(), &["--hidden"]).get("/.env").text(), "secret");
}

#[test]
fn symlinks() {
    let folder = site();
    symlink("a.txt", folder.path().join("within.txt")).unwrap();
    symlink("/etc/hostname", folder.path().join("without.txt")).unwrap();
    let server = Running::start(folder.path(), &[]);
    assert_eq!(server.get("/within.txt").text(), "a");
    assert_ne!(server.get("/without.txt").status(), 200);
    let server = Running::start(folder.path(), &["--symlinks", "none"]);
    assert_ne!(server.get("/within.txt").status(), 200);
    let server = Running::start(folder.path(), &["--symlinks", "all"]);
    assert_eq!((server.get("/within.txt").status(), server.get("/without.txt").status()), (200, 200));
}

#[test]
fn links_of_deployments_are_followed_where_the_owner_is_the_same() {
    let place = tempfile::tempdir().unwrap();
    let write_below = |name: &str| write(place.path(), name, "uploaded");
    write_below("cap/shared/system/u.txt");
    write_below("cap/releases/1/public/index.html");
    write_below("laravel/storage/app/public/u.txt");
    write_below("laravel/public/index.html");
    let link = |target: &str, link: &str| symlink(target, place.path().join(link)).unwrap();
    link("releases/1", "cap/current");
    link("../../../shared/system", "cap/releases/1/public/system");
    symlink(place.path().join("laravel/storage/app/public"), place.path().join("laravel/public/storage")).unwrap();
    for (root, path) in [("cap/current/public", "/system/u.txt"), ("laravel/public", "/storage/u.txt")] {
        let within = Running::start(&place.path().join(root), &[]);
        assert_eq!(within.get(path).status(), 404, "{root}");
        let line = within.line_with("the symbolic link");
        assert!(line.contains("leaves the root: symlinks = \"owner\" or \"all\" follows it"), "{line}");
        for symlinks in ["owner", "all"] {
            let server = Running::start(&place.path().join(root), &["--symlinks", symlinks]);
            assert_eq!(server.get(path).text(), "uploaded", "{root} {symlinks}");
        }
    }
}

#[test]
fn a_link_that_leaves_the_root_is_logged_once_where_the_next_route_takes_what_the_folder_lacks() {
    let place = tempfile::tempdir().unwrap();
    write(place.path(), "shared/u.txt", "uploaded");
    write(place.path(), "public/index.html", "");
    symlink("../shared", place.path().join("public/system")).unwrap();
    let settings = "listen = \"127.0.0.1:0\"\nworkers = 1\n[[site]]\n[[site.route]]\npath = \"/*\"\n\
                    files = { root = \"public\", missing = \"next\" }\n[[site.route]]\npath = \"/*\"\n\
                    respond = { status = 404 }\n";
    write(place.path(), "serow.toml", settings);
    let mut server = Running::of(serow(["run", "-c", place.path().join("serow.toml").to_str().unwrap()]));
    for path in ["/nothing", "/system/u.txt", "/system/v.txt"] {
        assert_eq!(server.get(path).status(), 404, "{path}");
    }
    server.stop();
    let lines: Vec<_> = server.last_lines().into_iter().filter(|line| line.contains("GET /")).collect();
    let expected = "public/system leaves the root: symlinks = \"owner\" or \"all\" follows it";
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.contains("GET /system/u.txt: ") && line.contains(expected), "{line}");
    assert!(line.contains("log-level = \"info\" logs the next ones"), "{line}");
}

#[test]
fn source_code_and_keys() {
    let folder = site();
    for name in ["index.php", "wp-config.php.bak", "site.key", "ca.pem", ".well-known/x"] {
        write(folder.path(), name, "content");
    }
    let statuses = |options: &[&str]| {
        let server = Running::start(folder.path(), options);
        let paths = ["/index.php", "/wp-config.php.bak", "/site.key", "/ca.pem", "/.well-known/x"];
        paths.map(|path| server.get(path).status())
    };
    assert_eq!(statuses(&[]), [404, 404, 404, 404, 200]);
    assert_eq!(statuses(&["--type", "pem=application/x-pem-file"]), [404, 404, 404, 200, 200]);
    assert_eq!(statuses(&["--sensitive"]), [200; 5]);
    assert_eq!(statuses(&["--write", "put"]), [200; 5]);
    let listing = Running::start(folder.path(), &["--index", "none.html"]).get("/?format=json").text().to_owned();
    assert!(listing.contains("a.txt") && !listing.contains("php") && !listing.contains("key"), "{listing}");
}

#[test]
fn spa_and_not_found() {
    let folder = site();
    write(folder.path(), "404.html", "nothing here");
    let server = Running::start(folder.path(), &["--spa", "index.html", "--not-found", "404.html"]);
    let page = server.ask("/some/route", "Accept: text/html\r\n");
    assert_eq!((page.status(), page.text()), (200, "<h1>Hello</h1>"));
    let script = server.ask("/missing.js", "Accept: */*\r\n");
    assert_eq!((script.status(), script.text()), (404, "nothing here"));
}

#[test]
fn rewrite() {
    let folder = site();
    write(folder.path(), "static/icon/bear.png", "png");
    let server = Running::start(folder.path(), &["--rewrite", "/icon/*=/static/icon/*.png"]);
    assert_eq!(server.get("/icon/bear").text(), "png");
}

#[test]
fn media_types() {
    let folder = site();
    write(folder.path(), "a.serow", "");
    write(folder.path(), "a.unknown", "");
    let server = Running::start(folder.path(), &["--type", "serow=text/x-serow", "--default-type", "text/plain"]);
    assert_eq!(server.get("/a.serow").field("Content-Type"), Some("text/x-serow; charset=utf-8"));
    assert_eq!(server.get("/a.unknown").field("Content-Type"), Some("text/plain; charset=utf-8"));
}

#[test]
fn compression() {
    let folder = site();
    write(folder.path(), "large.txt", "x".repeat(100_000));
    write(folder.path(), "small.txt", "x".repeat(100));
    let coding = |server: &Running, path: &str| {
        server.ask(path, "Accept-Encoding: gzip\r\n").field("Content-Encoding").map(str::to_owned)
    };
    let server = Running::start(folder.path(), &[]);
    assert_eq!(coding(&server, "/large.txt").as_deref(), Some("gzip"));
    assert_eq!(coding(&server, "/small.txt"), None);
    let server = Running::start(folder.path(), &["--compress", "off"]);
    assert_eq!(coding(&server, "/large.txt"), None);
    let server = Running::start(folder.path(), &["--compress", "br,gzip"]);
    assert_eq!(coding(&server, "/large.txt").as_deref(), Some("gzip"));
    let all = server.ask("/large.txt", "Accept-Encoding: gzip, zstd, br\r\n");
    assert_eq!(all.field("Content-Encoding"), Some("br"));
    let server = Running::start(folder.path(), &["--compress-smallest", "50", "--compress-largest", "1k"]);
    assert_eq!(coding(&server, "/large.txt"), None);
    assert_eq!(coding(&server, "/small.txt").as_deref(), Some("gzip"));
}

#[test]
fn precompressed() {
    let folder = site();
    write(folder.path(), "a.txt.br", "compressed");
    let ask = |server: &Running| server.ask("/a.txt", "Accept-Encoding: br\r\n").body;
    assert_eq!(ask(&Running::start(folder.path(), &[])), b"compressed");
    assert_eq!(ask(&Running::start(folder.path(), &["--precompressed", "off"])), b"a");
    assert_eq!(ask(&Running::start(folder.path(), &["--precompressed", "gzip,br"])), b"compressed");
    assert_eq!(ask(&Running::start(folder.path(), &["--precompressed", "gzip,zstd"])), b"a");
}

#[test]
fn large_files_with_and_without_sendfile_and_cache() {
    let folder = site();
    let content = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>();
    write(folder.path(), "large", &content);
    let small = ["--cache-entries", "0", "--cache-files", "0", "--cache-memory", "0", "--cache-largest", "0"];
    let large = ["--cache-memory", "64M", "--cache-largest", "8M"];
    for options in [&["--sendfile", "on"][..], &["--sendfile", "off"], &small, &large] {
        let server = Running::start(folder.path(), options);
        for _ in 0..2 {
            assert!(server.get("/large").body == content, "{options:?}");
            assert_eq!(server.get("/a.txt").text(), "a");
        }
    }
}

#[test]
fn expires_and_cache_control() {
    let folder = site();
    write(folder.path(), "assets/a.css", "");
    write(folder.path(), "a.js", "");
    let options = ["--expires", "1h", "--expires", "/assets/*=365d", "--cache-control", "*.js=no-store"];
    let server = Running::start(folder.path(), &options);
    assert_eq!(server.get("/a.txt").field("Cache-Control"), Some("max-age=3600"));
    assert!(server.get("/a.txt").field("Expires").is_some());
    assert_eq!(server.get("/assets/a.css").field("Cache-Control"), Some("max-age=31536000"));
    assert_eq!(server.get("/a.js").field("Cache-Control"), Some("no-store"));
}

#[test]
fn limits() {
    let folder = site();
    let options = ["--max-head", "1k", "--max-fields", "5", "--max-target", "100", "--max-body", "10"];
    let server = Running::start(folder.path(), &options);
    assert_eq!(server.get("/a.txt").status(), 200);
    assert_eq!(server.ask("/a.txt", &format!("A: {}\r\n", "a".repeat(1024))).status(), 431);
    assert_eq!(server.ask("/a.txt", &"A: a\r\n".repeat(4)).status(), 431);
    assert_eq!(server.get(&format!("/{}", "a".repeat(100))).status(), 414);
    assert_eq!(server.ask("/a.txt", "Content-Length: 11\r\n").status(), 413);
}

#[test]
fn more_connections_than_allowed_wait() {
    let folder = site();
    let server = Running::start(folder.path(), &["--max-connections", "1"]);
    let mut first = server.connect();
    first.write_all(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    first.read_exact(&mut [0; 10]).unwrap();
    let mut second = server.connect();
    second.write_all(b"GET /a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    second.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    assert!(second.read(&mut [0]).is_err(), "it is not answered");
    second.set_read_timeout(Some(crate::running::TIMEOUT)).unwrap();
    drop(first);
    assert_eq!(received(second).text(), "a");
}

#[test]
fn timeouts() {
    let folder = site();
    let server = Running::start(folder.path(), &["--head-timeout", "200ms", "--idle-timeout", "300ms"]);
    let mut slow = server.connect();
    slow.write_all(b"GET /a.txt HT").unwrap();
    assert_eq!(received(slow).status(), 408);
    let mut idle = server.connect();
    idle.write_all(b"GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let answer = received(idle);
    assert_eq!((answer.status(), answer.text()), (200, "a"));
}

#[test]
fn a_client_that_does_not_read_is_cut() {
    let folder = site();
    fs::File::create(folder.path().join("large")).unwrap().set_len(100 << 20).unwrap();
    let log = folder.path().join("access.log");
    let options = ["--body-timeout", "300ms", "--access-log-format", "json", "--access-log", log.to_str().unwrap()];
    let server = Running::start(folder.path(), &options);
    let mut stuck = server.connect();
    stuck.write_all(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let line = &crate::running::lines_of(&log, 1)[0];
    assert!(line.contains(r#""whole":false"#), "{line}");
}

#[test]
fn log_level() {
    let folder = site();
    let server = Running::start(folder.path(), &["--log-level", "debug"]);
    let mut stream = server.connect();
    stream.write_all(b"NONSENSE\r\n\r\n").unwrap();
    assert_eq!(received(stream).status(), 400);
    let line = server.line_with("refused a request");
    assert!(line.contains("DEBUG") && !line.contains('\x1b'), "no colour where nobody sees it: {line}");
    let mut server = Running::start(folder.path(), &[]);
    let mut stream = server.connect();
    stream.write_all(b"NONSENSE\r\n\r\n").unwrap();
    assert_eq!(received(stream).status(), 400);
    server.stop();
    assert_eq!(server.last_lines(), [""; 0]);
}

#[test]
fn backlog() {
    let folder = site();
    let server = Running::start(folder.path(), &["--backlog", "7"]);
    // Send-Q of a listening socket is the length of its queue (ss(8)).
    let Ok(sockets) = std::process::Command::new("ss").args(["-ltnH"]).output() else { return };
    let sockets = String::from_utf8(sockets.stdout).unwrap();
    let line = sockets.lines().find(|line| line.contains(server.address())).unwrap();
    assert_eq!(line.split_whitespace().nth(2), Some("7"), "{line}");
}

#[test]
fn the_environment_changes_nothing() {
    let folder = site();
    let mut command = serow([folder.path()]);
    command.args(["--listen", "0"]).env_clear();
    assert_eq!(Running::of(command).get("/a.txt").text(), "a");
}
