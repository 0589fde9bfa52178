//! HTTP/3, over loopback: requests and responses whole, and a server that stops without cutting anything off.

mod client;

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    thread::{self, JoinHandle},
};

use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serow::{Address, Error, HandlerExt, Request, Response, Server, Stopper, TlsSettings, Unanswered};
use serow_tls::{Certificates, SelfSigned};

use self::client::{Client, run};

/// A server with HTTP/3 and two workers.
struct Running {
    address: SocketAddr,
    certificate: Vec<u8>,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

/// Longer than any flow-control window at the beginning, and than a congestion window.
const LONG: usize = 3_000_000;

impl Running {
    fn new() -> Self {
        let certificate = SelfSigned::new().unwrap();
        let der = certificate.certificate().to_vec();
        let certificates = Certificates::SelfSigned(certificate);
        let settings = TlsSettings { certificates, ..TlsSettings::self_signed().unwrap() };
        let server = Server::new().listen_tls("127.0.0.1:0").tls(settings).workers(2).http3(true).bind().unwrap();
        let Some(Address::Tcp(address)) = server.addresses().next().cloned() else { panic!("no address") };
        let stopper = server.stopper();
        let thread = thread::spawn(move || {
            let handler = |request: Request| async move {
                match request.target.as_str() {
                    "/echo" => Response::default().body(request.body),
                    "/long" => Response::default().body(vec![7; LONG]),
                    "/closed" => {
                        let mut response = Response::text("secret");
                        response.extensions.insert(Unanswered);
                        response
                    }
                    "/version" => Response::text(format!("{:?}", request.version)),
                    _ => Response::text("hello"),
                }
            };
            server.run(handler.boxed())
        });
        Self { address, certificate: der, stopper, thread: Some(thread) }
    }

    async fn connect(&self) -> Client {
        Client::new(self.address).await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap().unwrap();
        }
    }
}

#[test]
fn requests_and_responses_arrive_whole() {
    let server = Running::new();
    run(async {
        let mut client = server.connect().await;
        let stream = client.get("/version");
        assert_eq!(client.answer(stream).await, (200, b"HTTP/3.0".to_vec()));
        let stream = client.get("/long");
        assert_eq!(client.answer(stream).await, (200, vec![7; LONG]));
        let body: Vec<u8> = (0..LONG).map(|number| number as u8).collect();
        let stream = client.post("/echo", &body);
        assert_eq!(client.answer(stream).await, (200, body));
        // Those without a body are handled together, and those with one as they come.
        let ask = |number: usize| match number % 3 {
            0 => (client.post("/echo", &[3; 9]), vec![3; 9]),
            _ => (client.get("/"), b"hello".to_vec()),
        };
        let streams: Vec<_> = (0..100).map(ask).collect();
        for (stream, body) in streams {
            assert_eq!(client.answer(stream).await, (200, body));
        }
    });
}

#[test]
fn a_request_without_a_response_costs_its_stream_alone() {
    let server = Running::new();
    run(async {
        let mut client = server.connect().await;
        let (closed, behind) = (client.get("/closed"), client.get("/"));
        assert_eq!(client.answer(behind).await, (200, b"hello".to_vec()));
        client.is_reset(closed).await;
        let stream = client.get("/");
        assert_eq!(client.answer(stream).await, (200, b"hello".to_vec()));
    });
}

#[test]
fn connections_are_spread_over_workers_and_stay_there() {
    let server = Running::new();
    run(async {
        let mut clients = Vec::new();
        for _ in 0..16 {
            clients.push(server.connect().await);
        }
        for _ in 0..3 {
            for client in &mut clients {
                let stream = client.get("/");
                assert_eq!(client.answer(stream).await, (200, b"hello".to_vec()));
            }
        }
    });
}

#[test]
fn a_server_that_stops_finishes_its_responses_and_says_goodbye() {
    let server = Running::new();
    run(async {
        let mut client = server.connect().await;
        let stream = client.get("/long");
        client.begun(stream).await;
        server.stopper.stop();
        assert_eq!(client.answer(stream).await, (200, vec![7; LONG]));
        let end = client.end().await;
        // H3_NO_ERROR (RFC 9114 §8.1).
        assert_eq!(end, "receiving failed: closed by peer: 256");
    });
}

#[test]
fn responses_over_tcp_name_the_port() {
    let server = Running::new();
    let mut roots = RootCertStore::empty();
    roots.add(server.certificate.clone().into()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    let mut stream = StreamOwned::new(connection, TcpStream::connect(server.address).unwrap());
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let field = format!("alt-svc: h3=\":{}\"; ma=86400\r\n", server.address.port());
    assert!(text.to_lowercase().contains(&field), "{text}");
}
