//! Internal routes: what responses with X-Accel-Redirect and X-Sendfile lead to.

use std::{
    fs,
    io::{Read, Write},
    net::{SocketAddr, TcpListener},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use serow_requirements::requires;

use crate::{
    client_addresses,
    running::{Answer, Running, serow},
};

/// A server whose responses have the fields that the query names: `/?X-Accel-Redirect=/a&Cache-Control=no-store`. It
/// answers `/loop` with a redirect to itself.
fn origin() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count > 0) {
                    head.push(byte[0]);
                }
                let head = String::from_utf8(head).unwrap();
                let target = head.split(' ').nth(1).unwrap();
                let query = target.split_once('?').map_or("", |(_, query)| query).replace("%20", " ");
                let mut fields: String = query
                    .split('&')
                    .filter_map(|field| field.split_once('='))
                    .map(|(name, value)| format!("{name}: {value}\r\n"))
                    .collect();
                if target.ends_with("/loop") {
                    fields.push_str("X-Accel-Redirect: /internal/loop\r\n");
                }
                let body = format!("from the origin: {target}");
                let length = body.len();
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n{fields}\r\n{body}"
                );
            });
        }
    });
    address
}

/// A folder whose `secret` clients reach through an internal route only, and a server in front of an origin.
struct Protected {
    folder: tempfile::TempDir,
    server: Running,
}

impl Protected {
    fn start(root: &str, routes: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("secret/deep")).unwrap();
        fs::write(folder.path().join("secret/a.txt"), "0123456789").unwrap();
        fs::write(folder.path().join("secret/deep/a b%.txt"), "deep").unwrap();
        let server = run(folder.path(), &format!("{root}{routes}"));
        Self { folder, server }
    }

    /// One with a route for each way.
    fn usual(root: &str) -> Self {
        let origin = origin();
        let routes = format!(
            "[[site]]\nheaders = {{ X-Site = \"1\" }}\n\
             [[site.route]]\npath = \"/protected/*\"\ninternal = true\nheaders = {{ X-Route = \"protected\" }}\n\
             files = {{ root = \"secret\", strip-prefix = true }}\n\
             [[site.route]]\npath = \"/internal/*\"\ninternal = true\n\
             proxy = {{ servers = \"{origin}\", accel-redirect = true }}\n\
             [[site.route]]\npath = \"/ignored\"\nproxy = {{ servers = \"{origin}\" }}\n\
             [[site.route]]\npath = \"/*\"\nheaders = {{ X-Route = \"origin\" }}\n\
             proxy = {{ servers = \"{origin}\", accel-redirect = true }}\n"
        );
        Self::start(root, &routes)
    }

    fn path_of(&self, file: &str) -> String {
        self.folder.path().join(file).display().to_string()
    }
}

fn run(folder: &Path, settings: &str) -> Running {
    let file = folder.join("serow.toml");
    fs::write(&file, format!("listen = \"127.0.0.1:0\"\nworkers = 1\n{settings}")).unwrap();
    Running::of(serow(["run", "-c", file.to_str().unwrap()]))
}

fn shown(answer: &Answer) -> (u16, &str) {
    (answer.status(), answer.text())
}

#[test]
fn clients_reach_internal_routes_only_by_responses() {
    let site = Protected::usual("");
    for path in ["/protected/a.txt", "//protected/a.txt", "/%70rotected/a.txt", "/internal/x"] {
        let answer = site.server.get(path);
        assert!(answer.text().starts_with("from the origin: /"), "{path}: {answer:?}");
    }
    assert_eq!(site.server.get("/x/../protected/a.txt").status(), 400);
    let answer = site.server.get("/?X-Accel-Redirect=/protected/a.txt");
    assert_eq!(shown(&answer), (200, "0123456789"));
    assert_eq!((answer.field("X-Route"), answer.field("X-Site")), (Some("protected"), Some("1")));
    assert_eq!(answer.field("via"), None);
    // A path of another route of the site, of a missing file, and one that is not a path.
    for path in ["/ignored", "/protected/none.txt", "/protected/../serow.toml", "@protected", "http://a.example/"] {
        assert_eq!(
            site.server.get(&format!("/?X-Accel-Redirect={path}&Cache-Control=max-age=60")).status(),
            404,
            "{path}"
        );
    }
}

