//! Settings of HTTP/3.

use std::{sync::Arc, time::Duration};

use serow_quic::EarlyData;

use super::Server;
use crate::quic_sockets::{QuicSource, SharedQuicSockets};

/// With the cargo feature `http3`.
impl Server {
    /// Also serves HTTP/3 (RFC 9114), at the same addresses over UDP, wherever TLS is served on a TCP port; by default it
    /// does not. Responses over HTTP/1.1 and HTTP/2 tell clients so (Alt-Svc). Where an address cannot be bound for UDP, a
    /// warning says so, and the server goes on without it.
    #[must_use]
    pub fn http3(mut self, enabled: bool) -> Self {
        self.quic.source = if enabled { QuicSource::Own } else { QuicSource::Off };
        self
    }

    /// Does not serve HTTP/3 any more: responses over HTTP/1.1 and HTTP/2 tell clients that remember it to forget it
    /// (`Alt-Svc: clear`), for as long after the start as they would have remembered it.
    #[must_use]
    pub fn withdraw_http3(mut self) -> Self {
        self.quic.source = QuicSource::Withdrawn;
        self
    }

    /// How long clients remember that HTTP/3 is served (`ma` of Alt-Svc, RFC 7838 §3.1), in whole seconds; a day. Zero: they
    /// are not told at all.
    #[must_use]
    pub fn alternative_service_age(mut self, age: Duration) -> Self {
        self.quic.alternative_service_age = Some(age);
        self
    }

    /// Whether requests over HTTP/3 are answered that clients send with their first packets, before the TLS handshake is
    /// complete (early data, 0-RTT); by default they wait for it. The client must have been there before, must have shown
    /// that its address is its own, and uses each session once; only GET, HEAD and OPTIONS without a body are answered,
    /// and have the field `Early-Data: 1` (RFC 8470). Not where clients are asked for certificates.
    #[must_use]
    pub fn early_data(mut self, accepted: bool) -> Self {
        self.quic.early_data = if accepted { EarlyData::Accepted } else { EarlyData::Refused };
        self
    }

    /// As [`Self::http3`], with sockets that another process opened; those of an address belong to the listener of
    /// [`Self::listen_on`] with the same address.
    #[must_use]
    pub fn http3_on(mut self, sockets: SharedQuicSockets) -> Self {
        self.quic.source = QuicSource::Shared(Arc::new(sockets));
        self
    }
}
