//! A real server for a handler, on loopback.

use std::{
    net::SocketAddr,
    thread::{self, JoinHandle},
};

use serow::{Address, BoxedHandler, Server, Stopper, TlsSettings};

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
        let server = server.listen("127.0.0.1:0").listen_tls("127.0.0.1:0").tls(TlsSettings::self_signed().unwrap());
        let bound = server.workers(1).http3(true).ignore_signals().bind().unwrap();
        let addresses: Vec<_> = bound.addresses().cloned().collect();
        let [Address::Tcp(clear), Address::Tcp(encrypted)] = addresses[..] else { panic!("{addresses:?}") };
        let stopper = bound.stopper();
        let thread = Some(thread::spawn(move || bound.run(handler).unwrap()));
        Self { clear, encrypted, stopper, thread }
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
