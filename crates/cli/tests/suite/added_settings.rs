//! Settings files that are added to a server while it serves, by the admin socket.

use std::{fs, io::Write, os::unix::net::UnixStream, path::Path, process::Command};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::running::{Answer, Running, eventually, output, received, serow};

/// A server whose state is in a folder of its own.
struct Site {
    folder: TempDir,
    server: Running,
}

const FILE: &str = "listen = \"127.0.0.1:0\"\nworkers = 1\nadmin = \"unix:admin.sock\"\n[[site]]\nhosts = \"file\"\n\
                    [[site.route]]\npath = \"/\"\nrespond = { body = \"of the file\" }\n";

impl Site {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("serow.toml"), FILE).unwrap();
        Self { server: Running::of(command(&folder)), folder }
    }

    /// Starts again, after kill -9 of the master.
    fn restart(self) -> Self {
        let Self { folder, mut server } = self;
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        Self { server: Running::of(command(&folder)), folder }
    }

    /// A request to the admin socket.
    fn ask(&self, method: &str, path: &str, fields: &str, body: &str) -> Answer {
        ask(self.folder.path(), method, path, fields, body)
    }

    fn put(&self, name: &str, text: &str) -> Answer {
        self.ask("PUT", &format!("/config/{name}"), "", text)
    }

    /// The answer of a site, if there is one.
    fn of_host(&self, host: &str) -> Option<String> {
        let mut stream = self.server.connect();
        stream.write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        let answer = received(stream);
        (answer.status() == 200).then(|| answer.text().to_owned())
    }

    fn names(&self) -> Vec<String> {
        let answer = self.ask("GET", "/config", "", "");
        let list: Value = serde_json::from_str(answer.text()).unwrap();
        list["files"].as_array().unwrap().iter().map(|file| file["name"].as_str().unwrap().to_owned()).collect()
    }

    fn status(&self) -> Value {
        let file = self.folder.path().join("serow.toml");
        let output = output(["status".as_ref(), "--json".as_ref(), "-c".as_ref(), file.as_os_str()]);
        serde_json::from_slice(&output.stdout).unwrap_or_default()
    }
}

/// A request to the admin socket in this folder.
fn ask(folder: &Path, method: &str, path: &str, fields: &str, body: &str) -> Answer {
    let mut stream = UnixStream::connect(folder.join("admin.sock")).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}");
    stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n{body}").as_bytes()).unwrap();
    received(stream)
}

fn command(folder: &TempDir) -> Command {
    let mut command = serow(["run", "-c"]);
    command.arg(folder.path().join("serow.toml")).env("STATE_DIRECTORY", folder.path().join("state"));
    command
}

/// A site with one answer.
fn site(host: &str, body: &str) -> String {
    format!("[[site]]\nhosts = \"{host}\"\n[[site.route]]\npath = \"/\"\nrespond = {{ body = \"{body}\" }}\n")
}

#[test]
fn an_added_file_is_served_at_once_and_after_a_kill() {
    let site_of = Site::start();
    assert_eq!(site_of.of_host("a"), None);
    let added = site_of.put("a", &site("a", "one"));
    assert_eq!((added.status(), added.text()), (201, "generation 1 serves with the new settings\n"));
    assert_eq!(site_of.put("b.example", &site("b.example", "b")).status(), 201);
    assert_eq!(site_of.put("a", &site("a", "two")).status(), 200);
    let texts = |site: &Site| ["a", "b.example", "file"].map(|host| site.of_host(host));
    let expected = ["two", "b", "of the file"].map(|text| Some(text.to_owned()));
    assert_eq!(texts(&site_of), expected);
    assert_eq!(site_of.names(), ["a", "b.example"]);
    assert_eq!(site_of.ask("GET", "/config/a", "", "").text(), site("a", "two"));
    let site_of = site_of.restart();
    assert_eq!((texts(&site_of), site_of.names()), (expected, vec!["a".to_owned(), "b.example".to_owned()]));
    assert_eq!(site_of.ask("DELETE", "/config/a", "", "").status(), 200);
    assert_eq!((site_of.of_host("a"), site_of.ask("DELETE", "/config/a", "", "").status()), (None, 404));
    let site_of = site_of.restart();
    assert_eq!((site_of.of_host("a"), site_of.names()), (None, vec!["b.example".to_owned()]));
}

