//! An axum program on Serow: a page with a WebSocket, and a graceful end on Ctrl-C.
//!
//! ```text
//! cargo run --release -p serow-axum --example axum_websocket -- 127.0.0.1:3000
//! ```

use std::net::SocketAddr;

use axum::{
    Router,
    extract::ConnectInfo,
    response::{Html, Response},
    routing::{any, get},
};
use serow_axum::ws::{Message, WebSocket, WebSocketUpgrade};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let router = Router::new().route("/", get(|| async { Html(PAGE) })).route("/ws", any(open));
    let listener = tokio::net::TcpListener::bind(&address).await?;
    println!("http://{}/", listener.local_addr()?);
    serow_axum::serve(listener, router.into_make_service_with_connect_info::<SocketAddr>())
        .with_graceful_shutdown(async { _ = tokio::signal::ctrl_c().await })
        .await
}

async fn open(upgrade: WebSocketUpgrade, ConnectInfo(client): ConnectInfo<SocketAddr>) -> Response {
    upgrade.on_upgrade(move |socket| talk(socket, client))
}

/// Greets the client, and sends its messages back.
async fn talk(mut socket: WebSocket, client: SocketAddr) {
    if socket.send(Message::text(format!("Hello, {client}"))).await.is_err() {
        return;
    }
    while let Some(Ok(message)) = socket.recv().await {
        if matches!(message, Message::Text(_) | Message::Binary(_)) && socket.send(message).await.is_err() {
            return;
        }
    }
}

const PAGE: &str = "<!doctype html>
<title>WebSocket</title>
<pre id=log></pre>
<input id=text placeholder='a message, Enter'>
<script>
const socket = new WebSocket(location.href.replace(/^http/, 'ws') + 'ws');
const say = line => document.getElementById('log').textContent += line + '\\n';
socket.onmessage = event => say(event.data);
socket.onclose = () => say('closed');
document.getElementById('text').onchange = event => { socket.send(event.target.value); event.target.value = ''; };
</script>
";
