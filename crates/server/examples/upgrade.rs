//! A protocol of its own behind an HTTP upgrade: what the client sends comes back.
//!
//! ```text
//! printf 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\nhello\n' | nc -q 1 127.0.0.1 8080
//! ```

use serow::{KnownHeader, Request, Response, Server, StatusCode};
use tokio::io::{copy, split};

fn main() -> Result<(), serow::Error> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    Server::new().listen(address).run(|mut request: Request| async move {
        let wants_echo =
            request.headers.list(KnownHeader::Upgrade).any(|protocol| protocol.eq_ignore_ascii_case(b"echo"));
        let Some(upgrade) = request.upgrade().filter(|_| wants_echo) else {
            return Response::plain_status(StatusCode::UPGRADE_REQUIRED).with(KnownHeader::Upgrade, "echo");
        };
        tokio::task::spawn_local(async move {
            let Ok(connection) = upgrade.await else { return };
            let (mut reader, mut writer) = split(connection);
            if let Err(error) = copy(&mut reader, &mut writer).await {
                eprintln!("the connection failed: {error}");
            }
        });
        Response::new(StatusCode::SWITCHING_PROTOCOLS).with(KnownHeader::Upgrade, "echo")
    })
}
