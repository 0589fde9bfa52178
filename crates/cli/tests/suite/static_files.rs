//! A folder of static files before an application, on a command line and in a settings file.

use std::{fs, net::TcpStream, path::Path};

use crate::running::{Answer, Running, received, serow};
use serow_requirements::requires;

/// It answers with the method and the path.
const PERL: &str = "sub { [200, ['Content-Type', 'text/plain'], [\"app $_[0]{REQUEST_METHOD} $_[0]{PATH_INFO}\"]] }\n";

const SETTINGS: &str = "
listen = \"127.0.0.1:0\"
workers = 1

[[site]]
[[site.route]]
path = \"/manual/*\"
files = { root = \"public/docs\", strip-prefix = true }

[[site.route]]
path = \"/*\"
files = { root = \"public\", missing = \"next\" }
headers = { X-From = \"files\" }

[[site.route]]
path = \"/*\"
app = { application = \"app.psgi\" }
";

fn ask(server: &Running, method: &str, path: &str) -> Answer {
    use std::io::Write;
    let mut stream: TcpStream = server.connect();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        .unwrap();
    received(stream)
}

fn command(folder: &Path, words: &[&str]) -> Running {
    let mut command = serow(words);
    command.current_dir(folder);
    Running::of(command)
}

#[test]
fn files_are_served_from_the_folder_and_the_rest_by_the_application() {
    requires!("program:perl");
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("app.psgi", PERL);
    put("serow.toml", SETTINGS);
    put("public/style.css", "css");
    put("public/docs/index.html", "documents");
    put("public/images/a.png", "png");
    let options = ["--listen", "127.0.0.1:0", "--workers", "1"];
    let of_app = command(folder.path(), &[&["app", "--static", "public", "app.psgi"][..], &options].concat());
    let address = of_app.address().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let of_proxy = command(folder.path(), &[&["proxy", "--static", "public", &address][..], &options].concat());
    let of_file = command(folder.path(), &["run", "-c", "serow.toml"]);
    for (server, name) in [(&of_app, "app"), (&of_proxy, "proxy"), (&of_file, "run")] {
        for (method, path, status, text) in [
            ("GET", "/style.css", 200, "css"),
            ("GET", "/docs/", 200, "documents"),
            ("GET", "/docs", 301, "301 Moved Permanently\n"),
            ("HEAD", "/style.css", 200, ""),
            ("GET", "/", 200, "app GET /"),
            ("GET", "/images", 200, "app GET /images"),
            ("GET", "/images/", 200, "app GET /images/"),
            ("GET", "/missing.css?q", 200, "app GET /missing.css"),
            ("POST", "/style.css", 200, "app POST /style.css"),
            ("DELETE", "/users/1", 200, "app DELETE /users/1"),
        ] {
            let answer = ask(server, method, path);
            assert_eq!((answer.status(), answer.text()), (status, text), "{name}: {method} {path}");
            let from = answer.field("x-from").is_some();
            assert_eq!(from, name == "run" && !text.starts_with("app"), "{name}: {method} {path}");
        }
    }
}

#[test]
fn a_folder_is_mounted_below_a_path() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in
        [("public/docs/index.html", "documents"), ("public/docs/deep/index.html", "deep"), ("app.psgi", "")]
    {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let settings = SETTINGS.replace("app = { application = \"app.psgi\" }", "respond = { status = 404 }");
    fs::write(folder.path().join("serow.toml"), settings).unwrap();
    let server = command(folder.path(), &["run", "-c", "serow.toml"]);
    for (path, status, text, location) in [
        ("/manual/", 200, "documents", None),
        ("/manual/index.html", 200, "documents", None),
        ("/manual/deep/", 200, "deep", None),
        ("/manual/deep", 301, "301 Moved Permanently\n", Some("/manual/deep/")),
        ("/manual/docs/index.html", 404, "404 Not Found\n", None),
        ("/docs/index.html", 200, "documents", None),
    ] {
        let answer = ask(&server, "GET", path);
        let found = (answer.status(), answer.text(), answer.field("location"));
        assert_eq!(found, (status, text, location), "{path}");
    }
}