#[test]
fn a_reload_and_a_crash_have_the_file_and_the_added_ones() {
    let site_of = Site::start();
    site_of.put("a", &site("a", "a"));
    let file = site_of.folder.path().join("serow.toml");
    fs::write(&file, FILE.replace("of the file", "changed")).unwrap();
    assert!(output(["reload".as_ref(), "-c".as_ref(), file.as_os_str()]).status.success());
    assert_eq!((site_of.of_host("a"), site_of.of_host("file")), (Some("a".to_owned()), Some("changed".to_owned())));
    let pid = site_of.status()["generations"][0]["process"].as_i64().unwrap();
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), Signal::KILL).unwrap();
    eventually("another generation serves", || {
        let serving = site_of.status()["generations"][0]["process"].as_i64()?;
        (serving != pid).then_some(())
    });
    assert_eq!((site_of.of_host("a"), site_of.of_host("file")), (Some("a".to_owned()), Some("changed".to_owned())));
}

#[test]
fn wrong_files_change_nothing_and_are_shown_with_their_places() {
    let site_of = Site::start();
    for (name, text, status, expected) in [
        ("a", "nonsense".to_owned(), 422, "a:1:"),
        ("a", "workers = 3\n".to_owned(), 422, "a:1:1: `workers` belongs to the main settings file"),
        ("a", "include = \"b\"\n".to_owned(), 422, "a:1:1: `include` belongs to files of the disk"),
        ("a", site("file", "twice"), 422, "a:2:1: site 2: site 1 has the host file as well"),
        ("a", site("a", "$nothing"), 422, "there is no $nothing"),
        ("a", "[[site]]\nhosts = \"a\"\nfiles = { root = \"nowhere\" }\n".to_owned(), 422, "nowhere"),
        (".a", site("a", "a"), 400, "letters, digits"),
        ("a%2fb", site("a", "a"), 400, "letters, digits"),
        ("a/../b", site("a", "a"), 400, "letters, digits"),
    ] {
        let answer = site_of.put(name, &text);
        assert_eq!(answer.status(), status, "{name} {text}: {}", answer.text());
        assert!(answer.text().contains(expected), "{name} {text}: {}", answer.text());
    }
    assert_eq!((site_of.names().len(), site_of.of_host("file").as_deref()), (0, Some("of the file")));
    let left = fs::read_dir(site_of.folder.path().join("state")).into_iter().flatten().count();
    assert!(left <= 1, "{left} entries are in the folder");
    let site_of = site_of.restart();
    assert_eq!(site_of.of_host("file").as_deref(), Some("of the file"));
}

#[test]
fn a_version_is_changed_once() {
    let site_of = Site::start();
    let etag = site_of.put("a", &site("a", "one")).field("etag").unwrap().to_owned();
    let condition = format!("If-Match: {etag}\r\n");
    let change = |fields: &str, body: &str| site_of.ask("PUT", "/config/a", fields, &site("a", body)).status();
    assert_eq!(change("If-None-Match: *\r\n", "two"), 412);
    assert_eq!(change(&condition, "three"), 200);
    assert_eq!(change(&condition, "four"), 412);
    assert_eq!(site_of.ask("DELETE", "/config/a", &condition, "").status(), 412);
    assert_eq!(site_of.of_host("a").as_deref(), Some("three"));
    // Of many at the same time, one has the version.
    let etag = site_of.ask("GET", "/config/a", "", "").field("etag").unwrap().to_owned();
    let condition = format!("If-Match: {etag}\r\n");
    let folder = site_of.folder.path();
    let change = |body: String| ask(folder, "PUT", "/config/a", &condition, &site("a", &body)).status();
    let statuses: Vec<_> = std::thread::scope(|scope| {
        let change = &change;
        let running: Vec<_> = (0..8).map(|number| scope.spawn(move || change(number.to_string()))).collect();
        running.into_iter().map(|change| change.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
}
