//! WebSocket (RFC 6455) between a client and an application: frames on one side, messages in packets on the other.

mod heartbeat;
mod session;

use serow_message::{Headers, KnownHeader, Method, OnUpgrade, Request, Response, StatusCode, websocket};
use tokio::task::spawn_local;

use self::session::WebSocketSession;
use crate::handler::PendingResponse;

/// What a client that asks for a WebSocket has to know to be answered.
#[derive(Debug)]
pub(crate) struct UpgradeRequest {
    upgrade: OnUpgrade,
    key: String,
}

/// Whether a request asks for a WebSocket.
pub(crate) enum Handshake {
    /// It does not.
    None,
    /// It does, correctly.
    Valid(UpgradeRequest),
    /// In a way that no application can agree to; this is the answer.
    Refused(Response),
}

/// Looks whether a request asks for a WebSocket (RFC 6455 §4.2.1). Over HTTP/2 it looks the same (RFC 8441 §5.1).
pub(crate) fn handshake(request: &mut Request) -> Handshake {
    let is_websocket = request.headers.list(KnownHeader::Upgrade).any(|name| name.eq_ignore_ascii_case(b"websocket"));
    if !is_websocket || request.method != Method::GET {
        return Handshake::None;
    }
    let Some(upgrade) = request.upgrade() else { return Handshake::None };
    if request.headers.get("sec-websocket-version").is_some_and(|version| version != VERSION.as_bytes()) {
        // RFC 6455 §4.2.2: this says which version would do.
        let refusal = Response::new(StatusCode::UPGRADE_REQUIRED).with("sec-websocket-version", VERSION);
        return Handshake::Refused(refusal);
    }
    match request.headers.get_str(KEY) {
        Some(key) => Handshake::Valid(UpgradeRequest { upgrade, key: key.to_owned() }),
        None => Handshake::Refused(Response::new(StatusCode::BAD_REQUEST)),
    }
}

/// The application has accepted: agrees, and carries messages until one side closes.
pub(crate) fn accept(asked: UpgradeRequest, mut headers: Headers, waiting: PendingResponse) -> Response {
    // A constant and base64 are valid values.
    let _ = headers.replace(KnownHeader::Upgrade, "websocket");
    let _ = headers.replace("sec-websocket-accept", websocket::accept(&asked.key));
    spawn_local(async move {
        // Where the client has gone meanwhile, `waiting` is dropped, and the application hears of it.
        if let Ok(upgraded) = asked.upgrade.await {
            WebSocketSession::new(upgraded, waiting).await.run().await;
        }
    });
    Response { status: StatusCode::SWITCHING_PROTOCOLS, headers, ..Response::default() }
}

/// The version of the protocol (RFC 6455 §4.1).
const VERSION: &str = "13";

const KEY: &str = "sec-websocket-key";
