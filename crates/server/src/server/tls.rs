//! Settings of TLS.

use serow_message::Scheme;
use serow_tls::{SharedSecret, TlsSettings};

use super::{ListenPlace, Server};

/// With the cargo feature `tls`.
impl Server {
    /// Adds an address to listen on for TLS connections, with the settings of [`Self::tls`].
    #[must_use]
    pub fn listen_tls(mut self, address: impl AsRef<str>) -> Self {
        self.places.push((ListenPlace::At(address.as_ref().parse()), Scheme::Https));
        self
    }

    /// Sets the TLS settings of [`Self::listen_tls`].
    #[must_use]
    pub fn tls(mut self, settings: TlsSettings) -> Self {
        self.tls.settings = Some(settings);
        self
    }

    /// Sets [`TlsSettings::shared_secret`].
    #[must_use]
    pub fn shared_secret(mut self, secret: SharedSecret) -> Self {
        self.tls.shared_secret = Some(secret);
        self
    }
}
