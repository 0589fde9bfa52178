//! Serving, with what TLS needs around the handler.

use serow::{Address, BoundServer, Handler, RunningServer};

use crate::{
    LiveSites,
    site_handler::{ClientAdmission, SiteHandler},
    to_tls::TlsPolicy,
};

/// Starts the server, and returns when it serves; the sites may be replaced while it does. While maintenance goes on, clients
/// receive 503, and banned ones 403.
/// Trusted proxies name the client and its scheme, for maintenance and for redirects to TLS;
/// [`Router::with_trusted`](serow_router::Router::with_trusted) has those for routes.
///
/// # Errors
///
/// If a worker cannot be started.
pub fn start(
    server: BoundServer,
    sites: &LiveSites,
    policy: TlsPolicy,
    admission: ClientAdmission,
) -> Result<RunningServer, serow::Error> {
    let port = tls_port(&server);
    server.start(handler(sites, policy, port, admission))
}

/// The handler of all requests to these sites: redirects to TLS lead to this port. [`start`] serves it; tests call it without a server.
pub fn handler(sites: &LiveSites, policy: TlsPolicy, port: u16, admission: ClientAdmission) -> impl Handler {
    SiteHandler::new(sites, policy, port, admission)
}

/// The port on which the server listens with TLS.
fn tls_port(server: &BoundServer) -> u16 {
    let ports = server.addresses().map(|address| match address {
        Address::Tcp(address) => Some(address.port()),
        Address::Unix(_) | Address::Descriptor(_) => None,
    });
    let encrypted = ports.zip(server.urls()).find_map(|(port, url)| port.filter(|_| url.starts_with("https://")));
    // Behind a proxy that reaches the server on a unix socket, clients use the usual port.
    encrypted.unwrap_or(443)
}
