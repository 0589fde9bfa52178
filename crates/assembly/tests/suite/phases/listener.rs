//! A real server for a handler, on loopback.

use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpListener},
    os::fd::OwnedFd,
    thread::{self, JoinHandle},
};

use serow::{Address, BoxedHandler, Scheme, Server, SharedQuicSockets, Stopper, TlsSettings};

/// A server with these settings, until this is dropped.
pub(super) struct Listener {
    /// Its address without TLS.
    pub(super) clear: SocketAddr,
    /// Its address with TLS, over TCP and QUIC.
    pub(super) encrypted: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    pub(super) fn start(server: Server, handler: BoxedHandler) -> Self {
        let (encrypted, tcp, udp) = bind();
        let quic = SharedQuicSockets { sockets: vec![(encrypted, vec![(udp, 0)])], secret: [0; 32] };
        let server = server.listen_on(vec![tcp], Scheme::Https).tls(TlsSettings::self_signed().unwrap()).http3_on(quic);
        let bound = server.listen("127.0.0.1:0").workers(1).ignore_signals().bind().unwrap();
        let is_other = |address: &&Address| **address != Address::Tcp(encrypted);
        let Some(Address::Tcp(clear)) = bound.addresses().find(is_other).cloned() else { panic!("no address") };
        let stopper = bound.stopper();
        let thread = Some(thread::spawn(move || bound.run(handler).unwrap()));
        Self { clear, encrypted, stopper, thread }
    }
}

/// Sockets for TCP and UDP on the same port. A server that finds the port of its TCP socket in use for UDP, as that of some
/// client, would go on without HTTP/3.
fn bind() -> (SocketAddr, OwnedFd, OwnedFd) {
    loop {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let address = tcp.local_addr().unwrap();
        match serow_net::bind_udp(address, 1) {
            Ok(mut udp) => return (address, tcp.into(), udp.remove(0)),
            Err(error) => assert_eq!(error.kind(), ErrorKind::AddrInUse),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.stopper.end();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "the server ends in order");
        }
    }
}
