//! Transport parameters, and TLS for QUIC.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use quinn_proto::{
    AckFrequencyConfig, ClientConfig, EndpointConfig, IdleTimeout, ServerConfig, TransportConfig, VarInt,
    crypto::rustls::QuicClientConfig,
};
use serow_tls::{TlsAcceptor, TlsConnector};

use crate::{
    EarlyData, Secrets, congestion::BoundedCubicConfig, connection_id::SlotIds, early_data::EarlyDataStore,
    server_session::ServerTls,
};

/// Limits that one side sets for the other, and its expectations of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportSettings {
    /// Streams for requests that the peer may have open at once.
    pub streams: u32,
    /// Bytes that the peer may send on one stream before any of them are read.
    pub stream_window: u32,
    /// Bytes that the peer may send on all streams before any of them are read: as much memory it may make us use.
    pub window: u32,
    /// How long a connection may be silent before both sides forget it.
    pub idle: Duration,
}

/// Settings and state that the endpoints of a server's threads share.
#[derive(Debug)]
pub struct ServerSettings {
    acceptor: TlsAcceptor,
    secrets: Secrets,
    transport: Arc<TransportConfig>,
    /// Where early data is accepted. It outlives changes of certificates.
    early_data: Option<EarlyDataStore>,
    /// The settings of TLS that were in use last, and those of QUIC made from them.
    current: Mutex<Option<(Arc<rustls::ServerConfig>, Arc<ServerConfig>)>>,
}

impl ServerSettings {
    /// With the certificates of this acceptor. Where it does not allow early data, none is accepted.
    #[must_use]
    pub fn new(acceptor: TlsAcceptor, secrets: Secrets, transport: TransportSettings, early_data: EarlyData) -> Self {
        let early_data = match early_data {
            EarlyData::Accepted if acceptor.allows_early_data() => Some(EarlyDataStore::new()),
            EarlyData::Accepted | EarlyData::Refused => None,
        };
        Self { acceptor, secrets, transport: Arc::new(transport.config()), early_data, current: Mutex::new(None) }
    }

    /// Whether clients may send early data.
    #[must_use]
    pub fn early_data(&self) -> EarlyData {
        if self.early_data.is_some() { EarlyData::Accepted } else { EarlyData::Refused }
    }

    /// Whether the settings of TLS allow QUIC, which needs TLS 1.3 (RFC 9001 §4.2).
    #[must_use]
    pub fn allow_quic(&self) -> bool {
        self.current().is_some()
    }

    /// The settings for the next connection.
    pub(crate) fn current(&self) -> Option<Arc<ServerConfig>> {
        let tls = self.acceptor.quic_settings();
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of_tls, config)) = &*current
            && Arc::ptr_eq(of_tls, &tls)
        {
            return Some(Arc::clone(config));
        }
        let config = self.config(&tls)?;
        *current = Some((tls, Arc::clone(&config)));
        Some(config)
    }

    fn config(&self, tls: &Arc<rustls::ServerConfig>) -> Option<Arc<ServerConfig>> {
        let mut tls = rustls::ServerConfig::clone(tls);
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        match &self.early_data {
            Some(store) => store.allow_in(&mut tls),
            None => tls.max_early_data_size = 0,
        }
        let tls = ServerTls::new(Arc::new(tls))?;
        let mut config = ServerConfig::new(Arc::new(tls), Arc::clone(&self.secrets.token));
        config.transport_config(Arc::clone(&self.transport)).migration(true);
        if let Some(store) = &self.early_data {
            config.validation_token_config(store.address_tokens());
        }
        Some(Arc::new(config))
    }

    /// The settings of the endpoint whose socket has this place in its group.
    pub(crate) fn endpoint(&self, slot: u8) -> EndpointConfig {
        let mut config = EndpointConfig::new(Arc::clone(&self.secrets.reset));
        config.cid_generator(move || Box::new(SlotIds { slot }));
        config.min_reset_interval(RESET_INTERVAL);
        config
    }
}

/// Settings that the connections of a client share.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    config: ClientConfig,
}

impl ClientSettings {
    /// With the trusted authorities of this connector; nothing if its settings do not allow TLS 1.3.
    #[must_use]
    pub fn new(connector: &TlsConnector, transport: TransportSettings) -> Option<Self> {
        let mut tls = rustls::ClientConfig::clone(&connector.quic_settings());
        tls.alpn_protocols = vec![PROTOCOL.to_vec()];
        let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls).ok()?));
        config.transport_config(Arc::new(transport.config()));
        Some(Self { config })
    }

    /// The settings for the next connection.
    pub(crate) fn config(&self) -> ClientConfig {
        self.config.clone()
    }
}

impl TransportSettings {
    fn config(self) -> TransportConfig {
        let mut config = TransportConfig::default();
        let mut acknowledgements = AckFrequencyConfig::default();
        acknowledgements.ack_eliciting_threshold(PACKETS_PER_ACKNOWLEDGEMENT.into());
        config
            .ack_frequency_config(Some(acknowledgements))
            .congestion_controller_factory(Arc::new(BoundedCubicConfig))
            .max_concurrent_bidi_streams(self.streams.into())
            .max_concurrent_uni_streams(UNIDIRECTIONAL_STREAMS.into())
            .stream_receive_window(self.stream_window.into())
            .receive_window(self.window.into())
            .send_window(SEND_WINDOW)
            // The order of streams is that of their priorities. Without this, one whose sending has begun goes before all
            // others.
            .send_fairness(true)
            .max_idle_timeout(VarInt::try_from(self.idle.as_millis() as u64).ok().map(IdleTimeout::from))
            // Serow does not use datagrams (RFC 9221).
            .datagram_receive_buffer_size(None);
        config
    }
}

/// The name of HTTP/3 in IANA's registry of ALPN protocol IDs.
const PROTOCOL: &[u8] = b"h3";

/// RFC 9114 §6.2: a peer needs three, and may open streams of unknown types.
const UNIDIRECTIONAL_STREAMS: u32 = 16;

/// Packets that a peer may receive before it acknowledges them, if it allows us to say so
/// (draft-ietf-quic-ack-frequency); otherwise it acknowledges every other packet. Each acknowledgement costs both sides about
/// as much as a packet. The delay stays bounded by max_ack_delay, and gaps are acknowledged at once.
const PACKETS_PER_ACKNOWLEDGEMENT: u32 = 10;

/// Bytes that quinn keeps until the peer has acknowledged them. Serow gives it no more than it can send, so that only
/// the congestion window matters: this is 1 Gbit/s over 130 ms.
const SEND_WINDOW: u64 = 16 << 20;

/// The least time between two stateless resets of an endpoint: 10,000 per second. They are shorter than the packets that
/// cause them, so they amplify nothing.
const RESET_INTERVAL: Duration = Duration::from_micros(100);
