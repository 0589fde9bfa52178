//! Settings of WebSockets.

use std::time::Duration;

/// How WebSockets are carried between clients and an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebSocketSettings {
    /// A client that is silent for this long gets a ping, and its connection is closed when it stays silent for as long
    /// again, or reads nothing for twice that; 20 s, as in uvicorn and websockets. Zero: no pings.
    pub ping: Duration,
    /// The maximum size of a message in bytes; 16 MiB, as in uvicorn. A message is in memory as a whole, and a client
    /// could send any length (CVE-2020-11050 and the like). Longer ones close the WebSocket with 1009.
    pub message: usize,
    /// Whether messages are compressed for clients that offer it (permessage-deflate, RFC 7692); true, as in uvicorn.
    pub compression: bool,
}

impl Default for WebSocketSettings {
    fn default() -> Self {
        Self { ping: Duration::from_secs(20), message: 16 << 20, compression: true }
    }
}