#[test]
fn fields_of_the_response_are_kept_as_nginx_keeps_them() {
    let site = Protected::usual("");
    let fields = "Content-Type=text/x&Content-Disposition=attachment&Set-Cookie=a=1&Set-Cookie=b=2&Cache-Control=private\
                  &Expires=0&ETag=%22x%22&Last-Modified=x&X-Mine=1&Content-Encoding=br";
    let answer = site.server.get(&format!("/?X-Accel-Redirect=/protected/a.txt&{fields}"));
    assert_eq!(shown(&answer), (200, "0123456789"));
    let kept = [
        ("Content-Type", "text/x"),
        ("Content-Disposition", "attachment"),
        ("Cache-Control", "private"),
        ("Expires", "0"),
    ];
    for (name, value) in kept {
        assert_eq!(answer.field(name), Some(value), "{name}");
    }
    assert!(answer.head.contains("Set-Cookie: a=1\r\nSet-Cookie: b=2"), "{}", answer.head);
    for name in ["X-Mine", "Content-Encoding", "X-Accel-Redirect"] {
        assert_eq!(answer.field(name), None, "{name}");
    }
    let validator = answer.field("ETag").unwrap().to_owned();
    assert_ne!(validator, "%22x%22");
    // An error is not what the application described; cookies are set all the same.
    let missing = site
        .server
        .get("/?X-Accel-Redirect=/protected/none&Cache-Control=max-age=60&Set-Cookie=a=1&Content-Type=text/x");
    assert_eq!(
        (missing.status(), missing.field("Cache-Control"), missing.field("Set-Cookie")),
        (404, None, Some("a=1"))
    );
    assert_ne!(missing.field("Content-Type"), Some("text/x"));
    // The client's conditions and ranges are those of the file.
    let path = "/?X-Accel-Redirect=/protected/a.txt";
    let cached = site.server.ask(path, &format!("If-None-Match: {validator}\r\n"));
    assert_eq!((cached.status(), cached.text()), (304, ""));
    let range = site.server.ask(path, "Range: bytes=2-4\r\n");
    assert_eq!((range.status(), range.text(), range.field("Content-Range")), (206, "234", Some("bytes 2-4/10")));
    let whole = site.server.ask(&format!("{path}&Accept-Ranges=none"), "Range: bytes=2-4\r\n");
    assert_eq!((shown(&whole), whole.field("Accept-Ranges")), ((200, "0123456789"), Some("none")));
    assert_eq!(site.server.ask(path, "Range: bytes=20-\r\n").status(), 416);
}

#[test]
fn headers_of_the_route_do_not_describe_what_its_responses_lead_to() {
    let origin = origin();
    let routes = format!(
        "[[site]]\n\
         [[site.route]]\npath = \"/protected/*\"\ninternal = true\nfiles = {{ root = \"secret\", strip-prefix = true }}\n\
         [[site.route]]\npath = \"/*\"\nheaders = {{ Cache-Control = \"no-store\" }}\n\
         proxy = {{ servers = \"{origin}\", accel-redirect = true }}\n"
    );
    let site = Protected::start("", &routes);
    let led = site.server.get("/?X-Accel-Redirect=/protected/a.txt");
    assert_eq!((shown(&led), led.field("Cache-Control")), ((200, "0123456789"), None));
    assert_eq!(site.server.get("/").field("Cache-Control"), Some("no-store"));
}

#[test]
fn files_are_named_by_x_sendfile_and_percent_encoding() {
    let site = Protected::usual("");
    let file = site.path_of("secret/a.txt");
    assert_eq!(shown(&site.server.get(&format!("/?X-Sendfile={file}"))), (200, "0123456789"));
    let deep = site.path_of("secret/deep/a%20b%.txt");
    assert_eq!(shown(&site.server.get(&format!("/?X-Sendfile={deep}"))), (200, "deep"));
    assert_eq!(shown(&site.server.get("/?X-Accel-Redirect=/protected/deep/a%20b%25.txt")), (200, "deep"));
    for file in
        [site.path_of("serow.toml"), site.path_of("secret/../serow.toml"), "/etc/passwd".to_owned(), "a.txt".to_owned()]
    {
        let answer = site.server.get(&format!("/?X-Sendfile={file}"));
        assert_eq!(answer.status(), 404, "{file}: {answer:?}");
    }
    site.server.line_with("is not in the folder of a route with `internal = true`");
}

