//! Checks that the server is reachable: one connection before the run, so that an error that concerns all connections is
//! reported in one line.

use std::{future::poll_fn, rc::Rc, task::Poll, time::Duration};

use serow::{TlsVersion, Version};
use serow_client::{DialError, Dialer, Http3Dialer, Http3Limits};
use tokio::runtime::Builder;

/// Opens a connection and closes it again; says what it agreed upon, if it is encrypted.
pub(crate) fn describe(dialer: &Dialer, version: Version) -> Result<Option<String>, DialError> {
    let runtime = Builder::new_current_thread().enable_all().build().map_err(DialError::Connect)?;
    runtime.block_on(async {
        if version == Version::HTTP_3 {
            let mut connection = Http3Dialer::new(dialer)?.dial(Http3Limits::default(), Duration::ZERO).await?;
            poll_fn(|context| {
                connection.close(context);
                Poll::Ready(())
            })
            .await;
            // It has no other (RFC 9001 §4.2).
            return Ok(Some(name(TlsVersion::Tls13).to_owned()));
        }
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
