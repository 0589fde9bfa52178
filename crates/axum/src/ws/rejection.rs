//! Why a request does not open a WebSocket.

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};

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

    /// The field that says how the request would be right: RFC 9110 §15.5.6 and §15.5.22 demand it, and RFC 6455 §4.4.
    fn remedy(self) -> Option<(HeaderName, &'static str)> {
        match self {
            Self::MethodNotGet => Some((header::ALLOW, "GET")),
            Self::InvalidWebSocketVersionHeader => Some((header::SEC_WEBSOCKET_VERSION, "13")),
            Self::ConnectionNotUpgradable => Some((header::UPGRADE, "websocket")),
            Self::InvalidUpgradeHeader | Self::WebSocketKeyHeaderMissing => None,
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
        let mut response = (self.status(), self.body_text()).into_response();
        if let Some((name, value)) = self.remedy() {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_how_the_request_would_be_right() {
        use WebSocketUpgradeRejection::{
            ConnectionNotUpgradable, InvalidUpgradeHeader, InvalidWebSocketVersionHeader, MethodNotGet,
        };
        for (rejection, status, name, value) in [
            (MethodNotGet, 405, "allow", Some("GET")),
            (InvalidWebSocketVersionHeader, 400, "sec-websocket-version", Some("13")),
            (ConnectionNotUpgradable, 426, "upgrade", Some("websocket")),
            (InvalidUpgradeHeader, 400, "upgrade", None),
        ] {
            let response = rejection.into_response();
            let found = response.headers().get(name).map(|value| value.to_str().unwrap());
            assert_eq!((response.status().as_u16(), found), (status, value), "{rejection:?}");
        }
    }
}
