//! Why a request does not open a WebSocket.

use axum::response::{IntoResponse, Response};
use http::StatusCode;

/// Why a request does not open a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebSocketUpgradeRejection {
    /// The method is not GET.
    MethodNotGet,
    /// `Upgrade` is not `websocket`.
    InvalidUpgradeHeader,
    /// `Sec-WebSocket-Version` is not 13.
    InvalidWebSocketVersionHeader,
    /// There is no `Sec-WebSocket-Key`.
    WebSocketKeyHeaderMissing,
    /// The request cannot be upgraded: the server is not `serow`, or something has taken the connection before.
    ConnectionNotUpgradable,
}

impl WebSocketUpgradeRejection {
    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::MethodNotGet => StatusCode::METHOD_NOT_ALLOWED,
            Self::InvalidUpgradeHeader | Self::InvalidWebSocketVersionHeader | Self::WebSocketKeyHeaderMissing => {
                StatusCode::BAD_REQUEST
            }
            Self::ConnectionNotUpgradable => StatusCode::UPGRADE_REQUIRED,
        }
    }

    /// The text of the response.
    #[must_use]
    pub fn body_text(&self) -> String {
        self.to_string()
    }
}

impl std::fmt::Display for WebSocketUpgradeRejection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::MethodNotGet => "Request method must be `GET`",
            Self::InvalidUpgradeHeader => "`Upgrade` header did not include 'websocket'",
            Self::InvalidWebSocketVersionHeader => "`Sec-WebSocket-Version` header did not include '13'",
            Self::WebSocketKeyHeaderMissing => "`Sec-WebSocket-Key` header missing",
            Self::ConnectionNotUpgradable => {
                "WebSocket request couldn't be upgraded since no upgrade state was present"
            }
        })
    }
}

impl std::error::Error for WebSocketUpgradeRejection {}

impl IntoResponse for WebSocketUpgradeRejection {
    fn into_response(self) -> Response {
        (self.status(), self.body_text()).into_response()
    }
}
