//! Our client with nginx, over a unix socket.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    thread,
};

use serow_net::Destination;
use serow_requirements::requires;
use serow_tls::{Protocol, TlsClientSettings, TlsConnector};

use crate::{
    authority::file,
    dialing::{dial, run},
    ends::{Site, VERSIONS, only},
    running::Running,
};

struct Program {
    _running: Running,
    destination: Destination,
}

impl Program {
    /// Starts it with the site's certificate.
    fn start(site: &Site) -> Self {
        let folder = site.folder.path();
        file(folder, "nginx.conf", CONFIGURATION);
        let mut child = Command::new("/usr/sbin/nginx")
            .args(["-p", ".", "-c", "nginx.conf", "-e", "stderr"])
            .current_dir(folder)
            .stderr(Stdio::piped())
            .spawn()
            .expect("nginx can be run: install it with tests/install");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        // nginx writes this line once it listens.
        assert!(lines.any(|line| line.contains("getrlimit")), "nginx starts");
        thread::spawn(move || lines.for_each(drop));
        let path = folder.join("socket");
        Self { _running: Running(child), destination: Destination::Unix(path) }
    }
}

#[test]
fn a_file_is_fetched_and_the_session_resumed() {
    requires!("program:nginx");
    let site = Site::new();
    let content: Vec<u8> = (0..3_000_000_u32).map(|number| number.to_le_bytes()[1]).collect();
    file(site.folder.path(), "file", &content);
    let program = Program::start(&site);
    for version in VERSIONS {
        let protocols = vec![Protocol::Http1];
        let settings = TlsClientSettings { protocols, versions: only(version), ..site.client_settings() };
        let connector = TlsConnector::new(settings).unwrap();
        for resumed in [false, true] {
            run(async {
                let mut dialed = dial(&program.destination, &connector).await.unwrap();
                let description = dialed.wire.description().unwrap();
                assert_eq!((description.version(), description.is_resumed()), (version, resumed));
                assert_eq!(dialed.wire.session().unwrap().protocol(), Some(Protocol::Http1));
                dialed.send(b"GET /file HTTP/1.1\r\nhost: example.com\r\nconnection: close\r\n\r\n").await.unwrap();
                dialed.receive_to_end().await.unwrap();
                assert!(dialed.input.starts_with(b"HTTP/1.1 200 OK\r\n") && dialed.input.ends_with(&content));
                assert!(dialed.wire.session().unwrap().is_closed_by_peer(), "nothing was cut off");
            });
        }
    }
}

/// nginx sends its settings as soon as it may: with the last flight of its handshake, or right behind it.
#[test]
fn the_first_frame_of_http_2() {
    requires!("program:nginx");
    let site = Site::new();
    let program = Program::start(&site);
    for version in VERSIONS {
        let protocols = vec![Protocol::Http2, Protocol::Http1];
        let settings = TlsClientSettings { protocols, versions: only(version), ..site.client_settings() };
        let connector = TlsConnector::new(settings).unwrap();
        run(async {
            let mut dialed = dial(&program.destination, &connector).await.unwrap();
            assert_eq!(dialed.wire.session().unwrap().protocol(), Some(Protocol::Http2));
            dialed.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
            while dialed.input.len() < 9 {
                assert!(dialed.receive().await.unwrap() > 0);
            }
            // RFC 9113 §6.5: its type is 4, and its stream 0.
            assert_eq!((dialed.input[3], &dialed.input[5..9]), (4, &[0; 4][..]));
        });
    }
}

const CONFIGURATION: &str = "
daemon off; master_process off; pid nginx.pid; error_log stderr notice; events {}
http {
    access_log off; client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4;
    scgi_temp_path t5;
    server {
        listen unix:socket ssl http2; ssl_certificate 0.pem; ssl_certificate_key 0.key; ssl_protocols TLSv1.2 TLSv1.3;
        root .;
    }
}";
