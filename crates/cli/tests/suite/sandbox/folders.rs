//! Folders that have nothing in common: none works because it is beside another one.

use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use rcgen::{CertificateParams, KeyPair};
use serow_requirements::requires;
use tempfile::TempDir;

use super::{Sandboxed, name_of_this_machine, page};
use crate::running::{eventually, lines_of};

/// An authority that nobody reaches: on the discard port, nothing listens.
const AUTHORITY: &str = "directory = \"https://127.0.0.1:9/dir\"";

fn site(folder: &Path) -> String {
    format!("[[site]]\nhosts = [\"a.example\"]\ntls = \"acme\"\nfiles = {{ root = \"{}\" }}\n", folder.display())
}

/// Waits until a certificate that could not be ordered is noted in the folder of certificates, and returns the folder of
/// the authority.
fn noted_failure(folder: &Path) -> PathBuf {
    eventually("the failed order is stored", || {
        let authorities = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
        authorities.into_iter().find(|authority| authority.join("failures/a.example.pem.json").exists())
    })
}

/// Another process has obtained a certificate: stores it as that process does, and returns its serial number.
fn store_certificate(authority: &Path) -> &'static str {
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    parameters.serial_number = Some(vec![0x5e, 0x70].into());
    let certificate = parameters.self_signed(&key).unwrap();
    let (written, path) = (authority.join("certificates/.new"), authority.join("certificates/a.example.pem"));
    fs::write(&written, key.serialize_pem() + &certificate.pem()).unwrap();
    fs::rename(written, path).unwrap();
    "serial=5E70"
}

#[test]
fn automatic_certificates_are_stored_noticed_and_kept_over_reloads() {
    requires!("program:openssl");
    for is_default in [false, true] {
        let (certificates, pages) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        page(&pages.path().join("site"), "one");
        let text = |dir: &str| format!("[acme]\n{AUTHORITY}\n{dir}\n{}", site(&pages.path().join("site")));
        let folder = certificates.path().join(if is_default { "acme" } else { "own" });
        let text = if is_default { text("") } else { text(&format!("dir = \"{}\"", folder.display())) };
        let set = |command: &mut Command| {
            if is_default {
                command.env("STATE_DIRECTORY", certificates.path());
            }
        };
        let run = Sandboxed::start_with(set, |_| text.clone());
        run.is_restricted();
        let authority = noted_failure(&folder);
        // At the start, Serow lists the folder, to remove files that an earlier process had not finished.
        let serial = store_certificate(&authority);
        is_served(&run, serial);
        fs::remove_dir_all(authority.join("failures")).unwrap();
        run.reload(&text);
        run.is_restricted();
        is_served(&run, serial);
    }
}

/// The serial number of the certificate that clients get, if its description contains this text.
pub(super) fn served(run: &Sandboxed, text: &str) -> Option<String> {
    let address = run.server.urls()[0].trim_start_matches("https://").trim_end_matches('/').to_owned();
    let script = "openssl s_client -connect $0 -servername a.example </dev/null 2>/dev/null | openssl x509 -noout -issuer -serial";
    let output = Command::new("sh").args(["-c", script, &address]).output().unwrap();
    let description = String::from_utf8(output.stdout).unwrap();
    let serial = description.lines().find(|line| line.starts_with("serial="))?.to_owned();
    description.contains(text).then_some(serial)
}

/// Waits until the certificate with this serial number is in use.
pub(super) fn is_served(run: &Sandboxed, serial: &str) {
    eventually("the stored certificate is in use", || served(run, "").filter(|found| found == serial));
}

#[test]
fn a_reload_may_be_the_first_with_automatic_certificates() {
    let (certificates, pages) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    page(&pages.path().join("site"), "one");
    let run =
        Sandboxed::start(|_| format!("[[site]]\nfiles = {{ root = \"{}\" }}\n", pages.path().join("site").display()));
    let dir = certificates.path().join("own");
    run.reload(&format!("[acme]\n{AUTHORITY}\ndir = \"{}\"\n{}", dir.display(), site(&pages.path().join("site"))));
    run.is_restricted();
    noted_failure(&dir);
}

