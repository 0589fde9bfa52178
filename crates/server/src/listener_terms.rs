//! What the connections of a listener have in common.

use crate::{alternative_service::AlternativeService, tls::TlsAcceptor};

/// What the connections of a listener have in common.
#[derive(Clone, Default)]
pub(crate) struct ListenerTerms {
    pub(crate) tls: Option<TlsAcceptor>,
    /// What responses say of HTTP/3 at the same address.
    pub(crate) alternative: Option<AlternativeService>,
}
