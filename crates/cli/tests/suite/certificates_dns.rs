//! Certificates that are validated by DNS: `serow files --acme` with pebble, an authority for tests, and BIND's named, which
//! the authority looks names up at.

use std::{
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Instant,
};

use serow_ports::free_ports;

use crate::running::{Running, eventually, serow, site};
use rcgen::{CertificateParams, KeyPair};
use serow_name_server::{NameServer, Zone};
use serow_requirements::requires;
use tempfile::TempDir;

/// An authority that runs; it is killed at the end of the test.
struct Authority {
    port: u16,
    folder: TempDir,
    child: Child,
}

impl Authority {
    fn start(name_server: &NameServer) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [port, management, http, tls] = free_ports();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap().self_signed(&key).unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("authority.pem"), certificate.pem()).unwrap();
        fs::write(path("authority.key"), key.serialize_pem()).unwrap();
        let settings = format!(
            r#"{{"pebble": {{"listenAddress": "127.0.0.1:{port}", "managementListenAddress": "127.0.0.1:{management}",
            "certificate": "{}", "privateKey": "{}", "httpPort": {http}, "tlsPort": {tls}}}}}"#,
            path("authority.pem"),
            path("authority.key")
        );
        fs::write(path("pebble.json"), settings).unwrap();
        let mut command = Command::new("pebble");
        command.args(["-config", &path("pebble.json"), "-dnsserver", &name_server.address.to_string()]);
        // It would wait for up to 15 s before each validation.
        command.env("PEBBLE_VA_NOSLEEP", "1").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        eventually("pebble listens", || TcpStream::connect(("127.0.0.1", port)).ok());
        Self { port, folder, child }
    }

    /// The file of its certificate, by which clients trust it.
    fn certificate(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn name_server() -> NameServer {
    let policy = "grant serow name _acme-challenge.example.com TXT;";
    NameServer::start(&[Zone { name: "example.com", records: "", policy }])
}

/// Serves a folder with certificates of this authority, which it validates names by.
fn start(folder: &Path, names: &[&str], authority: &Authority, name_server: &NameServer, key: &Path) -> Running {
    let mut command = serow(["files"]);
    command.arg(folder).args(["--listen", "127.0.0.1:0", "--workers", "1"]);
    for names in names {
        command.args(["--acme", names]);
    }
    command.arg("--acme-dir").arg(authority.folder.path().join("certificates"));
    command.args(["--acme-directory", &format!("https://127.0.0.1:{}/dir", authority.port)]);
    command.arg("--acme-ca").arg(authority.certificate());
    command.args(["--acme-dns", &format!("rfc2136:{}", name_server.address)]).arg("--acme-dns-key").arg(key);
    Running::of(command)
}

/// The names in the authority's certificate for this server name, when there is one.
fn issued_for(server: &Running, name: &str) -> String {
    let address = server.urls()[0].trim_start_matches("https://").trim_end_matches('/').to_owned();
    let script = "openssl s_client -connect $0 -servername $1 </dev/null 2>/dev/null | \
                  openssl x509 -noout -issuer -ext subjectAltName";
    eventually("the authority's certificate is in use", || {
        let output = Command::new("sh").args(["-c", script, &address, name]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        // Until then, it is self-signed.
        text.contains("Pebble").then(|| text.lines().last().unwrap().trim().to_owned())
    })
}

/// The name and its wildcard have the same record with two values, also in two certificates that are ordered at once.
#[test]
fn a_wildcard_is_validated_by_updates_of_the_zone() {
    requires!("program:named", "program:dig", "program:pebble", "program:openssl");
    for (names, expected) in [
        (&["*.example.com"][..], [("a.example.com", "DNS:*.example.com")].as_slice()),
        (&["example.com,*.example.com"], &[("example.com", "DNS:example.com, DNS:*.example.com")]),
        (
            &["example.com", "*.example.com"],
            &[("example.com", "DNS:example.com"), ("a.example.com", "DNS:*.example.com")],
        ),
    ] {
        let (folder, name_server) = (site(), name_server());
        let authority = Authority::start(&name_server);
        let began = Instant::now();
        let server = start(folder.path(), names, &authority, &name_server, &name_server.key_file());
        for (name, expected) in expected {
            assert_eq!(issued_for(&server, name), *expected, "{names:?}");
        }
        println!("{names:?} after {:?}", began.elapsed());
        assert!(name_server.texts("_acme-challenge.example.com").is_empty(), "{names:?}");
    }
}

#[test]
fn a_key_that_the_name_server_does_not_have_is_reported() {
    requires!("program:named", "program:pebble");
    let (folder, name_server) = (site(), name_server());
    let authority = Authority::start(&name_server);
    let key = name_server.other_key("other", "serow", "hmac-sha256");
    let server = start(folder.path(), &["*.example.com"], &authority, &name_server, &key);
    let line = server.line_with("no new certificate");
    assert!(line.contains("_acme-challenge.example.com.: it has another secret for this key (BADSIG)"), "{line}");
}
