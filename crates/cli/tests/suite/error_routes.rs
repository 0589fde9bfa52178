//! Error pages that routes make.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
};

use tempfile::TempDir;

use crate::running::{Answer, Running, received, serow};

/// `alice:secret`.
const ALICE: &str = "Authorization: Basic YWxpY2U6c2VjcmV0\r\n";

/// A server that answers `/fail/503` with this status, and everything else with the head that it got.
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(|| echo(stream.unwrap()));
        }
    });
    address
}

fn echo(mut stream: TcpStream) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let line = head.split("\r\n").next().unwrap();
    let status = line.split_once(" /fail/").map_or("200", |(_, rest)| &rest[..3]);
    let cookie = if line.contains('?') { "Set-Cookie: page=1\r\n" } else { "" };
    let stored = "Cache-Control: max-age=60\r\nETag: \"a\"\r\nAccept-Ranges: bytes\r\n";
    let fields = format!("{}{cookie}", if status == "200" { stored } else { "" });
    let body = if head.starts_with("head ") { "" } else { &*head };
    let length = head.len();
    let _ = write!(
        stream,
        "HTTP/1.1 {status} Status\r\nContent-Length: {length}\r\nConnection: close\r\n{fields}\r\n{body}"
    );
}

/// A server with this site, in whose text `ORIGIN` stands for the address of [`origin`].
fn start(site: &str) -> (Running, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("public")).unwrap();
    fs::write(folder.path().join("public/login.html"), "log in").unwrap();
    fs::write(folder.path().join("users"), "alice:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n").unwrap();
    let site = site.replace("ORIGIN", &origin().to_string());
    let settings = format!("listen = \"127.0.0.1:0\"\nworkers = 1\n{site}");
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let mut command = serow(["run"]);
    command.current_dir(folder.path());
    (Running::of(command), folder)
}

fn send(serow: &Running, request: &str) -> Answer {
    let mut stream = serow.connect();
    write!(stream, "{request}").unwrap();
    received(stream)
}

/// The fields that an error has no part in.
fn is_not_stored(answer: &Answer) {
    for name in ["etag", "accept-ranges"] {
        assert_eq!(answer.field(name), None, "{}", answer.head);
    }
    assert_ne!(answer.field("cache-control"), Some("max-age=60"), "{}", answer.head);
}

