//! Settings that the connections of a listener share.

use crate::{alternative_service::AlternativeService, tls::TlsAcceptor};

/// Settings that the connections of a listener share.
#[derive(Clone, Default)]
pub(crate) struct ListenerTerms {
    pub(crate) tls: Option<TlsAcceptor>,
    /// The announcement of HTTP/3 at the same address in responses.
    pub(crate) alternative: Option<AlternativeService>,
}

impl ListenerTerms {
    /// The terms for one worker: its connections share the text about HTTP/3 among themselves alone, since each of them
    /// changes the number of its references.
    pub(crate) fn of_worker(self) -> Self {
        Self { alternative: self.alternative.map(|alternative| alternative.detached()), ..self }
    }
}
