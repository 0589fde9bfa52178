//! The server: its address, and how connections to it are encrypted.

use std::{net::ToSocketAddrs, path::PathBuf, time::Duration};

use serow::{Scheme, Version};
use serow_client::{
    ClientEncryption, Destination, Dialer, Origin, Protocol, Resumption, TlsClientSettings, TlsConnector, Trust,
};

use super::{BenchError, probe};
use crate::arguments::{ConnectionArguments, ServerArguments};

/// How connections to the server are opened, once one has been opened; and what that one agreed upon, if it is
/// encrypted.
pub(crate) fn dialer(
    origin: &Origin,
    written: &ConnectionArguments,
    timeout: Duration,
) -> Result<(Dialer, Option<String>), BenchError> {
    let (mut last, version) = (None, written.version());
    for dialer in dialers(origin, &written.server, version, timeout)? {
        match probe::describe(&dialer, version) {
            Ok(description) => return Ok((dialer, description)),
            // The first is the one that people have in mind.
            Err(error) => last = last.or(Some(BenchError::Connect(dialer.destination.to_string(), error))),
        }
    }
    Err(last.unwrap_or_else(|| BenchError::Host(origin.host.clone(), std::io::ErrorKind::NotFound.into())))
}

/// How a connection to each of the server's addresses is opened, if it is to speak this version of HTTP.
pub(crate) fn dialers(
    origin: &Origin,
    written: &ServerArguments,
    version: Version,
    timeout: Duration,
) -> Result<Vec<Dialer>, BenchError> {
    if version == Version::HTTP_3 && (origin.scheme == Scheme::Http || written.unix.is_some()) {
        return Err(BenchError::Http3);
    }
    let encryption = match origin.scheme {
        Scheme::Http => None,
        Scheme::Https => Some(encryption(origin, written, version)?),
    };
    let dialer = |destination| Dialer { destination, encryption: encryption.clone(), timeout };
    Ok(destinations(origin, written.unix.as_ref())?.into_iter().map(dialer).collect())
}

fn destinations(origin: &Origin, unix: Option<&PathBuf>) -> Result<Vec<Destination>, BenchError> {
    if let Some(path) = unix {
        return Ok(vec![Destination::Unix(path.clone())]);
    }
    let addresses = (origin.host.as_str(), origin.port).to_socket_addrs();
    let addresses = addresses.map_err(|error| BenchError::Host(origin.host.clone(), error))?;
    Ok(addresses.map(Destination::Tcp).collect())
}

fn encryption(origin: &Origin, written: &ServerArguments, version: Version) -> Result<ClientEncryption, BenchError> {
    let trust = match &written.ca {
        _ if written.insecure => Trust::Unchecked,
        Some(path) => Trust::File(path.clone()),
        None => Trust::System,
    };
    // QUIC has a handshake of its own.
    let protocol = if version == Version::HTTP_2 { Protocol::Http2 } else { Protocol::Http1 };
    // Those who come are new, as most visitors are: none goes on with the session of another.
    let resumption = Resumption::Off;
    let settings = TlsClientSettings { trust, protocols: vec![protocol], resumption, ..TlsClientSettings::default() };
    let connector = TlsConnector::new(settings).map_err(BenchError::Tls)?;
    // A server that knows nothing of ALPN speaks HTTP/1.1.
    let must = (version == Version::HTTP_2).then_some(protocol);
    Ok(ClientEncryption { connector, server_name: origin.host.clone(), protocol: must })
}