/// Sends a request with this body; the status of the response.
fn put(run: &Sandboxed, path: &str, body: &str) -> String {
    let mut stream = run.server.connect();
    let length = body.len();
    write!(stream, "PUT {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_default().to_owned()
}

/// The hash that `openssl passwd -apr1 -salt saltsalt secret` prints.
const SECRET: &str = "$apr1$saltsalt$LrttParrLPdxvgutaSXWJ0";

/// An upstream server whose response may be stored, and its address.
fn origin() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let head = "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nConnection: close\r\nContent-Length: 1";
            let _ = write!(stream, "{head}\r\n\r\n{number}");
        }
    });
    address
}

#[test]
fn uploads_stored_responses_logs_and_users_work_over_reloads() {
    let folders: Vec<TempDir> = (0..6).map(|_| tempfile::tempdir().unwrap()).collect();
    let path = |number: usize, name: &str| folders[number].path().join(name);
    for (number, name) in [(1, "uploads"), (3, "logs"), (4, "users")] {
        fs::create_dir(path(number, name)).unwrap();
    }
    fs::write(path(4, "users/htpasswd"), format!("a:{SECRET}\n")).unwrap();
    let text = format!(
        "access-log = \"{log}\"\n[cache]\nmemory = \"1M\"\nmax-object = 1\ndir = \"{cache}\"\n[[site]]\n\
         [[site.route]]\npath = \"/up/*\"\nfiles = {{ root = \"{uploads}\", strip-prefix = true, write = \"dav\" }}\n\
         [[site.route]]\npath = \"/users/*\"\nbasic = {{ realm = \"a\", file = \"{users}\" }}\nfiles = {{ root = \"{uploads}\", strip-prefix = true }}\n\
         [[site.route]]\npath = \"/*\"\ncache = true\nproxy = {{ servers = \"{origin}\" }}\n",
        log = path(3, "logs/access.log").display(),
        cache = path(2, "cache").display(),
        uploads = path(1, "uploads").display(),
        users = path(4, "users/htpasswd").display(),
        origin = origin(),
    );
    let run = Sandboxed::start(|_| text.clone());
    for round in 0..2 {
        run.is_restricted();
        assert_eq!(put(&run, &format!("/up/{round}.txt"), "text"), "201");
        assert_eq!(fs::read_to_string(path(1, &format!("uploads/{round}.txt"))).unwrap(), "text");
        run.comes_to_answer("/stored", 200, "0");
        eventually("the response is in the folder", || {
            let mut shards = fs::read_dir(path(2, "cache")).unwrap().flatten().filter(|entry| entry.path().is_dir());
            shards.any(|shard| fs::read_dir(shard.path()).unwrap().count() > 0).then_some(())
        });
        let (log, old) = (path(3, "logs/access.log"), path(3, &format!("logs/old-{round}.log")));
        lines_of(&log, 1);
        fs::rename(&log, old).unwrap();
        run.server.signal(rustix::process::Signal::USR1);
        eventually("a new file", || log.exists().then_some(()));
        run.reload(&text);
    }
    // A file is replaced by another one, as editors do: the folder around it is allowed.
    let (new, users) = (path(4, "users/new"), path(4, "users/htpasswd"));
    fs::write(&new, format!("b:{SECRET}\n")).unwrap();
    fs::rename(new, users).unwrap();
    eventually("the new user is known", || {
        (run.server.ask("/users/0.txt", "Authorization: Basic YjpzZWNyZXQ=\r\n").status() == 200).then_some(())
    });
}

/// Without an upstream: the issuer is the only server whose name has to be looked up.
#[test]
fn keys_are_fetched_from_a_name_and_kept_in_the_state_folder() {
    let state = tempfile::tempdir().unwrap();
    let (address, name) = name_of_this_machine();
    let issuer = TcpListener::bind((address, 0)).unwrap();
    let port = issuer.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in issuer.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ =
                write!(stream, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{KEYS}", KEYS.len());
        }
    });
    let set = |command: &mut Command| {
        command.env("STATE_DIRECTORY", state.path());
    };
    let run = Sandboxed::start_with(set, |_| {
        format!(
            "[[site]]\njwt = {{ keys = \"http://{name}:{port}/jwks.json\", issuer = \"https://a\", audience = \"a\" }}\n\
             [[site.route]]\npath = \"/*\"\nrespond = {{ status = 204 }}\n"
        )
    });
    run.is_restricted();
    eventually("the keys are kept", || fs::read_dir(state.path().join("keys")).ok()?.flatten().next());
}

/// A key set with the public key of RFC 7517 §A.1.
const KEYS: &str = r#"{"keys":[{"kty":"EC","crv":"P-256","kid":"1","use":"sig","alg":"ES256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}]}"#;
