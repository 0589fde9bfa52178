//! WebSockets, as in `axum::extract::ws`.
//!
//! ```
//! use axum::{Router, response::Response, routing::any};
//! use serow_axum::ws::{Message, WebSocket, WebSocketUpgrade};
//!
//! async fn handler(upgrade: WebSocketUpgrade) -> Response {
//!     upgrade.on_upgrade(echo)
//! }
//!
//! async fn echo(mut socket: WebSocket) {
//!     while let Some(Ok(message)) = socket.recv().await {
//!         if matches!(message, Message::Text(_)) && socket.send(message).await.is_err() {
//!             return;
//!         }
//!     }
//! }
//!
//! let router: Router = Router::new().route("/ws", any(handler));
//! ```
//!
//! Over HTTP/2 (RFC 8441) and HTTP/3 (RFC 9220), a handler sees the same as over HTTP/1.1: a GET with `Upgrade`. That route
//! may be `get` or `any`.

mod message;
mod rejection;
mod socket;
mod upgrade;

pub use tokio_tungstenite::tungstenite::Utf8Bytes;

pub use self::{
    message::{CloseCode, CloseFrame, Message, close_code},
    rejection::WebSocketUpgradeRejection,
    socket::WebSocket,
    upgrade::{DefaultOnFailedUpgrade, OnFailedUpgrade, WebSocketUpgrade},
};
