//! Certificates that are kept in Redis, while it is away: servers start, reload and recover with the copy on this machine.

use std::{
    fs,
    net::TcpStream,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    process::{Child, Command, Stdio},
};

use rcgen::{CertificateParams, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use serow_ports::free_ports;
use serow_requirements::requires;
use tempfile::TempDir;

use super::{
    Sandboxed,
    folders::{is_served, served},
    page,
};
use crate::running::eventually;

/// A Redis server without a disk, on a socket.
struct Redis {
    folder: TempDir,
    process: Child,
}

impl Redis {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let process = Self::process(folder.path());
        Self { folder, process }
    }

    fn process(folder: &Path) -> Child {
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--save", "", "--unixsocket"]).arg(folder.join("redis.sock")).current_dir(folder);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn stop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    fn command(&self, words: &[&str]) -> String {
        let output =
            Command::new("redis-cli").arg("-s").arg(self.folder.path().join("redis.sock")).args(words).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}

/// An authority that takes each name as valid; it is killed at the end of the test.
struct Authority {
    folder: TempDir,
    port: u16,
    process: Child,
}

impl Authority {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [port, management] = free_ports();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("authority.pem"), certificate.pem()).unwrap();
        fs::write(path("authority.key"), key.serialize_pem()).unwrap();
        let settings = format!(
            r#"{{"pebble": {{"listenAddress": "127.0.0.1:{port}", "managementListenAddress": "127.0.0.1:{management}",
            "certificate": "{}", "privateKey": "{}", "httpPort": 1, "tlsPort": 1}}}}"#,
            path("authority.pem"),
            path("authority.key")
        );
        fs::write(path("pebble.json"), settings).unwrap();
        let mut command = Command::new("pebble");
        command.args(["-config", &path("pebble.json")]);
        command.envs([("PEBBLE_VA_NOSLEEP", "1"), ("PEBBLE_VA_ALWAYS_VALID", "1"), ("PEBBLE_WFE_NONCEREJECT", "0")]);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        eventually("pebble listens", || TcpStream::connect(("127.0.0.1", port)).ok());
        Self { folder, port, process }
    }

    fn settings(&self) -> String {
        let ca = self.folder.path().join("authority.pem");
        format!("directory = \"https://127.0.0.1:{}/dir\"\nca = \"{}\"", self.port, ca.display())
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The process of the generation, while there is one.
fn generation(run: &Sandboxed) -> Option<Pid> {
    let master = run.server.child.id();
    let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children")).ok()?;
    let [child] = children.split_whitespace().collect::<Vec<_>>()[..] else { return None };
    Pid::from_raw(child.parse().ok()?)
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn a_server_starts_reloads_and_recovers_while_redis_is_away_and_gives_its_certificates_back() {
    requires!("program:redis-server", "program:openssl", "program:pebble");
    let (mut redis, authority) = (Redis::start(), Authority::start());
    let (state, pages) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let socket = redis.folder.path().join("redis.sock");
    page(&pages.path().join("site"), "one");
    let text = |dir: &Path| {
        let secret = dir.join("store.secret");
        fs::write(&secret, "x".repeat(44)).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let root = pages.path().join("site");
        format!(
            "[acme]\n{}\nstore = \"unix://{}\"\nstore-secret = \"{}\"\nstore-prefix = \"mine:\"\n[[site]]\n\
             hosts = [\"a.example\"]\ntls = \"acme\"\nfiles = {{ root = \"{}\" }}\n",
            authority.settings(),
            socket.display(),
            secret.display(),
            root.display(),
        )
    };
    let set = |command: &mut Command| {
        command.env("STATE_DIRECTORY", state.path());
    };
    // Orders begin some seconds after Redis is new to the servers.
    let first = Sandboxed::start_with(set, text);
    let serial = eventually("the authority's certificate is in use", || served(&first, "Pebble"));
    drop(first);
    redis.stop();

    let run = Sandboxed::start_with(set, text);
    run.is_restricted();
    is_served(&run, &serial);
    let text = fs::read_to_string(run.path("serow.toml")).unwrap();
    let (_, text) = text.split_once("workers = 1\n").unwrap();
    run.reload(text);
    is_served(&run, &serial);
    let crashed = generation(&run).unwrap();
    kill_process(crashed, Signal::KILL).unwrap();
    eventually("another generation serves", || generation(&run).filter(|pid| *pid != crashed));
    is_served(&run, &serial);

    // It has lost everything: it gets the certificate and the account back.
    redis.process = Redis::process(redis.folder.path());
    for value in ["certificates/a.example.pem", "account.json"] {
        eventually(value, || {
            redis.command(&["KEYS", &format!("mine:{{acme}}:value:*/{value}")]).contains(value).then_some(())
        });
    }
    is_served(&run, &serial);
    let store = state.path().join("acme/store");
    assert_eq!(redis.command(&["KEYS", "serow:*"]).trim(), "");
    for file in files(&store) {
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600, "{}", file.display());
        assert!(!fs::read(&file).unwrap().windows(7).any(|part| part == b"PRIVATE"), "{}", file.display());
    }
}
