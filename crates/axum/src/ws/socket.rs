//! An open WebSocket.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use axum::Error;
use futures_core::{FusedStream, Stream};
use futures_sink::Sink;
use http::HeaderValue;
use serow::Upgraded;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::protocol::{Role, WebSocketConfig},
};

use super::Message;

/// An open WebSocket: a stream of messages, and a sink for them.
#[derive(Debug)]
pub struct WebSocket {
    inner: WebSocketStream<Upgraded>,
    protocol: Option<HeaderValue>,
}

impl WebSocket {
    pub(super) async fn new(connection: Upgraded, config: WebSocketConfig, protocol: Option<HeaderValue>) -> Self {
        let inner = WebSocketStream::from_raw_socket(connection, Role::Server, Some(config)).await;
        Self { inner, protocol }
    }

    /// Receives the next message; nothing when the WebSocket has ended.
    pub async fn recv(&mut self) -> Option<Result<Message, Error>> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Sends a message, with all that was given to the sink before.
    ///
    /// # Errors
    ///
    /// The connection is lost, or was closed; or the message is too large.
    pub async fn send(&mut self, message: Message) -> Result<(), Error> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_ready(context)).await?;
        Pin::new(&mut *self).start_send(message)?;
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_flush(context)).await
    }

    /// The protocol that was agreed upon.
    #[must_use]
    pub fn protocol(&self) -> Option<&HeaderValue> {
        self.protocol.as_ref()
    }
}

impl Stream for WebSocket {
    type Item = Result<Message, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match ready!(Pin::new(&mut self.inner).poll_next(context)) {
                Some(Ok(message)) => {
                    if let Some(message) = Message::of_tungstenite(message) {
                        return Poll::Ready(Some(Ok(message)));
                    }
                }
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(Error::new(error)))),
            }
        }
    }
}

impl FusedStream for WebSocket {
    fn is_terminated(&self) -> bool {
        self.inner.is_terminated()
    }
}

impl Sink<Message> for WebSocket {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.inner).poll_ready(context).map_err(Error::new)
    }

    fn start_send(mut self: Pin<&mut Self>, message: Message) -> Result<(), Error> {
        Pin::new(&mut self.inner).start_send(message.into_tungstenite()).map_err(Error::new)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.inner).poll_flush(context).map_err(Error::new)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Pin::new(&mut self.inner).poll_close(context).map_err(Error::new)
    }
}
