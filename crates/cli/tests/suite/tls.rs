//! TLS, with curl and OpenSSL on the other side.

use std::{
    fs,
    io::Write,
    net::TcpStream,
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, SystemTime},
};

use crate::running::{Running, eventually, output, received, site};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256,
};
use serow_requirements::requires;
use tempfile::TempDir;

/// A site, and the certificates of an authority that curl trusts.
struct Encrypted {
    folder: TempDir,
    keys: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Encrypted {
    fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(DnType::CommonName, "an authority for tests");
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        // The tools look at their clock.
        parameters.not_before = (SystemTime::now() - Duration::from_secs(3600)).into();
        let issuer = CertifiedIssuer::self_signed(parameters, KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap());
        let this = Self { folder: site(), keys: tempfile::tempdir().unwrap(), issuer: issuer.unwrap() };
        fs::write(this.keys.path().join("authority.pem"), this.issuer.pem()).unwrap();
        this
    }

    /// Puts a certificate and its key into files `NAME.pem` and `NAME.key`; what `--tls` has to be.
    fn issue(&self, name: &str, names: &[&str]) -> String {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let parameters = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap();
        let certificate = parameters.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.path(&format!("{name}.key")), key.serialize_pem()).unwrap();
        fs::write(self.path(&format!("{name}.pem")), certificate.pem()).unwrap();
        format!("{},{}", self.path(&format!("{name}.pem")), self.path(&format!("{name}.key")))
    }

    fn path(&self, name: &str) -> String {
        self.keys.path().join(name).to_str().unwrap().to_owned()
    }

    fn start(&self, options: &[&str]) -> Running {
        Running::start(self.folder.path(), options)
    }

    /// The output of curl for a URL at a port of this server.
    fn curl(&self, server: &Running, name: &str, path: &str, options: &[&str]) -> Output {
        let port = port(server, 0);
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--include", "--max-time", "20"]);
        curl.args(["--cacert", &self.path("authority.pem"), "--resolve", &format!("{name}:{port}:127.0.0.1")]);
        curl.args(options).arg(format!("https://{name}:{port}{path}"));
        curl.output().unwrap()
    }
}

