//! WebSockets.

use axum::{Router, body::Bytes, response::Response, routing::any};
use futures_util::{SinkExt, StreamExt};
use serow_axum::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use tokio_tungstenite::{WebSocketStream, tungstenite, tungstenite::protocol::Role};

use crate::support::Running;

async fn handler(upgrade: WebSocketUpgrade) -> Response {
    upgrade.protocols(["second", "first"]).max_message_size(1 << 20).on_upgrade(talk)
}

/// Says which protocol was chosen, sends back what it gets from another task, and closes on "bye".
async fn talk(mut socket: WebSocket) {
    let protocol = socket.protocol().map(|protocol| protocol.to_str().unwrap().to_owned());
    socket.send(Message::Text(protocol.unwrap_or_default().into())).await.unwrap();
    let (mut sender, mut receiver) = socket.split();
    let (echoes, mut echoed) = tokio::sync::mpsc::channel(8);
    tokio::spawn(async move {
        while let Some(message) = echoed.recv().await {
            if sender.send(message).await.is_err() {
                return;
            }
        }
    });
    while let Some(Ok(message)) = receiver.next().await {
        let answer = match message {
            Message::Text(text) if text.as_str() == "bye" => {
                Message::Close(Some(CloseFrame { code: close_code::NORMAL, reason: Utf8Bytes::from_static("goodbye") }))
            }
            Message::Text(text) => Message::text(text.to_uppercase()),
            Message::Binary(data) => Message::Binary(data),
            Message::Ping(_) | Message::Pong(_) => continue,
            Message::Close(_) => return,
        };
        if echoes.send(answer).await.is_err() {
            return;
        }
    }
}

fn router() -> Router {
    Router::new().route("/ws", any(handler))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation() {
    let server = Running::new(router()).await;
    let (head, stream) = server.open_web_socket("Sec-WebSocket-Protocol: first, second\r\n").await;
    assert!(head.starts_with("http/1.1 101"), "{head}");
    // The key and the answer to it are those of RFC 6455 §1.3.
    assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
    assert!(head.contains("sec-websocket-protocol: second"), "{head}");
    let mut client = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
    assert_eq!(client.next().await.unwrap().unwrap().to_text().unwrap(), "second");
    client.send(tungstenite::Message::text("hello")).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap().to_text().unwrap(), "HELLO");
    let data = Bytes::from(vec![7; 200_000]);
    client.send(tungstenite::Message::Binary(data.clone())).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap().into_data(), data);
    client.send(tungstenite::Message::Ping(Bytes::from_static(b"are you there"))).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), tungstenite::Message::Pong(Bytes::from_static(b"are you there")));
    client.send(tungstenite::Message::text("bye")).await.unwrap();
    let Some(Ok(tungstenite::Message::Close(Some(frame)))) = client.next().await else { panic!("no close") };
    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1000, "goodbye"));
    drop(client);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_beyond_the_limit_ends_the_conversation() {
    let server = Running::new(router()).await;
    let (_, stream) = server.open_web_socket("").await;
    let mut client = WebSocketStream::from_raw_socket(stream, Role::Client, None).await;
    assert_eq!(client.next().await.unwrap().unwrap().to_text().unwrap(), "");
    // The server may close while this is being sent.
    let _ = client.send(tungstenite::Message::Binary(vec![0; (1 << 20) + 1].into())).await;
    while let Some(Ok(message)) = client.next().await {
        assert!(message.is_close(), "{message:?}");
    }
    drop(client);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_upgrade_is_reported() {
    let (failed, failure) = tokio::sync::oneshot::channel();
    let failed = std::sync::Arc::new(std::sync::Mutex::new(Some(failed)));
    let refuse = move |upgrade: WebSocketUpgrade| async move {
        let failed = std::sync::Arc::clone(&failed);
        let callback = move |error: axum::Error| {
            failed.lock().unwrap().take().unwrap().send(error.to_string()).unwrap();
        };
        // Its response is dropped, and another one sent.
        drop(upgrade.on_failed_upgrade(callback).on_upgrade(|_| async { unreachable!("it was not opened") }));
        "no"
    };
    let server = Running::new(Router::new().route("/ws", any(refuse))).await;
    let (head, _) = server.open_web_socket("").await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert!(!failure.await.unwrap().is_empty());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_handshakes_are_rejected() {
    let server = Running::new(router()).await;
    let fields = [
        ("Connection: upgrade", "Upgrade: websocket"),
        ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let all = fields.map(|(one, other)| format!("\r\n{one}\r\n{other}")).concat();
    for (method, fields, status) in [
        ("POST", all.clone(), 405),
        ("GET", String::new(), 400),
        ("GET", all.replace("13", "12"), 400),
        ("GET", all.replace("Sec-WebSocket-Key", "Key"), 400),
        ("GET", all.replace("Upgrade: websocket", "Upgrade: h2c"), 400),
    ] {
        let response = server.ask(&format!("{method} /ws HTTP/1.1{fields}"), b"").await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{method} {fields}: {response}");
    }
    server.stop().await;
}
