//! Cipher suites, key exchanges and versions.

use rustls::{
    NamedGroup, SupportedProtocolVersion,
    crypto::{CryptoProvider, aws_lc_rs},
    version::{TLS12, TLS13},
};

use crate::{TlsSettingsError, TlsVersion, TlsVersions};

/// rustls' cipher suites; of the key exchanges, a client has the post-quantum one first: traffic that is recorded today
/// could be decrypted by a quantum computer later. A server takes the first of the client's that it supports.
pub(crate) fn provider() -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    // The sort is stable: the others keep their order.
    provider.kx_groups.sort_by_key(|group| group.name() != NamedGroup::X25519MLKEM768);
    provider
}

impl TlsVersions {
    /// The versions as rustls names them.
    ///
    /// # Errors
    ///
    /// When the lowest is above the highest.
    pub(crate) fn supported(self) -> Result<Vec<&'static SupportedProtocolVersion>, TlsSettingsError> {
        if self.lowest > self.highest {
            return Err(TlsSettingsError::NoVersion);
        }
        let all = [(TlsVersion::Tls12, &TLS12), (TlsVersion::Tls13, &TLS13)];
        let allowed = all.into_iter().filter(|(version, _)| (self.lowest..=self.highest).contains(version));
        Ok(allowed.map(|(_, supported)| supported).collect())
    }
}
