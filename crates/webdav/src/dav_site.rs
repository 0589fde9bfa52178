//! The site around a folder that clients change.

use std::sync::Arc;

use serow_message::{ClientNetwork, KnownHeader, Peer, Request, TrustedProxies};

use crate::path_scope::PathScope;

/// The site around a folder that clients change; by default, nothing else is in the site.
#[derive(Clone, Debug, Default)]
pub struct DavSite {
    /// Which paths are the folder's; all, if there is none.
    pub scope: Option<Arc<dyn PathScope>>,
    /// The proxies that may name the client, and the host as the client knows it.
    pub trusted: TrustedProxies,
}

impl DavSite {
    /// The hosts by which a client may know this server: that of the request, and what a trusted proxy says of the one that
    /// it was asked for, since it may have changed it (as Apache's ProxyPass does).
    pub(crate) fn hosts(&self, request: &Request) -> Vec<String> {
        let own = request.host();
        let is_trusted = self.trusted.contains(request.connection().peer());
        let named = request.headers.list(KnownHeader::XForwardedHost).filter(|_| is_trusted);
        let named = named.filter_map(|host| std::str::from_utf8(host).ok());
        own.into_iter().chain(named).map(str::to_owned).collect()
    }

    /// The client, as limits count it; empty at a unix socket.
    pub(crate) fn client(&self, request: &Request) -> String {
        match self.trusted.client(&request.headers, request.connection()) {
            Peer::Tcp(address) => ClientNetwork::of(address.ip()).to_string(),
            Peer::Unix => String::new(),
        }
    }
}
