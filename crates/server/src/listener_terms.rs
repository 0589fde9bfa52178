//! What the connections of a listener have in common.

use std::sync::Arc;

use serow_tls::TlsAcceptor;

/// What the connections of a listener have in common.
#[derive(Clone, Default)]
pub(crate) struct ListenerTerms {
    pub(crate) tls: Option<TlsAcceptor>,
    /// The value of Alt-Svc, where HTTP/3 is served at the same address (RFC 7838 §3).
    pub(crate) alternative: Option<Arc<[u8]>>,
}
