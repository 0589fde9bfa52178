//! Session tickets of several processes, unknown server names, and revoked client certificates, with OpenSSL's client
//! and its certificates.

use std::{
    ffi::OsStr,
    fs::{self, Permissions},
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use crate::running::{Running, eventually, output, serow};
use serde_json::Value;
use serow_requirements::requires;
use tempfile::TempDir;

/// Settings and certificates in a folder of their own.
struct Place {
    folder: TempDir,
}

impl Place {
    /// With the certificates `site` and `client` of the authority `ca`.
    fn new() -> Self {
        let this = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(this.path().join("public")).unwrap();
        fs::write(this.path().join("public/a.txt"), "a").unwrap();
        fs::write(this.path().join("index.txt"), "").unwrap();
        fs::write(this.path().join("crlnumber"), "01\n").unwrap();
        fs::write(this.path().join("ca.cnf"), CONFIGURATION).unwrap();
        fs::write(this.path().join("site.cnf"), "subjectAltName=DNS:example.com\n").unwrap();
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout";
        let usage = "-addext keyUsage=keyCertSign,cRLSign";
        this.openssl(&format!("req -x509 {key} ca.key -out ca.pem -subj /CN=authority -days 30 {usage}"));
        for name in ["site", "client"] {
            this.openssl(&format!("req {key} {name}.key -out {name}.csr -subj /CN={name}"));
            let issuer = "-CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile site.cnf";
            this.openssl(&format!("x509 -req -in {name}.csr {issuer} -out {name}.pem"));
        }
        this.write_secret("tickets.secret", 1);
        this.write_list();
        this
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write_secret(&self, name: &str, byte: u8) {
        let path = self.path().join(name);
        fs::write(&path, [byte; 48]).unwrap();
        fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }

    fn write_list(&self) {
        self.openssl("ca -config ca.cnf -gencrl -crldays 30 -out ca.crl");
    }

    fn openssl(&self, arguments: &str) {
        let mut openssl = Command::new("openssl");
        let output = openssl.args(arguments.split(' ')).current_dir(self.path()).output().unwrap();
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A server of `serow run` with these settings about TLS, and its port.
    fn start(&self, settings: &str) -> (Running, String) {
        let text = format!(
            "listen = \"127.0.0.1:0\"\nworkers = 1\ntls = \"site.pem,site.key\"\n{settings}\n[[site]]\nfiles = {{ root = \"public\" }}\n"
        );
        fs::write(self.path().join("serow.toml"), text).unwrap();
        let mut command = serow(["run", "-c"]);
        command.arg(self.path().join("serow.toml"));
        let server = Running::of(command);
        let url = server.urls()[0].split(' ').next().unwrap().trim_end_matches('/').to_owned();
        let port = url.rsplit_once(':').unwrap().1.to_owned();
        (server, port)
    }

    /// The process that serves.
    fn generation(&self) -> i64 {
        let settings = self.path().join("serow.toml");
        eventually("a generation serves", || {
            let status = output([OsStr::new("status"), "--json".as_ref(), "-c".as_ref(), settings.as_ref()]);
            let status: Value = serde_json::from_slice(&status.stdout).ok()?;
            let mut generations = status["generations"].as_array()?.iter();
            generations.find(|generation| generation["stage"] == "serving")?["process"].as_i64()
        })
    }

    /// The output of `openssl s_client` when it requests a file.
    fn request(&self, port: &str, options: &str) -> String {
        let mut client = Command::new("openssl")
            .args(["s_client", "-connect", &format!("127.0.0.1:{port}"), "-ign_eof"])
            .args(options.split(' '))
            .current_dir(self.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The connection may be over already.
        let request = b"GET /a.txt HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n";
        let _ = client.stdin.take().unwrap().write_all(request);
        let output = client.wait_with_output().unwrap();
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Requests a file, and whether the session of the last call was resumed for it.
    fn is_resumed(&self, port: &str, version: &str, is_first: bool) -> bool {
        let session = if is_first { "" } else { " -sess_in session" };
        let text = self.request(port, &format!("{version} -servername example.com -sess_out session{session}"));
        assert!(text.contains("HTTP/1.1 200"), "{text}");
        assert!(text.contains("New, TLSv1.") != text.contains("Reused, TLSv1."), "{text}");
        text.contains("Reused, TLSv1.")
    }
}

#[test]
fn servers_and_generations_with_the_same_secret_resume_each_others_sessions() {
    requires!("program:openssl");
    let place = Place::new();
    place.write_secret("other.secret", 2);
    let [one, two] = [(); 2].map(|()| place.start("tls-ticket-secret = \"tickets.secret\""));
    let other = place.start("tls-ticket-secret = \"other.secret\"");
    let random = place.start("");
    for version in ["-tls1_2", "-tls1_3"] {
        assert!(!place.is_resumed(&one.1, version, true));
        for round in 0..4 {
            let port = if round % 2 == 0 { &two.1 } else { &one.1 };
            assert!(place.is_resumed(port, version, false), "{version} {round}");
        }
        for (_, port) in [&other, &random, &one] {
            assert!(!place.is_resumed(port, version, false), "{version}");
        }
    }
    // The settings file is that of the last server.
    let (_server, port) = place.start("tls-ticket-secret = \"tickets.secret\"\nadmin = \"unix:admin.sock\"");
    assert!(!place.is_resumed(&port, "-tls1_3", true));
    let before = place.generation();
    let settings = place.path().join("serow.toml");
    let reloaded = output([OsStr::new("reload"), "--new-process".as_ref(), "-c".as_ref(), settings.as_ref()]);
    assert!(reloaded.status.success(), "{reloaded:?}");
    assert_ne!(place.generation(), before);
    for _ in 0..8 {
        assert!(place.is_resumed(&port, "-tls1_3", false));
    }
    // A restricted process can read the file again.
    place.write_secret("tickets.secret", 3);
    std::thread::sleep(Duration::from_millis(1100));
    assert!(place.is_resumed(&port, "-tls1_3", false));
    let (_server, another) = place.start("tls-ticket-secret = \"tickets.secret\"");
    assert!(place.is_resumed(&another, "-tls1_3", false));
}

#[test]
fn unknown_server_names_are_refused() {
    requires!("program:openssl");
    let place = Place::new();
    for (settings, refuses) in [("", false), ("tls-unknown-name = \"refuse\"", true)] {
        let (_server, port) = place.start(settings);
        for version in ["-tls1_2", "-tls1_3"] {
            for (name, is_known) in
                [("-servername example.com", true), ("-servername other.example", false), ("-noservername", false)]
            {
                let text = place.request(&port, &format!("{version} {name}"));
                assert_eq!(text.contains("HTTP/1.1 200"), is_known || !refuses, "{name}: {text}");
                assert_eq!(text.contains("unrecognized name"), refuses && !is_known, "{name}: {text}");
            }
        }
    }
}

#[test]
fn a_client_certificate_is_refused_soon_after_it_was_revoked() {
    requires!("program:openssl");
    let place = Place::new();
    let (_server, port) = place.start("tls-client-ca = \"ca.pem\"\ntls-client-crl = [\"ca.crl\"]");
    let options = "-cert client.pem -key client.key -servername example.com";
    let request = |more: &str| place.request(&port, &format!("{options}{more}"));
    assert!(request(" -sess_out session").contains("HTTP/1.1 200"));
    let text = request(" -sess_in session");
    assert!(text.contains("HTTP/1.1 200") && text.contains("Reused, TLSv1.3"), "{text}");
    for (list, is_accepted) in [("-revoke client.pem", false), ("", true)] {
        if list.is_empty() {
            fs::write(place.path().join("index.txt"), "").unwrap();
        } else {
            place.openssl(&format!("ca -config ca.cnf {list}"));
        }
        place.write_list();
        let changed = Instant::now();
        for session in ["", " -sess_in session"] {
            eventually("another outcome", || {
                let text = request(session);
                let outcome = text.contains("HTTP/1.1 200");
                assert!(is_accepted || outcome || text.contains("certificate revoked"), "{text}");
                (outcome == is_accepted).then_some(())
            });
        }
        // A second, and what openssl needs on a machine that compiles.
        assert!(changed.elapsed() < Duration::from_secs(5), "{:?}", changed.elapsed());
    }
}

/// Of `openssl ca`.
const CONFIGURATION: &str = "\
[ca]
default_ca = authority
[authority]
database = index.txt
crlnumber = crlnumber
certificate = ca.pem
private_key = ca.key
default_md = sha256
";
