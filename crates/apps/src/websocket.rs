//! WebSocket (RFC 6455) between a client and an application: frames to the client, messages in packets to the worker.

mod compression;
mod heartbeat;
mod session;

use serow_message::{Headers, KnownHeader, Method, OnUpgrade, Request, Response, StatusCode, websocket};
use tokio::task::spawn_local;

use self::{
    compression::{Agreement, EXTENSIONS},
    session::WebSocketSession,
};
use crate::pending_response::PendingResponse;

/// The part of a client's handshake that its response needs.
#[derive(Debug)]
pub(crate) struct UpgradeRequest {
    upgrade: OnUpgrade,
    key: String,
    /// How messages may be compressed.
    agreement: Option<Agreement>,
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
        // RFC 6455 §4.2.2: the response names the supported version; RFC 9110 §15.5.22: and the protocol.
        let refusal = Response::new(StatusCode::UPGRADE_REQUIRED).with(KnownHeader::Upgrade, "websocket");
        return Handshake::Refused(refusal.with("sec-websocket-version", VERSION));
    }
    match request.headers.get_str(KEY) {
        Some(key) => {
            let agreement = Agreement::of(request.headers.list(EXTENSIONS));
            Handshake::Valid(UpgradeRequest { upgrade, key: key.to_owned(), agreement })
        }
        None => Handshake::Refused(Response::new(StatusCode::BAD_REQUEST)),
    }
}

/// The application has accepted: completes the handshake and forwards messages until one side closes.
pub(crate) fn accept(asked: UpgradeRequest, mut headers: Headers, waiting: PendingResponse) -> Response {
    // Constants, base64 and numbers are valid values.
    let _ = headers.replace(KnownHeader::Upgrade, "websocket");
    let _ = headers.replace("sec-websocket-accept", websocket::accept(&asked.key));
    // The application sees messages only, and cannot agree to anything about frames.
    headers.remove(EXTENSIONS);
    let agreement = asked.agreement.filter(|_| waiting.websocket_settings().compression);
    if let Some(agreement) = agreement {
        let _ = headers.append(EXTENSIONS, agreement.response());
    }
    spawn_local(async move {
        // If the client has gone meanwhile, dropping `waiting` notifies the application.
        if let Ok(upgraded) = asked.upgrade.await {
            WebSocketSession::new(upgraded, waiting, agreement).await.run().await;
        }
    });
    Response { status: StatusCode::SWITCHING_PROTOCOLS, headers, ..Response::default() }
}

/// The version of the protocol (RFC 6455 §4.1).
const VERSION: &str = "13";

const KEY: &str = "sec-websocket-key";
