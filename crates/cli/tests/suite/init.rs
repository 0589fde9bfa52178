//! `serow init`, and what `serow` says where an application lies.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

use crate::running::{Running, serow};
use tempfile::TempDir;

/// Programs that answer as interpreters do, so that these tests need none.
const INTERPRETERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interpreters");

const DJANGO: &str = "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n";
const PACKAGE: &str = r#"{"scripts": {"start": "node server.js"}}"#;
const VITE: &str = r#"{"scripts": {"start": "vite"}}"#;

fn folder(files: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in files {
        let text = match *name {
            "manage.py" => DJANGO,
            "package.json" => PACKAGE,
            "app.py" => "app = Flask(__name__)\n",
            "Procfile" => "web: node server.js \"it's\"\n",
            _ => "",
        };
        fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let path = format!("{INTERPRETERS}:/usr/bin:/bin");
    serow(arguments).current_dir(folder).env("PATH", path).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_file_for_each_kind_of_folder_is_right() {
    let cases: [(&[&str], &str, &str); 9] = [
        (&[], "the files of this folder, which has no index file", r#"root = ".", listing = "on""#),
        (&["index.html"], "a static site (index.html)", r#"files = { root = "." }"#),
        (&["index.html", "dist/index.html"], "a static site (dist/index.html)", r#"files = { root = "dist" }"#),
        (&["config.ru", "public/a.css"], "a Rack application (config.ru)", r#"app = { application = "config.ru" }"#),
        (&["config.ru", "config/application.rb"], "a Rails application (config.ru)", r#"application = "config.ru""#),
        (
            &["manage.py", "shop/wsgi.py", "static/a.css"],
            "a Django application (manage.py)",
            r#"app = { application = "shop.wsgi:application" }"#,
        ),
        (&["app.py"], "a Python application (app.py)", r#"app = { application = "app:app" }"#),
        (
            &["Procfile", "package.json", "dist/index.html"],
            "an application with the process web (Procfile); commented out: a Node.js application (package.json), a static \
             site (dist/index.html)",
            r#"app = { command = ["sh", "-c", "exec node server.js \"it's\""] }"#,
        ),
        (
            &["app.psgi", "config.ru"],
            "a Rack application (config.ru); commented out: a PSGI application (app.psgi)",
            "",
        ),
    ];
    for (files, summary, line) in cases {
        let folder = folder(files);
        let said = run(folder.path(), &["init"]);
        let expected = format!("serow.toml is written: {summary}\nStart the server: serow run\n");
        assert_eq!(text(&said.stdout), expected, "{}", text(&said.stderr));
        let written = fs::read_to_string(folder.path().join("serow.toml")).unwrap();
        assert!(written.contains(line), "{line}: {written}");
        assert!(written.lines().all(|line| line.len() <= 120), "{written}");
        let checked = run(folder.path(), &["check"]);
        assert!(checked.status.success(), "{}", text(&checked.stderr));
    }
}

#[test]
fn a_server_for_development_is_the_last_choice() {
    let folder = folder(&["dist/index.html", "index.html"]);
    fs::write(folder.path().join("package.json"), VITE).unwrap();
    let said = text(&run(folder.path(), &["init", "--print"]).stdout);
    assert!(said.contains("\nfiles = { root = \"dist\" }\n"), "{said}");
    assert!(said.contains("\n#app = { command = [\"npm\", \"start\"] }\n"), "{said}");
    assert!(!folder.path().join("serow.toml").exists());
}

#[test]
fn an_existing_file_stays_as_it_is() {
    let folder = folder(&["index.html"]);
    let file = folder.path().join("serow.toml");
    fs::write(&file, "mine").unwrap();
    let said = run(folder.path(), &["init"]);
    assert_eq!(said.status.code(), Some(1));
    let expected = "serow: serow.toml exists and stays as it is: remove it first, or see with --print what would be \
                    written\n";
    assert_eq!((text(&said.stderr), fs::read_to_string(&file).unwrap()), (expected.to_owned(), "mine".to_owned()));
    let said = run(folder.path(), &["init", "nothing"]);
    assert_eq!(text(&said.stderr), "serow: there is no folder nothing: name another one\n");
    // A link, even one that leads nowhere, is not followed.
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &file).unwrap();
    assert_eq!(run(folder.path(), &["init"]).status.code(), Some(1));
    assert!(!folder.path().join("elsewhere").exists());
}

#[test]
fn each_setting_in_a_comment_is_right() {
    let folder = folder(&["dist/index.html"]);
    let written = text(&run(folder.path(), &["init", "--print"]).stdout);
    let is_key =
        |line: &&str| line.strip_prefix('#').is_some_and(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let keys: Vec<_> = written.lines().filter(is_key).collect();
    assert!(keys.len() >= 11, "{keys:?}");
    for key in keys {
        if key.contains("site.pem") {
            // These files do not exist; the one for development does not need any.
            continue;
        }
        let needs_tls = key.contains("needs tls");
        let mut lines: Vec<_> =
            written.lines().filter(|line| !key.contains("spa =") || !line.starts_with("files")).collect();
        let place = lines.iter().position(|line| *line == key).unwrap();
        lines[place] = &key[1..];
        if needs_tls {
            lines.insert(place, "tls = \"self-signed\"");
        }
        fs::write(folder.path().join("serow.toml"), lines.join("\n")).unwrap();
        let checked = run(folder.path(), &["check"]);
        assert!(checked.status.success(), "{key}: {}", text(&checked.stderr));
    }
}

#[test]
fn the_routes_of_django_in_comments_serve_what_collectstatic_has_collected() {
    let folder = folder(&["manage.py", "shop/wsgi.py", "staticfiles/a.css"]);
    let written = text(&run(folder.path(), &["init", "--print"]).stdout);
    let (head, site) = written.split_once("[[site]]").unwrap();
    let (_, routes) = site.split_once("#[[site.route]]").unwrap();
    let routes = format!("#[[site.route]]{routes}").replace("\n#", "\n").replacen('#', "", 1);
    fs::write(folder.path().join("serow.toml"), format!("{head}[[site]]\n{routes}")).unwrap();
    let examined = run(folder.path(), &["check", "--request", "GET /static/a.css"]);
    let said = text(&examined.stdout);
    assert!(said.contains("the file") && said.contains("staticfiles/a.css"), "{said}{}", text(&examined.stderr));
}

#[test]
fn the_source_code_of_an_application_is_served_only_if_its_folder_is_named() {
    for (files, command) in [
        (&["config.ru"][..], "serow app config.ru"),
        (&["app.psgi"], "serow app app.psgi"),
        (&["manage.py", "shop/wsgi.py"], "serow app shop.wsgi:application"),
        (&["package.json"], "serow app -- npm start"),
    ] {
        let folder = folder(files);
        let said = run(folder.path(), &["--listen", "127.0.0.1:0"]);
        assert_eq!(said.status.code(), Some(2));
        let line = text(&said.stderr);
        assert!(line.contains(&format!("to run the application, write {command}; ")), "{line}");
        assert!(line.ends_with("write serow .\n") && line.lines().count() == 1, "{line}");
    }
}

#[test]
fn a_named_folder_is_served_with_a_hint_and_one_with_an_index_file_without() {
    let folder = folder(&["config.ru", "pages.html"]);
    let start = |arguments: &[&str]| {
        let mut command = serow(["--listen", "127.0.0.1:0", "--workers", "1"]);
        command.args(arguments).current_dir(folder.path());
        command
    };
    let hint = "Hint: this folder contains a Rack application (config.ru); to run it, write serow app config.ru";
    let mut said = lines(start(&["."]));
    assert_eq!(said.next().unwrap(), hint);
    assert!(said.next().unwrap().starts_with("Serving "));
    drop(said);
    let place = folder.path().display();
    let hint =
        format!("Hint: {place} contains a Rack application (config.ru); to run it, write serow app {place}/config.ru");
    assert_eq!(lines(start(&[&place.to_string()])).next().unwrap(), hint);
    assert!(lines(start(&["--index", "pages.html"])).next().unwrap().starts_with("Serving "));
    assert_eq!(Running::of(start(&["--spa", "pages.html"])).get("/nothing").status(), 200);
}

/// The lines of standard error of a server, which ends with them.
fn lines(mut command: Command) -> impl Iterator<Item = String> {
    struct Ended(Child);
    impl Drop for Ended {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let reader = BufReader::new(child.stderr.take().unwrap());
    let child = Ended(child);
    reader.lines().map(move |line| {
        let _ = &child;
        line.unwrap()
    })
}

#[test]
fn source_code_is_neither_served_nor_written_into_a_settings_file_by_itself() {
    for (files, kind, remedy) in [
        (&["contact.php"][..], "PHP (*.php)", "serow app"),
        (&["composer.json", "src/a.php"], "PHP (composer.json)", "serow app"),
        (&["Cargo.toml", "src/main.rs"], "a Rust program (Cargo.toml)", "cargo build --release"),
        (&["Cargo.toml", "index.html"], "a Rust program (Cargo.toml)", "cargo build --release"),
        (&["go.mod"], "a Go program (go.mod)", "go build"),
        (&["mix.exs"], "an Elixir application (mix.exs)", "mix phx.server"),
        (&["pom.xml"], "a Java application (pom.xml)", "java -jar"),
        (&["build.gradle"], "a Java application (build.gradle)", "java -jar"),
    ] {
        let folder = folder(files);
        for (arguments, code) in [(&[][..], 2), (&["files"], 2), (&["init"], 1), (&["init", "--print"], 1)] {
            let output = run(folder.path(), arguments);
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{arguments:?} {said}");
            assert!(said.contains(kind) && said.contains(remedy), "{arguments:?} {said}");
            assert!(output.stdout.is_empty() && !folder.path().join("serow.toml").exists(), "{arguments:?}");
        }
    }
}
