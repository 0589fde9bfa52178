//! Requests of HTTP/1.1, as the conduct of their client has them.

use std::{future::pending, io, time::Duration};

use serow_net::Socket;
use tokio::time::{sleep, timeout};

use super::{Leaving, Turns};
use crate::{
    plan::{ClientPlan, Conduct, Malformation, Moment, RequestPlan, Version},
    wire::{chunk, send},
};

/// Sends a request as its conduct has it.
pub(super) async fn write_request(
    socket: &Socket,
    plan: &ClientPlan,
    request: &RequestPlan,
    turns: &Turns,
    leaving: &Leaving,
) -> io::Result<()> {
    let (head, content) = (head(request, plan.version), request.content());
    let in_head = match request.conduct {
        Conduct::StallsInHead(bytes) => Some((bytes, None)),
        Conduct::Leaves(departure) => match departure.moment {
            Moment::InHead(bytes) => Some((bytes, Some(departure.is_reset))),
            _ => None,
        },
        _ => None,
    };
    if let Some((bytes, leaves)) = in_head {
        send(socket, &head[..bytes.min(head.len() - 1)]).await?;
        stop(leaves, leaving).await;
    }
    send(socket, &head).await?;
    let Some(body) = request.body else { return Ok(()) };
    if body.is_expected {
        let _ = timeout(PATIENCE, turns.continues.notified()).await;
        if turns.is_over.get() {
            return Ok(());
        }
    }
    let in_body = match request.conduct {
        Conduct::StallsInBody(bytes) => Some((bytes, None)),
        Conduct::Leaves(departure) => match departure.moment {
            Moment::InBody(bytes) => Some((bytes, Some(departure.is_reset))),
            _ => None,
        },
        _ => None,
    };
    let (pause_at, pause) = body.pause.unwrap_or_default();
    let end = in_body.map_or(content.len(), |(bytes, _)| bytes);
    for piece in [&content[..pause_at.min(end)], &content[pause_at.min(end)..end]] {
        if !piece.is_empty() {
            send(socket, &if body.is_chunked { chunk(piece) } else { piece.to_vec() }).await?;
        }
        if piece.len() == pause_at {
            sleep(pause).await;
        }
    }
    if let Some((_, leaves)) = in_body {
        stop(leaves, leaving).await;
    }
    if request.conduct == Conduct::Malformed(Malformation::BadChunk) {
        send(socket, b"x\r\n").await?;
    } else if body.is_chunked {
        send(socket, &chunk(b"")).await?;
    }
    Ok(())
}

/// Leaves, or sends nothing more.
async fn stop(leaves: Option<bool>, leaving: &Leaving) {
    if let Some(is_reset) = leaves {
        leaving.begin(is_reset);
    }
    pending().await
}

/// The head of a request.
fn head(request: &RequestPlan, version: Version) -> Vec<u8> {
    let minor = u8::from(version != Version::Http10);
    let mut head = format!("{} {} HTTP/1.{minor}\r\nx-id: {}\r\n", request.method, request.target(), request.id);
    let malformation = match request.conduct {
        Conduct::Malformed(malformation) => Some(malformation),
        _ => None,
    };
    if malformation != Some(Malformation::NoHost) {
        head.push_str("host: a.example\r\n");
    }
    if request.body.is_some_and(|body| body.is_expected) {
        head.push_str("expect: 100-continue\r\n");
    }
    match (request.body, malformation) {
        (Some(_), Some(Malformation::BadChunk)) => head.push_str("transfer-encoding: chunked\r\n"),
        (Some(body), _) if body.is_chunked => head.push_str("transfer-encoding: chunked\r\n"),
        (Some(body), _) => head.push_str(&format!("content-length: {}\r\n", body.length)),
        (None, _) => {}
    }
    head.push_str(match malformation {
        Some(Malformation::TwoLengths) => "content-length: 5\r\ncontent-length: 6\r\n",
        Some(Malformation::LengthAndChunked) => "content-length: 5\r\ntransfer-encoding: chunked\r\n",
        Some(Malformation::UnknownCoding) => "transfer-encoding: xchunked\r\n",
        Some(Malformation::ChunkedTwice) => "transfer-encoding: chunked, chunked\r\n",
        Some(Malformation::SpaceBeforeColon) => "content-type : text/plain\r\n",
        Some(Malformation::Null) => "x-null: a\0b\r\n",
        Some(Malformation::TwoHosts) => "host: b.example\r\n",
        Some(Malformation::BareReturn) => "x-return: a\rb\r\n",
        _ => "",
    });
    if malformation == Some(Malformation::LargeHead) {
        head.push_str(&format!("x-large: {}\r\n", "a".repeat(40_000)));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// How long a client waits for 100 Continue (RFC 9110 §10.1.1).
const PATIENCE: Duration = Duration::from_millis(1_200);
