//! The UDP sockets of a server.

use std::{net::SocketAddr, sync::Arc};

use serow_net::{bind_udp, socket_filter::attach_reuseport_program};
use serow_quic::{SLOTS, Secrets, ServerSettings, TransportSettings, steering_program};
use serow_tls::TlsAcceptor;

use crate::{quic_accepting::QuicSocket, settings::Settings};

/// Opens UDP sockets beside those for TCP.
pub(crate) struct QuicSockets {
    /// For each worker, its sockets.
    workers: Vec<Vec<QuicSocket>>,
    enabled: bool,
    share: bool,
    secrets: Secrets,
    transport: TransportSettings,
}

impl QuicSockets {
    pub(crate) fn new(workers: usize, enabled: bool, share: bool, settings: &Settings) -> Self {
        let transport = settings.limits.quic(settings.timeouts.idle);
        let workers = (0..workers).map(|_| Vec::new()).collect();
        Self { workers, enabled, share, secrets: Secrets::random(), transport }
    }

    /// Opens a socket for each worker at this address; gives the value of Alt-Svc, if it is served there.
    pub(crate) fn open(&mut self, address: SocketAddr, tls: &TlsAcceptor) -> Option<Arc<[u8]>> {
        if !self.enabled {
            return None;
        }
        let settings = Arc::new(ServerSettings::new(tls.clone(), self.secrets.clone(), self.transport));
        if !settings.allow_quic() {
            tracing::warn!("HTTP/3 is off at {address}: it needs TLS 1.3");
            return None;
        }
        let count = self.workers.len().min(SLOTS);
        let sockets = match bind_udp(address, count, self.share) {
            Ok(sockets) => sockets,
            Err(error) => {
                tracing::warn!("HTTP/3 is off at {address}: cannot bind UDP: {error}");
                return None;
            }
        };
        if count > 1
            && let Some(first) = sockets.first()
            && let Err(error) = attach_reuseport_program(first, &steering_program(0, count.min(255) as u8))
        {
            tracing::warn!("HTTP/3 clients that change their address lose their connections: {error}");
        }
        for ((slot, socket), worker) in sockets.into_iter().enumerate().zip(&mut self.workers) {
            worker.push(QuicSocket { socket, slot: slot as u8, settings: Arc::clone(&settings) });
        }
        Some(format!("h3=\":{}\"; ma={MAX_AGE}", address.port()).into_bytes().into())
    }

    pub(crate) fn into_workers(self) -> Vec<Vec<QuicSocket>> {
        self.workers
    }
}

/// Seconds for which clients remember that HTTP/3 is served: a day, as RFC 7838 §3.1 has it where nothing is said.
const MAX_AGE: u32 = 24 * 60 * 60;
