//! Routes to containers, with a service that answers as Docker does, or does not.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::running::{Running, eventually, output, received, serow};

/// A service with these containers. Clones are handles to the same.
#[derive(Clone, Default)]
struct Service(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    containers: Vec<Container>,
    mode: Mode,
    streams: Vec<UnixStream>,
}

#[derive(Clone)]
struct Container {
    id: String,
    name: &'static str,
    labels: Value,
    state: &'static str,
}

/// How the service answers.
#[derive(Clone, Copy, Default, PartialEq)]
enum Mode {
    #[default]
    Well,
    /// It answers with HTML.
    Nonsense,
    /// A list has no end.
    Endless,
    /// It does not answer.
    Silent,
    /// Streams of events end at once.
    Cut,
}

impl Service {
    fn start(path: &Path) -> Self {
        let (service, listener) = (Self::default(), UnixListener::bind(path).unwrap());
        let handle = service.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let service = handle.clone();
                // A client that goes away is none of the test.
                thread::spawn(move || service.answer(stream.unwrap()));
            }
        });
        service
    }

    fn set_mode(&self, mode: Mode) {
        let mut state = self.0.lock().unwrap();
        state.mode = mode;
        state.streams.drain(..).for_each(|stream| drop(stream.shutdown(std::net::Shutdown::Both)));
    }

    /// Starts a container whose server is on this port of the host.
    fn run(&self, name: &'static str, port: u16, labels: &[(&str, &str)]) {
        let mut labels: Value = labels.iter().map(|(label, value)| ((*label).to_owned(), json!(value))).collect();
        labels["serow.port"] = json!(port.to_string());
        let id = name.bytes().fold(String::new(), |id, byte| format!("{id}{byte:02x}"));
        let id = format!("{id:0>64}");
        self.0.lock().unwrap().containers.push(Container { id: id.clone(), name, labels, state: "running" });
        self.tell("start", &id);
    }

    fn remove(&self, name: &str) {
        let mut state = self.0.lock().unwrap();
        let place = state.containers.iter().position(|container| container.name == name).unwrap();
        let id = state.containers.remove(place).id;
        drop(state);
        self.tell("die", &id);
    }

    fn set_state(&self, name: &str, new: &'static str, action: &str) {
        let mut state = self.0.lock().unwrap();
        let container = state.containers.iter_mut().find(|container| container.name == name).unwrap();
        container.state = new;
        let id = container.id.clone();
        drop(state);
        self.tell(action, &id);
    }

    fn tell(&self, action: &str, id: &str) {
        let event = format!("{}\n", json!({ "Type": "container", "Action": action, "Actor": { "ID": id } }));
        let chunk = format!("{:x}\r\n{event}\r\n", event.len());
        let mut state = self.0.lock().unwrap();
        state.streams.retain_mut(|stream| stream.write_all(chunk.as_bytes()).is_ok());
    }

    fn answer(&self, mut stream: UnixStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut lines = Vec::new();
        while lines.last().is_none_or(|line: &String| line != "\r\n") {
            let mut line = String::new();
            if reader.read_line(&mut line).ok()? == 0 {
                return None;
            }
            lines.push(line);
        }
        let path = lines[0].split(' ').nth(1)?.to_owned();
        let mode = self.0.lock().unwrap().mode;
        if mode == Mode::Silent {
            thread::sleep(Duration::from_secs(3600));
        }
        let ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
        if path == "/events" {
            stream.write_all(format!("{ok}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).ok()?;
            if mode != Mode::Cut {
                self.0.lock().unwrap().streams.push(stream);
            }
            return Some(());
        }
        if mode == Mode::Endless {
            stream.write_all(format!("{ok}\r\n[").as_bytes()).ok()?;
            let spaces = vec![b' '; 1 << 20];
            loop {
                stream.write_all(&spaces).ok()?;
            }
        }
        let (status, body) = if mode == Mode::Nonsense { (200, "<html>".to_owned()) } else { self.found(&path) };
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(head.as_bytes()).ok()
    }

    /// The answer to a path, in JSON.
    fn found(&self, path: &str) -> (u16, String) {
        let state = self.0.lock().unwrap();
        let listed =
            |container: &Container| json!({ "Id": container.id, "Labels": container.labels, "State": container.state });
        if path.starts_with("/containers/json") {
            return (200, state.containers.iter().map(listed).collect::<Value>().to_string());
        }
        let found = state.containers.iter().find(|container| path == format!("/containers/{}/json", container.id));
        let Some(found) = found else { return (404, json!({ "message": "no such container" }).to_string()) };
        let inspected = json!({
            "Id": found.id,
            "Name": format!("/{}", found.name),
            "State": { "Status": found.state },
            "Config": { "Labels": found.labels },
            "HostConfig": { "NetworkMode": "host" },
            "NetworkSettings": { "Networks": null, "Ports": {} },
        });
        (200, inspected.to_string())
    }
}

/// A server in a container, which answers with this text until the end of the test.
fn program(body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            thread::spawn(move || {
                let mut request = [0; 4096];
                while stream.read(&mut request).is_ok_and(|length| length > 0) {
                    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                    if stream.write_all(answer.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

struct Front {
    folder: TempDir,
    service: Service,
    server: Running,
}

impl Front {
    fn start(docker: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let service = Service::start(&folder.path().join("docker.sock"));
        let file = format!(
            "listen = \"127.0.0.1:0\"\nworkers = 1\nadmin = \"unix:admin.sock\"\n[docker]\nsocket = \"{}\"\n{docker}\n",
            folder.path().join("docker.sock").display()
        );
        fs::write(folder.path().join("serow.toml"), file).unwrap();
        Self { server: Running::of(command(&folder)), folder, service }
    }

    /// The status and the text for a host.
    fn get(&self, host: &str, path: &str) -> (u16, String) {
        let mut stream = self.server.connect();
        stream
            .write_all(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())
            .unwrap();
        let answer = received(stream);
        (answer.status(), answer.text().to_owned())
    }

    fn serves(&self, host: &str, expected: &str) {
        eventually("the expected answer", || (self.get(host, "/").1 == expected).then_some(()));
    }

    fn answers(&self, host: &str, expected: u16) {
        eventually("the expected answer", || (self.get(host, "/").0 == expected).then_some(()));
    }

    fn status(&self) -> Value {
        let file = self.folder.path().join("serow.toml");
        let output = output(["status".as_ref(), "--json".as_ref(), "-c".as_ref(), file.as_os_str()]);
        serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default()["containers"].clone()
    }

    fn is_connected(&self) -> bool {
        self.status()["connected"] == true
    }
}

fn command(folder: &TempDir) -> Command {
    let mut command = serow(["run", "-c"]);
    command.arg(folder.path().join("serow.toml")).env("STATE_DIRECTORY", folder.path().join("state"));
    command
}

#[test]
fn containers_are_routed_as_they_start_and_stop() {
    let front = Front::start("keep = \"1s\"\nhosts = [\"*.example\"]");
    front.answers("shop.example", 421);
    let (one, two) = (program("one"), program("two"));
    front.service.run("a", one, &[("serow.host", "shop.example")]);
    front.serves("shop.example", "one");
    front.service.run("b", two, &[("serow.host", "shop.example"), ("serow.path", "/api")]);
    eventually("the expected answer", || (front.get("shop.example", "/api/x").1 == "two").then_some(()));
    front.service.set_state("b", "paused", "pause");
    eventually("the expected answer", || (front.get("shop.example", "/api").0 == 503).then_some(()));
    assert_eq!(front.get("shop.example", "/apix").1, "one");
    front.service.set_state("b", "running", "unpause");
    eventually("the expected answer", || (front.get("shop.example", "/api").1 == "two").then_some(()));
    front.service.run("thief", one, &[("serow.host", "bank.test")]);
    let refused = eventually("the expected answer", || front.status()["refused"][0].as_str().map(str::to_owned));
    assert!(refused.contains("container thief") && refused.contains("`hosts` of [docker]"), "{refused}");
    assert_eq!(front.get("bank.test", "/").0, 421);
    for name in ["a", "b", "thief"] {
        front.service.remove(name);
    }
    front.answers("shop.example", 503);
    front.answers("shop.example", 421);
    // It is gone from the disk after it has gone from the settings.
    let files = || {
        let folders = fs::read_dir(front.folder.path().join("state/added")).unwrap().flatten();
        folders.map(|folder| fs::read_dir(folder.path()).unwrap().count()).sum::<usize>()
    };
    eventually("no file", || (files() == 0).then_some(()));
}

#[test]
fn a_service_that_fails_takes_nothing_away() {
    let front = Front::start("");
    let port = program("one");
    front.service.run("a", port, &[("serow.host", "shop.example")]);
    front.serves("shop.example", "one");
    for (mode, error) in
        [(Mode::Nonsense, "is not that of Docker's API"), (Mode::Endless, "its answer is too long"), (Mode::Cut, "")]
    {
        front.service.set_mode(mode);
        eventually("the expected state", || {
            let status = front.status();
            let text = status["last_error"].as_str().unwrap_or_default().to_owned();
            (text.contains(error) && (mode == Mode::Cut || status["connected"] == false)).then_some(())
        });
        assert_eq!(front.get("shop.example", "/").1, "one");
        front.service.set_mode(Mode::Well);
        eventually("the expected answer", || front.is_connected().then_some(()));
    }
    // Changes without events are seen at the next connection.
    front.service.set_mode(Mode::Silent);
    front.service.0.lock().unwrap().containers[0].labels["serow.host"] = json!("other.example");
    assert_eq!(front.get("shop.example", "/").1, "one");
    front.service.set_mode(Mode::Well);
    let front = front.restarted();
    front.serves("other.example", "one");
    front.answers("shop.example", 503);
}

#[test]
fn routes_outlive_the_server_and_are_nobody_elses() {
    let front = Front::start("");
    let port = program("one");
    front.service.run("a", port, &[("serow.host", "shop.example")]);
    front.serves("shop.example", "one");
    front.service.set_mode(Mode::Silent);
    let front = front.restarted();
    assert_eq!(front.get("shop.example", "/").1, "one");
    let file = front.folder.path().join("serow.toml");
    for command in [&["put", "docker~shop.example"][..], &["delete", "docker~shop.example"], &["put", "docker~x"]] {
        let mut words = vec!["config".as_ref(), command[0].as_ref(), command[1].as_ref()];
        if command[0] == "put" {
            words.push(file.as_os_str());
        }
        let output = output(words.into_iter().chain(["-c".as_ref(), file.as_os_str()]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("change their labels"), "{command:?}: {said}");
    }
    // Without [docker] they are not a part of the settings.
    let text = fs::read_to_string(&file).unwrap();
    let before = text.split("[docker]").next().unwrap();
    fs::write(&file, format!("{before}[[site]]\nhosts = \"other\"\nfiles = {{ root = \".\" }}\n")).unwrap();
    assert!(output(["reload".as_ref(), "-c".as_ref(), file.as_os_str()]).status.success());
    assert_eq!(front.get("shop.example", "/").0, 421);
    fs::write(&file, text).unwrap();
    assert!(output(["reload".as_ref(), "-c".as_ref(), file.as_os_str()]).status.success());
    assert_eq!(front.get("shop.example", "/").1, "one");
}

impl Front {
    /// After kill -9 of the master.
    fn restarted(self) -> Self {
        let Self { folder, service, mut server } = self;
        server.child.kill().unwrap();
        server.child.wait().unwrap();
        Self { server: Running::of(command(&folder)), folder, service }
    }
}
