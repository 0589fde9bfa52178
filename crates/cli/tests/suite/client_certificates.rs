//! Certificates of clients as a condition of sites and routes, with OpenSSL's certificates and curl.

use std::{fs, path::Path, process::Command};

use serow_requirements::requires;
use tempfile::TempDir;

use crate::running::{Running, serow};

/// A server, and certificates of an authority that it trusts and of one that it does not.
struct Place {
    folder: TempDir,
    serow: Running,
}

fn openssl(folder: &Path, arguments: &str) -> String {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout";

/// The certificates, and what their requests get at each path.
const CLIENTS: [(&str, &str, &str); 5] = [
    ("alice", "/CN=alice/O=Example", "DNS:alice.example.com,email:alice@example.com"),
    ("bob", "/CN=bob/O=Example", "DNS:bob.example.net"),
    ("program", "/O=Example", "URI:spiffe://example.com/api"),
    ("twice", "/CN=alice/CN=mallory", "DNS:mallory.example.org"),
    ("wild", "/CN=wild", "DNS:*.example.com"),
];

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        for name in ["ca", "other"] {
            openssl(path, &format!("req -x509 {KEY} {name}.key -out {name}.pem -subj /CN={name} -days 30"));
        }
        openssl(path, &format!("req -x509 {KEY} site.key -out site.pem -subj /CN=localhost -days 30"));
        for (name, subject, names) in CLIENTS {
            fs::write(path.join("names.cnf"), format!("subjectAltName={names}\n")).unwrap();
            openssl(path, &format!("req {KEY} {name}.key -out {name}.csr -subj {subject}"));
            let ca = "-CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -extfile names.cnf";
            openssl(path, &format!("x509 -req -in {name}.csr {ca} -out {name}.pem"));
        }
        let ca = "-CA other.pem -CAkey other.key -CAcreateserial -days 30";
        openssl(path, &format!("x509 -req -in alice.csr {ca} -out forged.pem"));
        fs::copy(path.join("alice.key"), path.join("forged.key")).unwrap();
        let fingerprint = openssl(path, "x509 -in bob.pem -noout -fingerprint -sha256");
        let fingerprint = fingerprint.trim().rsplit('=').next().unwrap().to_owned();
        fs::create_dir(path.join("public")).unwrap();
        for name in ["index.html", "open", "alice", "whole", "host", "email", "digits", "both"] {
            fs::write(path.join("public").join(name), "a").unwrap();
        }
        let route = |path: &str, rules: &str| {
            format!(
                "[[site.route]]\npath = \"{path}\"\nclient-certificate = {rules}\nfiles = {{ root = \"public\" }}\n"
            )
        };
        let settings = [
            "listen = \"127.0.0.1:0\"\nworkers = 1\ntls = \"site.pem,site.key\"\ntls-client-ca = \"ca.pem\"\n\
             tls-client = \"optional\"\n[[site]]\nclient-certificate = {}\n"
                .to_owned(),
            route("/open", "false"),
            route("/alice", "{ subject = \"alice\" }"),
            route("/whole", "{ subject = [\"O=Example,CN=alice\", \"CN=nobody\"] }"),
            route("/host", "{ san = \"*.example.com\" }"),
            route("/email", "{ san = [\"email:alice@example.com\", \"spiffe://example.com/*\"] }"),
            route("/digits", &format!("{{ fingerprint = \"sha256:{fingerprint}\" }}")),
            route("/both", "{ subject = [\"alice\", \"bob\"], san = \"bob.example.net\" }"),
            "[[site.route]]\npath = \"/*\"\nfiles = { root = \"public\" }\n".to_owned(),
        ];
        fs::write(path.join("serow.toml"), settings.concat()).unwrap();
        let mut command = serow(["run"]);
        command.current_dir(path);
        let serow = Running::of(command);
        Self { folder, serow }
    }

    fn port(&self) -> &str {
        let url = self.serow.urls()[0].split(' ').next().unwrap().trim_end_matches('/');
        url.rsplit_once(':').unwrap().1
    }

    /// The status that a client gets; 000 where there is no response.
    fn status(&self, client: Option<&str>, path: &str, version: &str) -> String {
        let mut curl = Command::new("curl");
        curl.args(["-sk", "--max-time", "20", "-o", "/dev/null", "-w", "%{http_code}"]).args(version.split(' '));
        if let Some(client) = client {
            curl.args(["--cert", &format!("{client}.pem"), "--key", &format!("{client}.key")]);
        }
        let url = format!("https://127.0.0.1:{}{path}", self.port());
        let output = curl.arg(url).current_dir(self.folder.path()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }
}

#[test]
fn routes_demand_certificates_by_subject_name_and_fingerprint() {
    requires!("program:openssl", "program:curl");
    let place = Place::new();
    for (path, fitting) in [
        ("/", &["alice", "bob", "program", "twice", "wild"][..]),
        ("/alice", &["alice"]),
        ("/whole", &["alice"]),
        ("/host", &["alice"]),
        ("/email", &["alice", "program"]),
        ("/digits", &["bob"]),
        ("/both", &["bob"]),
    ] {
        for (client, _, _) in CLIENTS {
            let expected = if fitting.contains(&client) { "200" } else { "403" };
            assert_eq!(place.status(Some(client), path, "--tlsv1.3"), expected, "{client} {path}");
        }
        assert_eq!(place.status(None, path, "--tlsv1.3"), "403", "{path}");
    }
    for version in ["--tlsv1.3", "--tls-max 1.2"] {
        assert_eq!(place.status(None, "/open", version), "200");
        assert_eq!(place.status(Some("alice"), "/alice", version), "200");
        assert_eq!(place.status(Some("bob"), "/alice", version), "403");
        // The handshake fails.
        assert_eq!(place.status(Some("forged"), "/open", version), "000");
    }
}

#[test]
fn resumed_sessions_keep_their_certificate() {
    requires!("program:openssl", "program:curl");
    let place = Place::new();
    let request = |arguments: &str| {
        let script = format!(
            "printf 'GET /alice HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' | openssl s_client -ign_eof \
             -connect 127.0.0.1:{} {arguments} 2>&1",
            place.port()
        );
        let output = Command::new("sh").args(["-c", &script]).current_dir(place.folder.path()).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    for version in ["-tls1_2", "-tls1_3"] {
        let first = request(&format!("{version} -cert alice.pem -key alice.key -sess_out session"));
        assert!(first.contains("HTTP/1.1 200"), "{first}");
        let second = request(&format!("{version} -sess_in session"));
        // Either the session is resumed with the certificate, or the handshake is a new one without.
        assert_eq!(second.contains("HTTP/1.1 200"), second.contains("Reused, TLSv1."), "{second}");
        assert!(second.contains("HTTP/1.1 200") || second.contains("HTTP/1.1 403"), "{second}");
    }
}
