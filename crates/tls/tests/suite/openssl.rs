//! Our client with OpenSSL's server, `openssl s_server`, over TCP.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serow_net::Destination;
use serow_requirements::requires;
use serow_tls::{MAX_RECORD_PLAINTEXT, Protocol, TlsClientSettings, TlsConnector, TlsVersion};

use crate::{
    authority::file,
    dialing::{dial, run},
    ends::{Site, VERSIONS, only},
    running::Running,
};

/// The program, which takes commands: what stands at the front of a line may be one, and else the line is sent.
struct Program {
    running: Running,
    destination: Destination,
    lines: mpsc::Receiver<String>,
}

impl Program {
    /// Starts it with the site's certificate.
    fn start(site: &Site, version: TlsVersion, options: &[&str]) -> Self {
        let version = if version == TlsVersion::Tls13 { "-tls1_3" } else { "-tls1_2" };
        // Output is line-buffered, though it does not go to a terminal.
        let mut child = Command::new("stdbuf")
            .args(["--output=L", "openssl", "s_server"])
            .args(["-accept", "127.0.0.1:0", "-cert", "0.pem", "-key", "0.key", "-alpn", "http/1.1"])
            .arg(version)
            .args(options)
            .current_dir(site.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("openssl can be run: install it with tests/install");
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let mut this =
            Self { running: Running(child), destination: Destination::Tcp(([127, 0, 0, 1], 0).into()), lines };
        this.destination = Destination::Tcp(this.wait_for("ACCEPT ").parse().unwrap());
        this
    }

    /// Waits for a line that begins so, and gives the rest of it.
    fn wait_for(&self, beginning: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(20)).expect("the line comes");
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.to_owned();
            }
        }
    }

    fn type_line(&mut self, line: &str) {
        // In one piece: a command is what one call of read(2) gives.
        self.running.0.stdin.as_ref().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }
}

#[test]
fn data_is_exchanged_and_the_session_resumed() {
    requires!("program:openssl");
    let site = Site::new();
    for version in VERSIONS {
        let mut program = Program::start(&site, version, &[]);
        let protocols = vec![Protocol::Http2, Protocol::Http1];
        let settings = TlsClientSettings { protocols, versions: only(version), ..site.client_settings() };
        let connector = TlsConnector::new(settings).unwrap();
        for resumed in [false, true] {
            run(async {
                let mut dialed = dial(&program.destination, &connector).await.unwrap();
                let description = dialed.wire.description().unwrap();
                assert_eq!((description.version(), description.is_resumed()), (version, resumed));
                assert_eq!(dialed.wire.session().unwrap().protocol(), Some(Protocol::Http1));
                program.type_line("welcome");
                dialed.receive_until("welcome\n").await.unwrap();
                dialed.send(b"thank you\n").await.unwrap();
                program.wait_for("thank you");
                dialed.end().await.unwrap();
            });
        }
    }
}

#[test]
fn key_updates_are_accepted() {
    requires!("program:openssl");
    let site = Site::new();
    let mut program = Program::start(&site, TlsVersion::Tls13, &[]);
    let connector = site.connector(TlsVersion::Tls13);
    run(async {
        let mut dialed = dial(&program.destination, &connector).await.unwrap();
        // With new keys for what it sends, and with a wish for new ones of ours.
        for command in ["k", "K", "K", "k"] {
            program.type_line(command);
            // It reads once for a command, whatever comes behind it.
            program.wait_for("SSL_do_handshake -> 1");
            program.type_line("with new keys");
            dialed.receive_until("with new keys\n").await.unwrap();
            dialed.send(b"with mine\n").await.unwrap();
            program.wait_for("with mine");
        }
    });
}

/// OpenSSL ends the session of a peer that refuses to renegotiate, with an alert.
#[test]
fn renegotiation_is_refused() {
    requires!("program:openssl");
    let site = Site::new();
    let mut program = Program::start(&site, TlsVersion::Tls12, &[]);
    let connector = site.connector(TlsVersion::Tls12);
    run(async {
        let mut dialed = dial(&program.destination, &connector).await.unwrap();
        program.type_line("r");
        let error = dialed.receive_to_end().await.unwrap_err();
        assert_eq!(error.to_string(), "the peer ended the TLS session (alert handshake_failure)");
    });
}

#[test]
fn a_large_file_arrives_unchanged() {
    requires!("program:openssl");
    let site = Site::new();
    let content: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_le_bytes()[1]).collect();
    file(site.folder.path(), "file", &content);
    for version in VERSIONS {
        // Records of all sizes, some in two parts.
        for options in [&["-WWW"][..], &["-WWW", "-max_send_frag", "1000"], &["-WWW", "-max_send_frag", "16384"]] {
            let program = Program::start(&site, version, options);
            let connector = site.connector(version);
            run(async {
                let mut dialed = dial(&program.destination, &connector).await.unwrap();
                dialed.send(b"GET /file HTTP/1.0\r\n\r\n").await.unwrap();
                dialed.receive_to_end().await.unwrap();
                assert!(dialed.input.starts_with(b"HTTP/1.0 200 ok\r\n") && dialed.input.ends_with(&content));
                assert!(dialed.input.len() < content.len() + MAX_RECORD_PLAINTEXT);
            });
        }
    }
}

#[test]
fn a_client_certificate_is_presented_on_request() {
    requires!("program:openssl");
    let site = Site::new();
    let files = site.authority.issue(&["client"]).store(site.folder.path(), "client");
    file(site.folder.path(), "authority.pem", site.authority.pem());
    for version in VERSIONS {
        let mut program =
            Program::start(&site, version, &["-Verify", "1", "-CAfile", "authority.pem", "-verify_return_error"]);
        for certificate in [Some(files.clone()), None] {
            let is_known = certificate.is_some();
            let settings = TlsClientSettings { certificate, versions: only(version), ..site.client_settings() };
            let connector = TlsConnector::new(settings).unwrap();
            let outcome = run(async {
                let mut dialed = dial(&program.destination, &connector).await?;
                if is_known {
                    program.type_line("welcome");
                    dialed.receive_until("welcome\n").await?;
                    dialed.end().await.unwrap();
                    return Ok(());
                }
                dialed.receive_to_end().await
            });
            match outcome {
                Ok(()) => assert!(is_known),
                // TLS 1.2 has no alert of its own for that (RFC 5246 §7.4.6).
                Err(error) => assert!(
                    !is_known
                        && matches!(
                            error.to_string().as_str(),
                            "the peer requires a certificate: configure one (alert certificate_required)"
                                | "the peer ended the TLS session (alert handshake_failure)"
                        ),
                    "{version:?} {error}"
                ),
            }
        }
    }
}
