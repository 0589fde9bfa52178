//! Secrets that the endpoints of a server share, in all its threads and generations.

use std::{fmt, sync::Arc};

use aws_lc_rs::{hkdf, hmac};
use quinn_proto::crypto::{HandshakeTokenKey, HmacKey};

/// Secrets that stateless resets and Retry tokens are made with (RFC 9000 §10.3, §8.1). An endpoint resets the
/// connections of another with the same secrets, and takes its tokens.
#[derive(Clone)]
pub struct Secrets {
    pub(crate) reset: Arc<dyn HmacKey>,
    pub(crate) token: Arc<dyn HandshakeTokenKey>,
}

impl Secrets {
    /// From a secret of this length.
    #[must_use]
    pub fn derive(secret: &[u8; 32]) -> Self {
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, b"serow quic");
        let mut reset = [0; 32];
        let source = salt.extract(secret);
        // It fails only for lengths beyond 255 hashes.
        let _ = source.expand(&[b"stateless reset"], hkdf::HKDF_SHA256).map(|okm| okm.fill(&mut reset));
        let token = salt.extract(&[&secret[..], b"token"].concat());
        Self { reset: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, &reset)), token: Arc::new(token) }
    }

    /// From a new secret, for a server that shares it with no other process.
    #[must_use]
    pub fn random() -> Self {
        let mut secret = [0; 32];
        // Without the system's randomness no TLS handshake succeeds either.
        let _ = aws_lc_rs::rand::fill(&mut secret);
        Self::derive(&secret)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secrets")
    }
}
