//! TLS in a build without it: listeners cannot have it.

use serow_message::Encryption;
use serow_net::Wire;

use crate::{
    Error,
    before_request::Ended,
    transport::{Transport, TransportError},
    versions::{SpokenVersion, Versions},
    worker::Worker,
};

/// Has no values.
#[derive(Clone)]
pub(crate) enum TlsAcceptor {}

impl TlsAcceptor {
    pub(crate) fn reload_changed_files(&self) {
        match *self {}
    }
}

#[derive(Clone, Default)]
pub(crate) struct TlsPlan;

impl TlsPlan {
    pub(crate) fn is_set(&self) -> bool {
        false
    }

    pub(crate) fn acceptor(self, _: Versions) -> Result<Option<TlsAcceptor>, Error> {
        Ok(None)
    }
}

pub(crate) fn missing() -> Error {
    Error::WithoutTls
}

pub(crate) async fn begin<H>(_: &Worker<H>, _: &mut Transport<H>, acceptor: &TlsAcceptor) -> Result<(), Ended> {
    match *acceptor {}
}

pub(crate) fn encryption(_: &Wire) -> Option<Encryption> {
    None
}

pub(crate) fn agreed_version(_: &Wire) -> Option<SpokenVersion> {
    None
}

pub(crate) fn has_failed(_: &Wire, _: &TransportError) -> bool {
    false
}
