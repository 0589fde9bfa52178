//! The first bytes of a client, in which the server name is looked for before the library sees them: nothing breaks, more
//! bytes never change what was found, and where the library reads a ClientHello, it is the same name.

use std::{
    io::Cursor,
    sync::{Arc, LazyLock, Mutex},
};

use rustls::server::Acceptor;
use serow_tls::{
    CertificateDemand, CertificatePending, CertificateTable, OnDemandCertificates, TlsAcceptor, TlsSettings,
};

/// Notes the name that was requested last.
#[derive(Default)]
struct Requests(Mutex<Option<String>>);

impl OnDemandCertificates for Requests {
    fn request(&self, name: &str, _: bool) -> Option<CertificatePending> {
        *self.0.lock().expect("no panic") = Some(name.to_owned());
        Some(Box::pin(std::future::ready(())))
    }
}

static SERVER: LazyLock<(TlsAcceptor, Arc<Requests>)> = LazyLock::new(|| {
    let (table, requests) = (CertificateTable::default(), Arc::new(Requests::default()));
    table.obtain_on_demand(Arc::clone(&requests) as _);
    (TlsAcceptor::new(TlsSettings::managed(Vec::new(), table)).expect("a server"), requests)
});

/// The outcome, and the name.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Unknown,
    Nothing,
    Name(String),
}

fn look(bytes: &[u8]) -> Found {
    let (acceptor, requests) = &*SERVER;
    match acceptor.demand(bytes) {
        CertificateDemand::Unknown => Found::Unknown,
        CertificateDemand::Nothing => Found::Nothing,
        CertificateDemand::Pending(_) => Found::Name(requests.0.lock().expect("no panic").take().expect("a request")),
    }
}

/// The target.
pub fn target(bytes: &[u8]) {
    let whole = look(bytes);
    for end in 0..bytes.len() {
        let part = look(&bytes[..end]);
        assert!(part == Found::Unknown || part == whole, "{part:?} after {end} bytes, {whole:?} after all");
    }
    let mut acceptor = Acceptor::default();
    let read = acceptor.read_tls(&mut Cursor::new(bytes)).is_ok();
    let Some(accepted) = read.then(|| acceptor.accept().ok().flatten()).flatten() else { return };
    let hello = accepted.client_hello();
    let validates = hello.alpn().is_some_and(|mut offered| offered.all(|protocol| protocol == b"acme-tls/1"));
    match (hello.server_name(), validates) {
        (Some(name), false) => assert_eq!(whole, Found::Name(name.to_ascii_lowercase())),
        _ => assert_eq!(whole, Found::Nothing),
    }
}
