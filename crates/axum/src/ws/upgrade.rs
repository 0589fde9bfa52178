//! The request that opens a WebSocket.

use std::{borrow::Cow, future::Future};

use axum::{Error, extract::FromRequestParts, response::Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header, request::Parts};
use serow::OnUpgrade;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::{WebSocket, WebSocketUpgradeRejection};

/// A request that opens a WebSocket: an extractor, as `axum::extract::ws::WebSocketUpgrade`.
#[must_use = "the response of `on_upgrade` has to be returned"]
pub struct WebSocketUpgrade<F = DefaultOnFailedUpgrade> {
    config: WebSocketConfig,
    key: HeaderValue,
    /// The protocols that the client offers, in its order.
    offered: Vec<HeaderValue>,
    protocol: Option<HeaderValue>,
    upgrade: OnUpgrade,
    on_failed_upgrade: F,
}

/// A handler of failed upgrades: a function of the error, for one.
pub trait OnFailedUpgrade: Send + 'static {
    /// The upgrade has failed.
    fn call(self, error: Error);
}

/// Ignores the error.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct DefaultOnFailedUpgrade;

impl OnFailedUpgrade for DefaultOnFailedUpgrade {
    fn call(self, _: Error) {}
}

impl<F: FnOnce(Error) + Send + 'static> OnFailedUpgrade for F {
    fn call(self, error: Error) {
        self(error);
    }
}

impl<F> WebSocketUpgrade<F> {
    /// Sets the size of the buffer that is read into, in bytes; 128 KiB unless set.
    pub fn read_buffer_size(mut self, size: usize) -> Self {
        self.config.read_buffer_size = size;
        self
    }

    /// Sets from how many bytes on messages that wait are written; 128 KiB unless set, 0: each at once.
    pub fn write_buffer_size(mut self, size: usize) -> Self {
        self.config.write_buffer_size = size;
        self
    }

    /// Sets how many bytes may wait to be written; sending more is an error. Unlimited unless set.
    pub fn max_write_buffer_size(mut self, max: usize) -> Self {
        self.config.max_write_buffer_size = max;
        self
    }

    /// Sets the size of the largest message that is received, in bytes; 64 MiB unless set.
    pub fn max_message_size(mut self, max: usize) -> Self {
        self.config.max_message_size = Some(max);
        self
    }

    /// Sets the size of the largest frame that is received, in bytes; 16 MiB unless set.
    pub fn max_frame_size(mut self, max: usize) -> Self {
        self.config.max_frame_size = Some(max);
        self
    }

    /// Sets whether frames of clients need not be masked, which RFC 6455 §5.1 demands; false unless set.
    pub fn accept_unmasked_frames(mut self, accept: bool) -> Self {
        self.config.accept_unmasked_frames = accept;
        self
    }

    /// Sets the protocols that the server speaks, the preferred one first: the first that the client offers is chosen.
    pub fn protocols<I>(mut self, protocols: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<Cow<'static, str>>,
    {
        let spoken = protocols.into_iter().filter_map(|protocol| HeaderValue::from_str(&protocol.into()).ok());
        self.protocol = spoken.into_iter().find(|protocol| self.offered.contains(protocol));
        self
    }

    /// The protocols that the client offers.
    pub fn requested_protocols(&self) -> impl Iterator<Item = &HeaderValue> {
        self.offered.iter()
    }

    /// Chooses a protocol. Clients may refuse one that they have not offered.
    pub fn set_selected_protocol(&mut self, protocol: HeaderValue) {
        self.protocol = Some(protocol);
    }

    /// The protocol that is chosen.
    pub fn selected_protocol(&self) -> Option<&HeaderValue> {
        self.protocol.as_ref()
    }

    /// Sets what happens when the upgrade fails: nothing unless set.
    pub fn on_failed_upgrade<C: OnFailedUpgrade>(self, callback: C) -> WebSocketUpgrade<C> {
        let Self { config, key, offered, protocol, upgrade, .. } = self;
        WebSocketUpgrade { config, key, offered, protocol, upgrade, on_failed_upgrade: callback }
    }

    /// The response that opens the WebSocket, which the handler has to return. `callback` runs in a task of its own, with
    /// the WebSocket.
    #[must_use = "the WebSocket opens when this response is returned"]
    pub fn on_upgrade<C, Fut>(self, callback: C) -> Response
    where
        C: FnOnce(WebSocket) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
        F: OnFailedUpgrade,
    {
        let Self { config, key, protocol, upgrade, on_failed_upgrade, .. } = self;
        let accept = serow::websocket::accept(&String::from_utf8_lossy(key.as_bytes()));
        let mut response = Response::default();
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        // Base64: always a valid value.
        headers.extend(HeaderValue::from_str(&accept).ok().map(|accept| (header::SEC_WEBSOCKET_ACCEPT, accept)));
        headers.extend(protocol.clone().map(|protocol| (header::SEC_WEBSOCKET_PROTOCOL, protocol)));
        tokio::spawn(async move {
            match upgrade.await {
                Ok(connection) => callback(WebSocket::new(connection, config, protocol).await).await,
                Err(error) => on_failed_upgrade.call(Error::new(error)),
            }
        });
        response
    }
}

impl<S: Send + Sync> FromRequestParts<S> for WebSocketUpgrade {
    type Rejection = WebSocketUpgradeRejection;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        if parts.method != Method::GET {
            return Err(WebSocketUpgradeRejection::MethodNotGet);
        }
        if !is(&parts.headers, header::UPGRADE, "websocket") {
            return Err(WebSocketUpgradeRejection::InvalidUpgradeHeader);
        }
        if !is(&parts.headers, header::SEC_WEBSOCKET_VERSION, "13") {
            return Err(WebSocketUpgradeRejection::InvalidWebSocketVersionHeader);
        }
        let key = parts.headers.get(header::SEC_WEBSOCKET_KEY);
        let key = key.ok_or(WebSocketUpgradeRejection::WebSocketKeyHeaderMissing)?.clone();
        let upgrade = OnUpgrade::take_from(&parts.extensions);
        let upgrade = upgrade.ok_or(WebSocketUpgradeRejection::ConnectionNotUpgradable)?;
        let offered = parts.headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
        let offered = offered.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
        let offered = offered.filter_map(|protocol| HeaderValue::from_bytes(protocol.trim_ascii()).ok()).collect();
        let config = WebSocketConfig::default();
        Ok(Self { config, key, offered, protocol: None, upgrade, on_failed_upgrade: DefaultOnFailedUpgrade })
    }
}

fn is(headers: &HeaderMap, name: header::HeaderName, value: &str) -> bool {
    headers.get(name).is_some_and(|found| found.as_bytes().eq_ignore_ascii_case(value.as_bytes()))
}

impl<F> std::fmt::Debug for WebSocketUpgrade<F> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("WebSocketUpgrade")
            .field("offered", &self.offered)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}
