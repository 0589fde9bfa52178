//! The UDP sockets of a server.

use std::{net::SocketAddr, os::fd::OwnedFd, sync::Arc, time::Duration};

use serow_net::reuse_port::quic_steering::{SLOTS, steering_program};
use serow_net::{bind_udp, socket_filter::attach_reuseport_program};
use serow_quic::{EarlyData, Secrets, ServerSettings, TransportSettings};

use crate::{
    alternative_service::{AlternativeService, DEFAULT_AGE},
    quic_accepting::QuicSocket,
    settings::Settings,
    tls::TlsAcceptor,
};

/// UDP sockets that another process opened and passed on: the process that holds the sockets of all generations of a
/// server, and directs the packets of each connection to the generation that it belongs to.
#[derive(Debug)]
pub struct SharedQuicSockets {
    /// For each address, sockets with their places in the group of all sockets of the address.
    pub sockets: Vec<(SocketAddr, Vec<(OwnedFd, u8)>)>,
    /// The secret that all generations make stateless resets and tokens with.
    pub secret: [u8; 32],
}

/// The settings of HTTP/3 of a server that is not bound yet.
#[derive(Clone, Default)]
pub(crate) struct QuicPlan {
    pub(crate) source: QuicSource,
    pub(crate) early_data: EarlyData,
    /// How long clients remember that HTTP/3 is served; `None`: as long as by default.
    pub(crate) alternative_service_age: Option<Duration>,
}

/// How a server gets its UDP sockets.
#[derive(Clone, Default)]
pub(crate) enum QuicSource {
    /// It has none.
    #[default]
    Off,
    /// It has none any more, and tells clients so.
    Withdrawn,
    /// It opens them beside those for TCP.
    Own,
    Shared(Arc<SharedQuicSockets>),
}

/// Opens UDP sockets beside those for TCP, and divides them among the workers.
pub(crate) struct QuicSockets {
    /// For each worker, its sockets.
    workers: Vec<Vec<QuicSocket>>,
    source: QuicSource,
    share: bool,
    secrets: Secrets,
    transport: TransportSettings,
    early_data: EarlyData,
    /// How long clients remember that HTTP/3 is served.
    age: Duration,
}

impl QuicSockets {
    pub(crate) fn new(workers: usize, plan: QuicPlan, share: bool, settings: &Settings) -> Self {
        let QuicPlan { source, early_data, alternative_service_age } = plan;
        let age = alternative_service_age.unwrap_or(DEFAULT_AGE);
        let transport = TransportSettings {
            streams: settings.limits.http3().streams,
            stream_window: QUIC_STREAM_WINDOW,
            window: QUIC_WINDOW,
            idle: settings.timeouts.idle,
        };
        let workers = (0..workers).map(|_| Vec::new()).collect();
        let secrets = match &source {
            QuicSource::Shared(shared) => Secrets::derive(&shared.secret),
            QuicSource::Off | QuicSource::Withdrawn | QuicSource::Own => Secrets::random(),
        };
        Self { workers, source, share, secrets, transport, early_data, age }
    }

    /// Opens sockets at this address; gives what responses say of it.
    pub(crate) fn open(&mut self, address: SocketAddr, tls: &TlsAcceptor) -> Option<AlternativeService> {
        match self.source {
            QuicSource::Off => return None,
            QuicSource::Withdrawn => return Some(AlternativeService::withdrawn(self.age)),
            QuicSource::Own | QuicSource::Shared(_) => {}
        }
        let settings = ServerSettings::new(tls.clone(), self.secrets.clone(), self.transport, self.early_data);
        if !settings.allow_quic() {
            tracing::warn!("HTTP/3 is off at {address}: it needs TLS 1.3");
            return None;
        }
        if settings.early_data() != self.early_data {
            tracing::warn!("early data is off at {address}: clients are asked for certificates there");
        }
        let settings = Arc::new(settings);
        let sockets = match &self.source {
            QuicSource::Off | QuicSource::Withdrawn => return None,
            QuicSource::Own => self.bind(address)?,
            QuicSource::Shared(shared) => of_address(shared, address)?,
        };
        let count = self.workers.len();
        for (number, (socket, slot)) in sockets.into_iter().enumerate() {
            self.workers[number % count].push(QuicSocket { socket, slot, settings: Arc::clone(&settings) });
        }
        (!self.age.is_zero()).then(|| AlternativeService::at(address, self.age))
    }

    /// Opens a socket for each worker.
    fn bind(&self, address: SocketAddr) -> Option<Vec<(OwnedFd, u8)>> {
        if self.share {
            tracing::warn!(
                "HTTP/3 is off at {address}: processes that share a port cannot share the connections of QUIC; \
                 `serow run` keeps them across reloads without sharing the port"
            );
            return None;
        }
        let count = self.workers.len().min(SLOTS - 1);
        let sockets = match bind_udp(address, count) {
            Ok(sockets) => sockets,
            Err(error) => {
                tracing::warn!("HTTP/3 is off at {address}: cannot bind UDP: {error}");
                return None;
            }
        };
        if count > 1
            && let Some(first) = sockets.first()
            && let Err(error) = attach_reuseport_program(first, &steering_program(0, count as u8))
        {
            tracing::warn!("HTTP/3 clients that change their address lose their connections: {error}");
        }
        Some(sockets.into_iter().zip(0..).collect())
    }

    pub(crate) fn into_workers(self) -> Vec<Vec<QuicSocket>> {
        self.workers
    }
}

/// The sockets of an address that were passed on, if there are any.
fn of_address(shared: &SharedQuicSockets, address: SocketAddr) -> Option<Vec<(OwnedFd, u8)>> {
    let (_, sockets) = shared.sockets.iter().find(|(of, sockets)| *of == address && !sockets.is_empty())?;
    let cloned = sockets.iter().map(|(socket, slot)| Ok((socket.try_clone()?, *slot))).collect::<std::io::Result<_>>();
    cloned.inspect_err(|error| tracing::warn!("HTTP/3 is off at {address}: {error}")).ok()
}

/// The memory that a QUIC connection may make us use for data that no handler reads: 8 streams' worth. nghttp2's and
/// quinn's defaults lie around it.
const QUIC_WINDOW: u32 = 4 << 20;

/// Bytes that a stream may send before its reader has read any of them: 40 Mbit/s over 100 ms.
const QUIC_STREAM_WINDOW: u32 = 512 * 1024;
