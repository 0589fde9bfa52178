//! The self-signed certificate, which later starts and reloads use again.

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::running::{Running, serow, site};
use tempfile::TempDir;

/// A folder to serve, and one for the state.
struct Here {
    site: TempDir,
    state: TempDir,
}

impl Here {
    fn new() -> Self {
        Self { site: site(), state: tempfile::tempdir().unwrap() }
    }

    fn start(&self) -> Running {
        let mut command = serow([self.site.path()]);
        command.args(["--listen", "127.0.0.1:0", "--workers", "1", "--tls", "self-signed"]);
        Running::of(self.with_state(command))
    }

    fn with_state(&self, mut command: Command) -> Command {
        command.env("XDG_STATE_HOME", self.state.path());
        command
    }

    fn certificate(&self) -> PathBuf {
        self.state.path().join("serow/self-signed.pem")
    }

    /// The output of a curl that trusts this certificate only.
    fn curl(&self, server: &Running, certificate: &Path) -> Output {
        let url = server.urls()[0].split(' ').next().unwrap();
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--max-time", "20", "--cacert"]).arg(certificate);
        curl.arg(format!("{url}a.txt")).output().unwrap()
    }
}

fn fingerprint(announcement: &str) -> &str {
    announcement.rsplit_once("SHA-256 ").unwrap().1
}

#[test]
fn a_client_that_trusts_the_certificate_trusts_it_after_a_restart() {
    let here = Here::new();
    let first = here.start();
    let place = format!("(certificate for development in {}, SHA-256 ", here.certificate().display());
    assert!(first.announcement.contains(&place), "{}", first.announcement);
    let trusted = here.site.path().join("trusted.pem");
    fs::copy(here.certificate(), &trusted).unwrap();
    let second = here.start();
    assert_eq!(fingerprint(&first.announcement), fingerprint(&second.announcement));
    for server in [first, second] {
        let answer = here.curl(&server, &trusted);
        assert_eq!(answer.stdout, b"a", "{}", String::from_utf8_lossy(&answer.stderr));
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let key = here.certificate().with_extension("key");
    assert_eq!((mode(&key), mode(key.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_reload_keeps_the_certificate_and_a_check_writes_none() {
    let here = Here::new();
    let file = here.site.path().join("serow.toml");
    let text = "listen = \"127.0.0.1:0\"\nadmin = \"unix:admin.sock\"\nworkers = 1\ntls = \"self-signed\"\n[[site]]\nfiles = { root = \".\" }\n";
    fs::write(&file, text).unwrap();
    let checked = here.with_state(serow(["check".as_ref(), "-c".as_ref(), file.as_os_str()])).output().unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    assert!(!here.certificate().exists());
    let server = Running::of(here.with_state(serow(["run".as_ref(), "-c".as_ref(), file.as_os_str()])));
    let certificate = fs::read(here.certificate()).unwrap();
    let reloaded =
        serow(["reload".as_ref(), "--new-process".as_ref(), "-c".as_ref(), file.as_os_str()]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&reloaded.stdout), "generation 2 serves\n");
    assert_eq!(fs::read(here.certificate()).unwrap(), certificate);
    let answer = here.curl(&server, &here.certificate());
    assert_eq!(answer.stdout, b"a", "{}", String::from_utf8_lossy(&answer.stderr));
}

#[test]
fn where_no_certificate_can_be_kept_the_server_starts_with_one_of_its_own() {
    let here = Here::new();
    let writable_to_all = here.state.path().join("serow");
    fs::create_dir(&writable_to_all).unwrap();
    fs::set_permissions(&writable_to_all, fs::Permissions::from_mode(0o777)).unwrap();
    let mut command = serow([here.site.path()]);
    command.args(["--listen", "127.0.0.1:0", "--workers", "1", "--tls", "self-signed"]);
    let mut child = here.with_state(command).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said: Vec<_> = lines.take(2).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    let [warning, announcement] = said.as_slice() else { panic!("{said:?}") };
    assert!(warning.contains("other users may write to this folder: forbid it, with chmod go-w"), "{warning}");
    assert!(announcement.contains("(certificate for development for this run only, SHA-256 "), "{announcement}");
    assert_eq!(fs::read_dir(&writable_to_all).unwrap().count(), 0);
}