#[test]
fn heads_and_posts_lead_to_files() {
    let site = Protected::usual("");
    let ask = |request: &str| {
        let mut stream = site.server.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::parse(&bytes)
    };
    let target = "/?X-Accel-Redirect=/protected/a.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
    let head = ask(&format!("HEAD {target}\r\n"));
    assert_eq!((head.status(), head.text(), head.field("Content-Length")), (200, "", Some("10")));
    let post = ask(&format!("POST {target}Content-Length: 5\r\nContent-Type: text/y\r\n\r\nhello"));
    assert_eq!((shown(&post), post.field("Content-Type")), ((200, "0123456789"), Some("text/plain; charset=utf-8")));
}

#[test]
fn internal_routes_lead_to_others_ten_times() {
    let site = Protected::usual("");
    let answer = site.server.get("/?X-Accel-Redirect=/internal/x?X-Accel-Redirect=/protected/a.txt");
    assert_eq!(shown(&answer), (200, "0123456789"));
    let answer = site.server.get("/?X-Accel-Redirect=/internal/loop");
    assert_eq!(answer.status(), 500);
    let line = site.server.line_with("one internal redirect too many");
    assert!(line.contains("X-Accel-Redirect names /internal/loop"), "{line}");
}

#[test]
fn the_fields_reach_trusted_proxies_only() {
    let fields = "X-Accel-Redirect=/protected/a.txt&X-Accel-Buffering=no&X-Sendfile=/a&X-Accel-Expires=1";
    let site = Protected::usual("");
    let answer = site.server.get(&format!("/ignored?{fields}"));
    assert!(
        answer.text().starts_with("from the origin") && !answer.head.to_lowercase().contains("x-accel"),
        "{answer:?}"
    );
    assert_eq!(answer.field("X-Sendfile"), None);
    site.server.line_with("X-Accel-Redirect is ignored: it needs `accel-redirect = true`");
    let answer = site.server.get("/?X-Accel-Redirect=&X-Accel-Limit-Rate=100000");
    assert!(
        answer.text().starts_with("from the origin") && !answer.head.to_lowercase().contains("x-accel"),
        "{answer:?}"
    );
    let behind = Protected::usual("trust = \"127.0.0.1\"\n");
    let answer = behind.server.get(&format!("/ignored?{fields}"));
    assert_eq!(
        (answer.field("X-Accel-Redirect"), answer.field("X-Accel-Buffering")),
        (Some("/protected/a.txt"), Some("no"))
    );
    assert_eq!(shown(&behind.server.get(&format!("/?{fields}"))), (200, "0123456789"));
}

#[test]
fn responses_say_how_fast_they_are_sent() {
    let site = Protected::usual("");
    for (path, least) in [
        // 10 bytes; the first are sent at once.
        ("/?X-Accel-Redirect=/protected/a.txt&X-Accel-Limit-Rate=10", 700),
        // 41 bytes.
        ("/?X-Accel-Limit-Rate=40", 700),
        ("/?X-Accel-Limit-Rate=0", 0),
        ("/?X-Accel-Limit-Rate=1k", 0),
        ("/ignored?X-Accel-Limit-Rate=1", 0),
    ] {
        let began = Instant::now();
        let answer = site.server.get(path);
        let took = began.elapsed();
        assert_eq!((answer.status(), answer.field("X-Accel-Limit-Rate")), (200, None), "{path}");
        assert!(answer.text() == "0123456789" || answer.text().starts_with("from the origin: "), "{path}");
        assert!(took >= Duration::from_millis(least), "{path}: {took:?}");
        assert!(least > 0 || took < Duration::from_secs(10), "{path}: {took:?}");
    }
}

/// Checks who asks, and leaves sending the file to the server.
const DJANGO: &str = "import os\n\
    from django.conf import settings\n\
    from django.core.wsgi import get_wsgi_application\n\
    from django.http import HttpResponse\n\
    from django.urls import path\n\
    settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=['*'], SECRET_KEY='x')\n\
    def download(request):\n\
    \x20   response = HttpResponse(content_type='text/x')\n\
    \x20   response['X-Accel-Redirect'] = '/protected/a.txt'\n\
    \x20   response['Content-Disposition'] = 'attachment; filename=a.txt'\n\
    \x20   return response\n\
    urlpatterns = [path('download', download)]\n\
    application = get_wsgi_application()\n";

