//! What both sides can speak: ciphers, key exchanges and versions.

use rustls::{
    NamedGroup, SupportedProtocolVersion,
    crypto::{CryptoProvider, aws_lc_rs},
    version::{TLS12, TLS13},
};

use crate::{TlsSettingsError, TlsVersion, TlsVersions};

/// Ciphers as rustls has them; of the key exchanges, the one that a quantum computer will not undo comes first, where both
/// sides know it. What is recorded today could be read then.
pub(crate) fn provider() -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    // Stable: the others stay in their order.
    provider.kx_groups.sort_by_key(|group| group.name() != NamedGroup::X25519MLKEM768);
    provider
}

impl TlsVersions {
    /// The library's words for them.
    ///
    /// # Errors
    ///
    /// Where the lowest is above the highest.
    pub(crate) fn supported(self) -> Result<Vec<&'static SupportedProtocolVersion>, TlsSettingsError> {
        if self.lowest > self.highest {
            return Err(TlsSettingsError::NoVersion);
        }
        let all = [(TlsVersion::Tls12, &TLS12), (TlsVersion::Tls13, &TLS13)];
        let allowed = all.into_iter().filter(|(version, _)| (self.lowest..=self.highest).contains(version));
        Ok(allowed.map(|(_, supported)| supported).collect())
    }
}
