//! Serving with what TLS needs around the handler.

use serow::{Address, BoundServer, Handler};
use serow_config::settings::Encryption;

use crate::{strict_transport::StrictTransport, to_tls::ToTls};

/// The handlers that TLS needs, around that of a server.
fn around<H: Handler>(encryption: &Encryption, handler: H, server: &BoundServer) -> impl Handler + use<H> {
    let handler = StrictTransport::new(handler, encryption.strict_transport);
    ToTls::new(handler, encrypted_port(server), encryption.redirected)
}

/// Serves until the server is stopped, with what TLS needs around the handler, if there is TLS.
pub(crate) fn run<H: Handler + Send>(
    encryption: Option<Encryption>,
    server: BoundServer,
    handler: H,
) -> Result<(), serow::Error> {
    match encryption {
        None => server.run(handler),
        Some(encryption) => {
            let handler = around(&encryption, handler, &server);
            server.run(handler)
        }
    }
}

/// The port at which the server listens with TLS.
fn encrypted_port(server: &BoundServer) -> u16 {
    let ports = server.addresses().map(|address| match address {
        Address::Tcp(address) => Some(address.port()),
        Address::Unix(_) | Address::Descriptor(_) => None,
    });
    let encrypted = ports.zip(server.urls()).find_map(|(port, url)| port.filter(|_| url.starts_with("https://")));
    // Behind a proxy that reaches the server at a unix socket, clients come to the usual one.
    encrypted.unwrap_or(443)
}