const EXPRESS: &str = "const app = require('express')();\n\
    app.get('/download', (request, response) => {\n\
    \x20 response.set('X-Accel-Redirect', '/protected/a.txt').type('text/x').end();\n\
    });\n\
    app.listen(process.env.PORT, '127.0.0.1');\n";

fn with_application(files: &[(&str, &str)], app: &str) -> Protected {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("secret")).unwrap();
    fs::write(folder.path().join("secret/a.txt"), "0123456789").unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let routes = format!(
        "[[site]]\n[[site.route]]\npath = \"/protected/*\"\ninternal = true\n\
         files = {{ root = \"secret\", strip-prefix = true }}\n\
         [[site.route]]\npath = \"/*\"\napp = {{ {app}, trust = [] }}\n"
    );
    let server = run(folder.path(), &routes);
    Protected { folder, server }
}

fn check(site: &Protected) {
    let answer = site.server.ask("/download", "Range: bytes=0-3\r\n");
    assert_eq!(
        (answer.status(), answer.text(), answer.field("Content-Type")),
        (206, "0123", Some("text/x")),
        "{answer:?}"
    );
    for name in ["X-Accel-Redirect", "X-Sendfile"] {
        assert_eq!(answer.field(name), None);
    }
    assert_ne!(site.server.get("/protected/a.txt").text(), "0123456789");
}

#[test]
fn rack_applications_send_files_by_rack_sendfile() {
    requires!("ruby:rack");
    let app = "require 'rack/sendfile'\nuse Rack::Sendfile, 'X-Sendfile'\n\
        class Download\n  def initialize(path) = @path = path\n  def to_path = @path\n  def each = yield(File.read(@path))\nend\n\
        file = File.realpath('secret/a.txt', __dir__)\n\
        run ->(env) {\n  next [404, {}, []] unless env['PATH_INFO'] == '/download'\n\
        [200, { 'Content-Type' => 'text/x', 'X-Type' => env['HTTP_X_SENDFILE_TYPE'].to_s }, Download.new(file)] }\n";
    let site = with_application(&[("config.ru", app)], "application = \"config.ru\"");
    check(&site);
    // A client cannot choose another field (CVE-2025-61780).
    let forged = site.server.ask("/download", "X-Sendfile-Type: X-Accel-Redirect\r\nX-Accel-Mapping: /=/\r\n");
    assert_eq!(shown(&forged), (200, "0123456789"));
}

#[test]
fn django_applications_send_files() {
    requires!("python:django");
    check(&with_application(
        &[("downloads.py", DJANGO)],
        "application = \"downloads:application\", interface = \"wsgi\", interpreter = \"/usr/bin/python3\"",
    ));
}

#[test]
fn express_applications_send_files() {
    requires!("node:express");
    check(&with_application(
        &[("server.js", EXPRESS)],
        "command = [\"node\", \"server.js\"], env = [\"NODE_PATH=/usr/share/nodejs:/usr/lib/nodejs\"]",
    ));
}

#[test]
fn a_mapping_of_the_settings_reaches_the_server_and_that_of_a_client_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let mapping = "X-Accel-Mapping: /srv/invoices/=/protected/";
    let origin = client_addresses::origin();
    let site = format!(
        "[[site]]\n[[site.route]]\npath = \"/other\"\nproxy = {{ servers = \"{origin}\" }}\n\
         [[site.route]]\npath = \"/*\"\nproxy = {{ servers = \"{origin}\", set-header = \"{mapping}\" }}\n"
    );
    let server = run(folder.path(), &site);
    for (path, expected) in [("/", 1), ("/other", 0)] {
        let answer = server.ask(path, "X-Accel-Mapping: /etc/=/protected/\r\nx_accel_mapping: /etc/=/protected/\r\n");
        let head = answer.text().to_ascii_lowercase();
        assert_eq!(head.matches("mapping").count(), expected, "{head}");
        assert_eq!(answer.text().contains(mapping), expected == 1, "{head}");
    }
}