/// The port of the nth URL that was printed.
fn port(server: &Running, number: usize) -> String {
    let url = server.urls()[number].split(' ').next().unwrap().trim_end_matches('/').to_owned();
    url.rsplit_once(':').unwrap().1.to_owned()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The output of `openssl s_client`, or that of `openssl x509` with these options for the certificate.
fn s_client(port: &str, options: &[&str], of_certificate: &[&str]) -> String {
    let mut client = Command::new("openssl");
    client.args(["s_client", "-connect", &format!("127.0.0.1:{port}")]).args(options);
    let shown = client.stdin(Stdio::null()).stderr(Stdio::null()).output().unwrap().stdout;
    if of_certificate.is_empty() {
        return String::from_utf8_lossy(&shown).into_owned();
    }
    let mut reader = Command::new("openssl")
        .args(["x509", "-noout"])
        .args(of_certificate)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    reader.stdin.take().unwrap().write_all(&shown).unwrap();
    String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
fn a_certificate_for_development() {
    requires!("program:curl", "program:openssl");
    let here = Encrypted::new();
    let server = here.start(&["--tls", "self-signed"]);
    assert!(server.urls()[0].starts_with("https://127.0.0.1:"), "{}", server.announcement);
    let port = port(&server, 0);
    let shown = s_client(&port, &[], &["-fingerprint", "-sha256"]);
    let (_, fingerprint) = shown.trim().split_once('=').unwrap();
    assert!(server.announcement.ends_with(&format!("SHA-256 {fingerprint})")), "{}", server.announcement);
    for (options, expected) in [
        (&["--http1.1"][..], "HTTP/1.1 200"),
        (&["--http2"], "HTTP/2 200"),
        (&["--tls-max", "1.2"], "200"),
        (&["--tlsv1.3"], "200"),
    ] {
        let answer = text(&here.curl(&server, "localhost", "/a.txt", &[&["--insecure"], options].concat()));
        assert!(answer.contains(expected) && answer.ends_with("\r\n\r\na"), "{answer}");
    }
    // A client without --insecure refuses the certificate.
    assert!(!here.curl(&server, "localhost", "/", &[]).status.success());
}

#[test]
fn several_certificates_by_name() {
    requires!("program:curl");
    let here = Encrypted::new();
    let one = here.issue("one", &["example.com"]);
    here.issue("two", &["*.example.org"]);
    // The second in one file with its key.
    let both = ["two.pem", "two.key"].map(|name| fs::read_to_string(here.path(name)).unwrap()).concat();
    fs::write(here.path("both.pem"), both).unwrap();
    let server = here.start(&["--tls", &one, "--tls", &here.path("both.pem")]);
    assert!(!server.announcement.contains("SHA-256"));
    for (name, works) in [("example.com", true), ("www.example.org", true), ("example.org", false)] {
        assert_eq!(here.curl(&server, name, "/a.txt", &[]).status.success(), works, "{name}");
    }
}

#[test]
fn large_and_many() {
    requires!("program:curl");
    let here = Encrypted::new();
    let large: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
    fs::write(here.folder.path().join("large.bin"), &large).unwrap();
    let server = here.start(&["--tls", &here.issue("one", &["example.com"])]);
    for options in
        [&["--http1.1"][..], &["--http2"], &["--http1.1", "--tls-max", "1.2"], &["--http2", "--tls-max", "1.2"]]
    {
        let output = here.curl(&server, "example.com", "/large.bin", &[&["--no-include"], options].concat());
        assert!(output.status.success() && output.stdout == large, "{options:?}");
        let range = here.curl(
            &server,
            "example.com",
            "/large.bin",
            &[&["--no-include", "-r", "5000-1000000"], options].concat(),
        );
        assert!(range.stdout == large[5000..=1_000_000], "{options:?}");
    }
}

#[test]
fn only_the_versions_that_are_allowed() {
    requires!("program:curl");
    let here = Encrypted::new();
    let certificate = here.issue("one", &["example.com"]);
    for (versions, with_12, with_13) in [("1.2", true, false), ("1.3", false, true), ("1.2-1.3", true, true)] {
        let server = here.start(&["--tls", &certificate, "--tls-versions", versions]);
        assert_eq!(here.curl(&server, "example.com", "/", &["--tls-max", "1.2"]).status.success(), with_12);
        assert_eq!(here.curl(&server, "example.com", "/", &["--tlsv1.3"]).status.success(), with_13);
    }
}

#[test]
fn sessions_go_on() {
    requires!("program:openssl");
    let here = Encrypted::new();
    let server = here.start(&["--tls", &here.issue("one", &["example.com"])]);
    let session = here.path("session");
    let port = port(&server, 0);
    for version in ["-tls1_2", "-tls1_3"] {
        // OpenSSL asks, and waits for the tickets with the answer.
        let connect = |options: &[&str]| {
            let mut client = Command::new("openssl")
                .args(["s_client", "-connect", &format!("127.0.0.1:{port}"), version, "-ign_eof"])
                .args(options)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let request = b"GET /a.txt HTTP/1.1\r\nHost: example.com\r\nConnection: close\r\n\r\n";
            client.stdin.take().unwrap().write_all(request).unwrap();
            String::from_utf8_lossy(&client.wait_with_output().unwrap().stdout).into_owned()
        };
        let first = connect(&["-sess_out", &session]);
        assert!(first.contains("New, TLSv1.") && first.contains("HTTP/1.1 200"), "{first}");
        let second = connect(&["-sess_in", &session]);
        assert!(second.contains("Reused, TLSv1.") && second.contains("HTTP/1.1 200"), "{second}");
    }
}

#[test]
fn clients_show_certificates() {
    requires!("program:curl");
    let here = Encrypted::new();
    let certificate = here.issue("one", &["example.com"]);
    here.issue("client", &["client"]);
    let mine = ["--cert".to_owned(), here.path("client.pem"), "--key".to_owned(), here.path("client.key")];
    let mine: Vec<_> = mine.iter().map(String::as_str).collect();
    for (options, without) in
        [(&[][..], false), (&["--tls-client", "required"], false), (&["--tls-client", "optional"], true)]
    {
        let authority = here.path("authority.pem");
        let server = here.start(&[&["--tls", &certificate, "--tls-client-ca", &authority], options].concat());
        assert!(here.curl(&server, "example.com", "/", &mine).status.success());
        assert_eq!(here.curl(&server, "example.com", "/", &[]).status.success(), without, "{options:?}");
    }
}

#[test]
fn plain_requests_are_sent_to_tls() {
    requires!("program:curl");
    let here = Encrypted::new();
    let certificate = here.issue("one", &["example.com"]);
    let server = here.start(&["--tls", &certificate, "--hsts", "365d", "--redirect-http", "127.0.0.1:0"]);
    let (encrypted, plain) = (port(&server, 0), port(&server, 1));
    assert!(server.urls()[1].starts_with("http://"), "{}", server.announcement);
    let mut stream = TcpStream::connect(format!("127.0.0.1:{plain}")).unwrap();
    stream.write_all(b"GET /a.txt?b=c HTTP/1.1\r\nHost: example.com:80\r\nConnection: close\r\n\r\n").unwrap();
    let answer = received(stream);
    assert_eq!(answer.status(), 308);
    assert_eq!(answer.field("location"), Some(&*format!("https://example.com:{encrypted}/a.txt?b=c")));
    assert_eq!(answer.field("strict-transport-security"), None);
    let answer = text(&here.curl(&server, "example.com", "/a.txt", &["--http1.1"]));
    assert!(answer.to_lowercase().contains("strict-transport-security: max-age=31536000\r\n"), "{answer}");
}

#[test]
fn plain_http_on_a_tls_port_is_closed_or_answered_with_400() {
    let here = Encrypted::new();
    let server = here.start(&["--tls", "self-signed"]);
    let mut stream = TcpStream::connect(format!("127.0.0.1:{}", port(&server, 0))).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = std::io::Read::read_to_end(&mut stream, &mut answer);
    assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400 "), "{}", String::from_utf8_lossy(&answer));
}

#[test]
fn new_certificates_are_used_without_a_restart() {
    requires!("program:curl", "program:openssl");
    let here = Encrypted::new();
    let certificate = here.issue("one", &["example.com"]);
    let server = here.start(&["--tls", &certificate]);
    let port = port(&server, 0);
    let serial = || s_client(&port, &[], &["-serial"]);
    let first = serial();
    assert!(first.starts_with("serial="), "{first}");
    here.issue("one", &["example.com", "www.example.com"]);
    eventually("another certificate", || (serial() != first).then_some(()));
    assert!(here.curl(&server, "www.example.com", "/", &[]).status.success());
    // One that cannot be used is told of once, and the one from before stays.
    let second = serial();
    fs::write(here.path("one.key"), "nothing").unwrap();
    eventually("a warning", || {
        assert_eq!(serial(), second);
        server.warned("one.key: there is no private key in this file")
    });
    assert_eq!(serial(), second);
}

#[test]
fn mistakes_have_one_line() {
    let here = Encrypted::new();
    let one = here.issue("one", &["example.com"]);
    here.issue("two", &["example.com"]);
    let swapped = format!("{},{}", here.path("one.pem"), here.path("two.key"));
    let cases: [(&[&str], i32, &str); 17] = [
        (&["--hsts", "1d"], 2, "--hsts needs --tls: name a certificate there, or write self-signed"),
        (&["--redirect-http", ":80"], 2, "--redirect-http needs --tls"),
        (&["--tls-client-ca", "a.pem"], 2, "--tls-client-ca needs --tls"),
        (&["--tls-versions", "1.3"], 2, "--tls-versions needs --tls"),
        (&["--tls-ocsp", "a.der"], 2, "--tls-ocsp needs --tls"),
        (&["--tls-ticket-secret", "a"], 2, "--tls-ticket-secret needs --tls"),
        (&["--tls-unknown-name", "refuse"], 2, "--tls-unknown-name needs --tls"),
        (&["--tls-client-crl", "a.crl"], 2, "--tls-client-crl needs --tls"),
        (&["--tls", &one, "--tls-client-crl", "a.crl"], 2, "--tls-client-crl needs --tls-client-ca"),
        (&["--tls", "self-signed", "--tls", &one], 2, "--tls: self-signed cannot be combined"),
        (&["--tls", "self-signed", "--tls-ocsp", "a"], 2, "--tls-ocsp: no authority has an OCSP response"),
        (&["--tls", &one, "--tls-ocsp", "a", "--tls-ocsp", "b"], 2, "--tls-ocsp is given more often than --tls"),
        (&["--tls", &one, "--tls-client", "optional"], 2, "--tls-client needs --tls-client-ca"),
        (&["--tls", "a.pem,"], 2, "--tls: a name is missing; write CERT,KEY"),
        (&["--tls", &one, "--tls-versions", "1.1"], 2, "--tls-versions: \"1.1\" is not one of 1.2, 1.2-1.3, 1.3"),
        (&["--tls", "/nowhere.pem"], 1, "/nowhere.pem: there is no such file: name the one that holds it"),
        (
            &["--tls", &swapped],
            1,
            &format!("{}: this key does not belong to the certificate in ", here.path("two.key")),
        ),
    ];
    for (arguments, code, expected) in cases {
        let folder: &Path = here.folder.path();
        let output = output([&[folder.to_str().unwrap(), "--listen", "0"], arguments].concat());
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(line.starts_with(&format!("serow: {expected}")) && line.matches('\n').count() == 1, "{line}");
        assert_eq!(output.status.code(), Some(code), "{line}");
    }
}

#[test]
fn a_certificate_that_has_expired_is_pointed_out_by_check_and_at_the_start() {
    let encrypted = Encrypted::new();
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    let mut parameters = CertificateParams::new(vec!["a.example".to_owned()]).unwrap();
    parameters.not_before = rcgen::date_time_ymd(2020, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(2021, 1, 1);
    let certificate = parameters.signed_by(&key, &encrypted.issuer).unwrap();
    fs::write(encrypted.path("old.pem"), certificate.pem() + &key.serialize_pem()).unwrap();
    let problem = "old.pem: the certificate expired on Fri, 01 Jan 2021 00:00:00 GMT: renew it";
    let mut command = crate::running::serow([encrypted.folder.path()]);
    command.args(["--listen", "127.0.0.1:0", "--tls", &encrypted.path("old.pem")]).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stderr = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut stderr, &mut line).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(line.contains("WARN") && line.trim_end().ends_with(problem), "{line}");
    let text = "tls = \"old.pem\"\n[[site]]\nfiles = { root = \".\" }\n";
    fs::write(encrypted.path("serow.toml"), text).unwrap();
    let output = output(["check", "-c", &encrypted.path("serow.toml")]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(" is valid: ") && said.contains(&format!("{problem}\n")), "{said}");
    assert!(said.contains("\nwarning: "), "{said}");
}

#[test]
fn broken_certificates_are_explained_in_sentences() {
    requires!("program:openssl");
    let encrypted = Encrypted::new();
    encrypted.issue("whole", &["a.example"]);
    let whole = fs::read_to_string(encrypted.path("whole.pem")).unwrap();
    let key = fs::read_to_string(encrypted.path("whole.key")).unwrap();
    fs::write(encrypted.path("cut.pem"), &whole[..whole.len() / 2]).unwrap();
    let damaged = whole.replacen("\nM", "\n!", 1);
    fs::write(encrypted.path("damaged.pem"), damaged).unwrap();
    // Without extensions, OpenSSL makes a certificate of X.509 version 1.
    let openssl = |arguments: &[&str]| {
        assert!(Command::new("openssl").args(arguments).output().unwrap().status.success(), "{arguments:?}");
    };
    let (request, first) = (encrypted.path("request.pem"), encrypted.path("first.pem"));
    openssl(&["req", "-new", "-key", &encrypted.path("whole.key"), "-subj", "/CN=a.example", "-out", &request]);
    openssl(&["x509", "-req", "-in", &request, "-signkey", &encrypted.path("whole.key"), "-out", &first]);
    for (name, expected) in [
        (
            "cut.pem",
            "this file is not valid PEM: the line -----END CERTIFICATE----- is missing, so it may have been cut off; write it again",
        ),
        ("damaged.pem", "this file is not valid PEM: the text between BEGIN and END is not base64; write it again"),
        ("first.pem", "the certificate is of X.509 version 1 or 2, and TLS needs version 3: get another one"),
    ] {
        fs::write(encrypted.path("key.pem"), &key).unwrap();
        let files = format!("{},{}", encrypted.path(name), encrypted.path("key.pem"));
        let output = output([encrypted.folder.path().to_str().unwrap(), "--tls", &files]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.trim_end().ends_with(expected), "{said}");
    }
}
