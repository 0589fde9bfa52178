//! What the connections of a listener have in common.

use crate::{alternative_service::AlternativeService, tls::TlsAcceptor};

/// What the connections of a listener have in common.
#[derive(Clone, Default)]
pub(crate) struct ListenerTerms {
    pub(crate) tls: Option<TlsAcceptor>,
    /// What responses say of HTTP/3 at the same address.
    pub(crate) alternative: Option<AlternativeService>,
}

impl ListenerTerms {
    /// The terms for one worker: its connections share the text about HTTP/3 among themselves alone, since each of them
    /// changes the number of its references.
    pub(crate) fn of_worker(self) -> Self {
        Self { alternative: self.alternative.map(|alternative| alternative.detached()), ..self }
    }
}