const PAGES: &str = "
    [[site]]
    intercept = true
    headers = { X-Site = \"1\" }
    [site.error-pages]
    404 = { path = \"/page?from=$uri\" }
    410 = { path = \"/page\", status = 200 }
    418 = { route = \"echo\", status = \"route\" }
    451 = { path = \"/fail/500\" }
    502 = { path = \"/nothing/here\", status = 200 }
    503 = { route = \"echo\" }
    [[site.route]]
    path = \"/page\"
    methods = [\"GET\"]
    proxy = { servers = \"ORIGIN\", set-header = \"X-Asked: $request_uri\" }
    [[site.route]]
    path = \"/fail/*\"
    proxy = { servers = \"ORIGIN\" }
    [[site.route]]
    path = \"/closed/*\"
    proxy = { servers = \"127.0.0.1:1\" }
    [[site.route]]
    path = \"/fail/*\"
    name = \"echo\"
    internal = true
    proxy = { servers = \"ORIGIN\" }";

#[test]
fn pages_by_path_and_by_name() {
    let (serow, _folder) = start(PAGES);
    let missing = serow.ask("/missing/a%20b?q", "Range: bytes=0-1\r\nIf-None-Match: \"a\"\r\nX-Own: 1\r\n");
    assert_eq!(missing.status(), 404);
    let text = missing.text();
    assert!(text.starts_with("get /page?from=/missing/a%20b http/1.1\r\n"), "{text}");
    assert!(text.contains("x-own: 1") && text.contains("x-asked: /missing/a%20b?q"), "{text}");
    assert!(!text.contains("range") && !text.contains("if-none-match"), "{text}");
    assert_eq!((missing.field("set-cookie"), missing.field("x-site")), (Some("page=1"), Some("1")));
    is_not_stored(&missing);

    // The page is what GET would get, and the body stays where it was.
    let body = "Content-Type: text/plain\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody";
    let posted = send(&serow, &format!("POST /missing HTTP/1.1\r\nHost: h\r\n{body}"));
    assert!(posted.text().starts_with("get /page?from=/missing "), "{}", posted.text());
    assert!(!posted.text().contains("content-"), "{}", posted.text());
    let head = send(&serow, "HEAD /missing HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    assert_eq!((head.status(), head.text()), (404, ""));

    let gone = serow.get("/fail/410");
    assert_eq!(gone.status(), 200);
    assert!(gone.text().starts_with("get /page "), "{}", gone.text());
    // A page in place of what may be stored may be stored as well.
    assert_eq!(gone.field("cache-control"), Some("max-age=60"), "{}", gone.head);

    let named = send(&serow, &format!("POST /fail/503 HTTP/1.1\r\nHost: h\r\n{body}"));
    assert_eq!(named.status(), 503);
    assert!(named.text().starts_with("post /fail/503 "), "{}", named.text());
    assert!(!named.text().contains("content-type"), "{}", named.text());
    is_not_stored(&named);
}

#[test]
fn a_page_that_fails_leaves_the_error() {
    let (serow, _folder) = start(PAGES);
    // The page is an error that has a page of its own, or there is none.
    let refused = serow.get("/fail/451");
    assert_eq!(refused.status(), 451);
    assert!(refused.text().starts_with("get /fail/451 "), "{}", refused.text());
    let closed = serow.get("/closed/a");
    assert_eq!(closed.status(), 502);
    assert!(closed.text().contains("502"), "{}", closed.text());
    // With the page's own status, its error is the response.
    assert_eq!(serow.get("/fail/418").status(), 418);
}

const LOGIN: &str = "
    [[site]]
    basic = { file = \"users\", header = \"X-User\" }
    error-pages = { 401 = { path = \"/login.html\" }, 404 = { path = \"/echo\" } }
    [[site.route]]
    path = [\"/login.html\", \"/echo\"]
    internal = true
    proxy = { servers = \"ORIGIN\" }
    [[site.route]]
    path = \"/own/*\"
    error-pages = { 401 = { path = \"/refused\" } }
    files = { root = \"public\" }
    [[site.route]]
    path = \"/files/*\"
    files = { root = \"public\" }
    [[site.route]]
    path = \"/refused\"
    proxy = { servers = \"ORIGIN\" }";

#[test]
fn refusals_have_pages_of_internal_routes_and_no_way_around_access_control() {
    let (serow, _folder) = start(LOGIN);
    let refused = serow.ask("/files/a", "X-User: alice\r\nx-other: 1\r\n");
    assert_eq!(refused.status(), 401);
    assert!(refused.field("www-authenticate").is_some_and(|value| value.starts_with("Basic")), "{}", refused.head);
    assert!(refused.text().starts_with("get /login.html "), "{}", refused.text());
    // The field names a user whom a check has identified, and no other.
    assert!(refused.text().contains("x-other: 1") && !refused.text().contains("x-user"), "{}", refused.text());
    is_not_stored(&refused);
    // A route that clients reach has its access control for pages as well.
    let refused = serow.get("/own/a");
    assert_eq!((refused.status(), refused.text().contains("/refused")), (401, false), "{}", refused.text());
    assert_eq!(serow.ask("/login.html", ALICE).status(), 404);
    let missing = serow.ask("/files/none", &format!("{ALICE}X-User: eve\r\n"));
    assert!(missing.text().starts_with("get /echo ") && !missing.text().contains("eve"), "{}", missing.text());
}

#[test]
fn a_page_in_place_of_a_refusal_is_not_stored() {
    let site = LOGIN.replace("{ path = \"/login.html\" }", "{ path = \"/login.html\", status = 200 }");
    let (serow, _folder) = start(&site);
    let refused = serow.get("/files/a");
    assert_eq!((refused.status(), refused.field("cache-control")), (200, Some("no-store")), "{}", refused.head);
}

#[test]
fn limits_count_a_request_and_its_page_once() {
    let served = |pages: &str| {
        let (serow, _folder) = start(&format!(
            "[[limit]]\nname = \"few\"\nrate = \"1r/m\"\nburst = 3\n[[site]]\nlimits = [\"few\"]\nmax-requests-per-client = 1\n{pages}
             [[site.route]]\npath = \"/page\"\nrespond = {{ status = 200, body = \"page\" }}"
        ));
        let answers: Vec<_> = (0..6).map(|_| serow.get("/missing")).collect();
        let count = answers.iter().filter(|answer| answer.status() == 404).count();
        (count, answers.iter().all(|answer| answer.text() == "page"))
    };
    let (without, _) = served("");
    assert!((1..6).contains(&without), "{without}");
    let pages = "error-pages = { 404 = { path = \"/page\" }, 429 = { path = \"/page\" } }";
    assert_eq!(served(pages), (without, true));
}

#[test]
fn scripts_and_files_that_a_php_folder_does_not_have_are_errors_of_the_server() {
    let (serow, _folder) = start(
        "[[site]]\nerror-pages = { 404 = { path = \"/page\" } }
         [[site.route]]\npath = \"/page\"\nrespond = { status = 200, body = \"page\" }
         [[site.route]]\npath = \"/*\"\nphp = { root = \".\", servers = \"127.0.0.1:1\", front-controller = \"off\" }",
    );
    for path in ["/missing.php", "/missing.png"] {
        let answer = serow.get(path);
        assert_eq!((answer.status(), answer.text()), (404, "page"), "{path}");
    }
}

#[test]
fn no_cache_stores_a_page() {
    let (serow, _folder) = start(
        "[cache]\nmemory = \"1M\"\n[[site]]\nerror-pages = { 404 = { path = \"/page\", status = 200 } }
         [[site.route]]\npath = \"/page\"\ncache = true\nproxy = { servers = \"ORIGIN\" }",
    );
    for path in ["/a", "/b", "/a"] {
        let answer = serow.ask(path, &format!("X-Asked: {path}\r\n"));
        assert!(answer.text().contains(&format!("x-asked: {path}")), "{path}: {}", answer.text());
    }
    // The page itself has what its own clients have asked for.
    assert!(serow.ask("/page", "X-Asked: /page\r\n").text().contains("x-asked: /page"));
    assert!(serow.ask("/page", "X-Asked: 2\r\n").text().contains("x-asked: /page"));
}
