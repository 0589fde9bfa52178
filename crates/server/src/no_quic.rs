//! HTTP/3 in a build without it: a server opens no UDP sockets.

use std::{net::SocketAddr, rc::Rc};

use crate::{alternative_service::AlternativeService, settings::Settings, tls::TlsAcceptor, worker::Worker};

#[derive(Clone, Default)]
pub(crate) struct QuicPlan;

/// Has no values.
pub(crate) enum QuicSocket {}

pub(crate) struct QuicSockets {
    workers: usize,
}

impl QuicSockets {
    pub(crate) fn new(workers: usize, _: QuicPlan, _: bool, _: &Settings) -> Self {
        Self { workers }
    }

    pub(crate) fn open(&mut self, _: SocketAddr, _: &TlsAcceptor) -> Option<AlternativeService> {
        None
    }

    pub(crate) fn into_workers(self) -> Vec<Vec<QuicSocket>> {
        (0..self.workers).map(|_| Vec::new()).collect()
    }
}

pub(crate) async fn accept<H>(_: Rc<Worker<H>>, socket: QuicSocket) {
    match socket {}
}
