//! A WebSocket (RFC 6455) that sends back what it gets, after a first message that says which version of HTTP it came
//! by. The handler knows HTTP/1.1's upgrade alone; over HTTP/2 (RFC 8441) it is the same to it. Without a WebSocket, a
//! page that opens one.
//!
//! ```text
//! websocket 127.0.0.1:8443 tls
//! ```

use std::io;

use serow::{KnownHeader, Request, Response, Server, StatusCode, TlsSettings, Upgraded, websocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn main() -> Result<(), serow::Error> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let server = match arguments.next().as_deref() {
        Some("tls") => Server::new().listen_tls(address).tls(TlsSettings::self_signed()?),
        _ => Server::new().listen(address),
    };
    server.run(|mut request: Request| async move {
        let Some(key) = request.headers.get_str("sec-websocket-key").map(str::to_owned) else {
            return Response::html(PAGE);
        };
        let Some(upgrade) = request.upgrade() else { return Response::plain_status(StatusCode::BAD_REQUEST) };
        let version = format!("{:?}", request.version);
        tokio::task::spawn_local(async move {
            if let Ok(connection) = upgrade.await {
                // A client that leaves without a word is no news.
                let _ = talk(connection, &version).await;
            }
        });
        Response::new(StatusCode::SWITCHING_PROTOCOLS)
            .with(KnownHeader::Upgrade, "websocket")
            .with("sec-websocket-accept", websocket::accept(&key))
    })
}

/// Sends messages back until the client closes.
async fn talk(mut connection: Upgraded, version: &str) -> io::Result<()> {
    send(&mut connection, FINAL | TEXT, version.as_bytes()).await?;
    loop {
        let mut head = [0; 2];
        connection.read_exact(&mut head).await?;
        let length = match head[1] & 0x7f {
            126 => u64::from(connection.read_u16().await?),
            127 => connection.read_u64().await?,
            length => u64::from(length),
        };
        if head[1] & MASKED == 0 || length > MAX_MESSAGE {
            return Ok(());
        }
        let mut mask = [0; 4];
        connection.read_exact(&mut mask).await?;
        let mut payload = vec![0; length as usize];
        connection.read_exact(&mut payload).await?;
        for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
            *byte ^= mask;
        }
        let kind = head[0] & 0xf;
        let answer = if kind == PING { FINAL | PONG } else { head[0] };
        send(&mut connection, answer, &payload).await?;
        if kind == CLOSE {
            return connection.shutdown().await;
        }
    }
}

/// Sends one frame (RFC 6455 §5.2).
async fn send(connection: &mut Upgraded, first: u8, payload: &[u8]) -> io::Result<()> {
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..126 => frame.push(length as u8),
        length @ 126..65_536 => {
            frame.push(126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(payload);
    connection.write_all(&frame).await?;
    connection.flush().await
}

const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// Maximum size of a message; the connection ends at a longer one.
const MAX_MESSAGE: u64 = 1 << 20;

const PAGE: &str = r#"<!doctype html>
<title>waiting</title>
<script>
const socket = new WebSocket(location.href.replace("http", "ws"));
const received = [];
socket.onopen = () => socket.send("serow");
socket.onmessage = ({ data }) => { received.push(data); if (received.length === 2) socket.close(1000); };
socket.onclose = ({ wasClean, code }) => document.title = "done " + JSON.stringify({ received, wasClean, code });
</script>
"#;
