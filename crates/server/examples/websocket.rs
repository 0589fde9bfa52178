//! A WebSocket (RFC 6455) that sends back what it gets, after a first message that says which version of HTTP it came by.
//! The handler knows HTTP/1.1's upgrade alone; over HTTP/2 (RFC 8441) it is the same to it. Without a WebSocket, a page
//! that opens one.
//!
//! ```text
//! websocket 127.0.0.1:8443 tls
//! ```

use std::io;

use serow::{Known, Request, Response, Server, StatusCode, TlsSettings, Upgraded};
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
            return Response::text(PAGE).with(Known::ContentType, "text/html; charset=utf-8");
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
            .with(Known::Upgrade, "websocket")
            .with("sec-websocket-accept", accept(&key))
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
        if head[1] & MASKED == 0 || length > LONGEST {
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

/// What proves that a server speaks WebSocket (RFC 6455 §4.2.2).
fn accept(key: &str) -> String {
    base64(&sha1(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11").as_bytes()))
}

/// FIPS 180-4 §6.1.
fn sha1(message: &[u8]) -> [u8; 20] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    let length = (message.len() as u64 * 8).to_be_bytes();
    let end = (message.len() + 9).next_multiple_of(64);
    padded.resize(end, 0);
    padded[end - 8..].copy_from_slice(&length);
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in padded.chunks_exact(64) {
        let mut words = [0_u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for at in 16..80 {
            words[at] = (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (round, word) in words.iter().enumerate() {
            let (mixed, constant) = match round / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant).wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (sum, value) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(value);
        }
    }
    let mut digest = [0; 20];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

/// RFC 4648 §4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().chain([0, 0].iter()).take(3).fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = ALPHABET[bits >> shift & 63] as char;
            text.push(if place <= three.len() { digit } else { '=' });
        }
    }
    text
}

const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// Bytes of a message: one that is longer is not waited for.
const LONGEST: u64 = 1 << 20;

const PAGE: &str = r#"<!doctype html>
<title>waiting</title>
<script>
const socket = new WebSocket(location.href.replace("http", "ws"));
const heard = [];
socket.onopen = () => socket.send("serow");
socket.onmessage = ({ data }) => { heard.push(data); if (heard.length === 2) socket.close(1000); };
socket.onclose = ({ wasClean, code }) => document.title = "done " + JSON.stringify({ heard, wasClean, code });
</script>
"#;
