//! BIND's name server for tests: on loopback, in a folder of its own, until it is dropped. A test that starts one begins with
//! `requires!("program:named")`.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

use std::{
    fs,
    net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// A running name server, with a key `serow` in a file.
#[derive(Debug)]
pub struct NameServer {
    /// Where it answers, over UDP and TCP.
    pub address: SocketAddr,
    folder: TempDir,
    child: Child,
}

/// A zone of a name server.
#[derive(Clone, Copy, Debug)]
pub struct Zone<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its records besides those of the zone itself: the lines of a zone file.
    pub records: &'a str,
    /// Which keys may change which records: the content of `update-policy`.
    pub policy: &'a str,
}

impl NameServer {
    /// Starts a server on a port of the system's choice.
    ///
    /// # Panics
    ///
    /// If it cannot be started: a test fails by that.
    #[must_use]
    pub fn start(zones: &[Zone<'_>]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_key(folder.path(), "serow", "hmac-sha256");
        // Another process may take the port before named does.
        let (address, child) = (0..5).find_map(|_| start(folder.path(), zones)).unwrap();
        Self { address, folder, child }
    }

    /// The file of the key `serow`, which the server knows.
    #[must_use]
    pub fn key_file(&self) -> PathBuf {
        self.folder.path().join("serow.key")
    }

    /// The file of another key, which the server does not know.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    #[must_use]
    pub fn other_key(&self, file: &str, name: &str, algorithm: &str) -> PathBuf {
        fs::create_dir_all(self.folder.path().join(file)).unwrap();
        write_key(&self.folder.path().join(file), name, algorithm)
    }

    /// The texts of a name, as dig shows them.
    ///
    /// # Panics
    ///
    /// If dig fails.
    #[must_use]
    pub fn texts(&self, name: &str) -> Vec<String> {
        let server = format!("@{}", self.address.ip());
        let port = self.address.port().to_string();
        let output =
            Command::new("dig").args([&server, "-p", &port, "+short", "+tries=1", name, "TXT"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        let mut texts: Vec<_> = text.lines().map(|line| line.trim_matches('"').to_owned()).collect();
        texts.sort();
        texts
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A key as `tsig-keygen` writes it.
fn write_key(folder: &Path, name: &str, algorithm: &str) -> PathBuf {
    let output = Command::new("/usr/sbin/tsig-keygen").args(["-a", algorithm, name]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let path = folder.join(format!("{name}.key"));
    fs::write(&path, output.stdout).unwrap();
    path
}

/// Starts named on a free port; nothing if it ends before it answers.
fn start(folder: &Path, zones: &[Zone<'_>]) -> Option<(SocketAddr, Child)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(UdpSocket::bind(address).ok()?);
    drop(listener);
    let settings = folder.join("named.conf");
    fs::write(&settings, configuration(folder, address, zones)).unwrap();
    let log_file = folder.join("log");
    let log = fs::File::create(&log_file).unwrap();
    let mut command = Command::new("/usr/sbin/named");
    command.arg("-g").arg("-c").arg(&settings).args(["-n", "1"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut child = command.spawn().unwrap();
    let deadline = Instant::now() + START;
    while child.try_wait().unwrap().is_none() {
        // It listens before it has loaded its zones, and answers SERVFAIL until then.
        if fs::read_to_string(&log_file).unwrap().contains(LOADED) {
            return Some((address, child));
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(20));
    }
    eprintln!("named ended: {}", fs::read_to_string(&log_file).unwrap());
    None
}

fn configuration(folder: &Path, address: SocketAddr, zones: &[Zone<'_>]) -> String {
    let path = folder.display();
    let mut text = format!(
        "options {{ directory \"{path}\"; listen-on port {} {{ {}; }}; listen-on-v6 {{ none; }}; pid-file none; \
         session-keyfile \"{path}/session.key\"; recursion no; }};\ncontrols {{ }};\ninclude \"{path}/serow.key\";\n",
        address.port(),
        address.ip()
    );
    for Zone { name, records, policy } in zones {
        let header = format!("$TTL 60\n@ SOA ns hostmaster 1 60 60 600 60\n@ NS ns\nns A {}\n", Ipv4Addr::LOCALHOST);
        fs::write(folder.join(name), format!("{header}{records}\n")).unwrap();
        text += &format!("zone \"{name}\" {{ type master; file \"{name}\"; update-policy {{ {policy} }}; }};\n");
    }
    text
}

/// It takes 0.1 s, and longer on a busy machine.
const START: Duration = Duration::from_secs(30);

/// The line that named logs as soon as it answers for every zone.
const LOADED: &str = "all zones loaded";
