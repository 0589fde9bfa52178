//! TLS by the settings of `serow`.

use std::{
    io::{Read, Write},
    sync::Arc,
};

use axum::{Extension, Router, routing::get};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, crypto::aws_lc_rs};
use serow::{Certificates, RequestContext, SelfSigned, Server, TlsSettings};

use crate::support::Running;

async fn scheme(Extension(context): Extension<RequestContext>) -> String {
    format!("{:?}", context.connection().scheme())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_router_over_tls() {
    let certificate = SelfSigned::new().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.certificate().to_vec().into()).unwrap();
    let certificates = Certificates::SelfSigned(certificate);
    let tls = TlsSettings { certificates, ..TlsSettings::self_signed().unwrap() };
    let server = Running::with(Server::new().tls(tls), Router::new().route("/", get(scheme))).await;
    let address = server.address;
    for (protocol, ending) in [("http/1.1", Some("Https")), ("h2", None)] {
        let roots = roots.clone();
        let exchange = move || {
            let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
            let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
            let mut config = builder.with_no_client_auth();
            config.alpn_protocols = vec![protocol.into()];
            let connection = ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
            let mut stream = StreamOwned::new(connection, std::net::TcpStream::connect(address).unwrap());
            while stream.conn.is_handshaking() {
                stream.conn.complete_io(&mut stream.sock).unwrap();
            }
            assert_eq!(stream.conn.alpn_protocol(), Some(protocol.as_bytes()));
            let Some(ending) = ending else { return };
            stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
            let mut response = String::new();
            stream.read_to_string(&mut response).unwrap();
            assert!(response.ends_with(ending), "{response}");
        };
        tokio::task::spawn_blocking(exchange).await.unwrap();
    }
    server.stop().await;
}
