//! Checks that the server is reachable: one connection before the run, so that an error that concerns all connections is
//! reported in one line.

use std::rc::Rc;

use serow::TlsVersion;
use serow_client::{DialError, Dialer};
use tokio::runtime::Builder;

/// Opens a connection and closes it again; says what it agreed upon, if it is encrypted.
pub(crate) fn describe(dialer: &Dialer) -> Result<Option<String>, DialError> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(DialError::Connect)?;
    runtime.block_on(async {
        let description = dialer.dial(&Rc::default()).await?.description();
        Ok(description.map(|agreed| format!("{} {}", name(agreed.version()), agreed.cipher_suite())))
    })
}

/// As OpenSSL, nginx and Apache write it.
fn name(version: TlsVersion) -> &'static str {
    match version {
        TlsVersion::Tls12 => "TLSv1.2",
        TlsVersion::Tls13 => "TLSv1.3",
    }
}
