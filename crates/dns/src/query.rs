//! Queries to name servers: over UDP, and over TCP where a reply is too long for a packet.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UdpSocket},
    time::timeout,
};

use crate::{
    configuration::Configuration,
    message::{Question, Reply},
    resolver::LookupError,
};

/// Asks one server after the other until one knows.
pub(crate) async fn query_servers(question: &Question, configuration: &Configuration) -> Result<Reply, LookupError> {
    let mut failure = LookupError::NoResponse;
    let mut servers = configuration.servers.clone();
    if configuration.rotates && !servers.is_empty() {
        let first = usize::from(random_id()?) % servers.len();
        servers.rotate_left(first);
    }
    for _ in 0..configuration.attempts {
        for server in &servers {
            // RFC 5452 §9.2: a new id for each query, or an attacker who has seen one could predict the next.
            let id = random_id()?;
            let asked = async {
                match configuration.over_tcp {
                    true => query_over_tcp(*server, question, id).await,
                    false => query(*server, question, id).await,
                }
            };
            match timeout(configuration.timeout, asked).await {
                Ok(Ok(Reply::Refused(code))) => failure = LookupError::ServerError(code),
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }
    Err(failure)
}

/// A number that nobody can guess.
pub(crate) fn random_id() -> Result<u16, LookupError> {
    let mut bytes = [0; 2];
    // Seeded by the system's generator. It fails without one.
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| LookupError::NoResponse)?;
    Ok(u16::from_ne_bytes(bytes))
}

/// Asks one server.
pub(crate) async fn query(server: SocketAddr, question: &Question, id: u16) -> io::Result<Reply> {
    // An unpredictable port: a forged reply does not reach it (RFC 5452 §9.2).
    let any: IpAddr = if server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await?;
    socket.connect(server).await?;
    socket.send(&question.write(id)).await?;
    let mut packet = [0; MAX_PACKET];
    loop {
        let length = socket.recv(&mut packet).await?;
        match question.read_reply(packet.get(..length).unwrap_or_default(), id) {
            Some(Reply::Truncated) => {
                let id = random_id().map_err(io::Error::other)?;
                return query_over_tcp(server, question, id).await;
            }
            Some(reply) => return Ok(reply),
            None => {}
        }
    }
}

async fn query_over_tcp(server: SocketAddr, question: &Question, id: u16) -> io::Result<Reply> {
    let reply = exchange_over_tcp(server, &question.write(id)).await?;
    question.read_reply(&reply, id).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Sends a message over a connection of its own, and waits for the response.
pub(crate) async fn exchange_over_tcp(server: SocketAddr, message: &[u8]) -> io::Result<Vec<u8>> {
    let length = u16::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let framed = [&length.to_be_bytes(), message].concat();
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(&framed).await?;
    let mut reply = vec![0; stream.read_u16().await?.into()];
    stream.read_exact(&mut reply).await?;
    Ok(reply)
}

/// RFC 1035 §4.2.1: longer replies are truncated, unless the client announces a larger buffer, which this one does not.
const MAX_PACKET: usize = 512;
