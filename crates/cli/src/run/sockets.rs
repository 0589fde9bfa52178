//! The sockets of a generation, which the master holds.

use std::{mem, os::fd::OwnedFd};

use serow::{Address, ListenOptions, Server, SharedQuicSockets, SharedSecret};
use serow_assembly::ServerSettings;
use serow_config::values::{AdminAddress, AdminSocket};
use serow_supervisor::master::{AdminPlace, Parent, WantedListener};

use crate::descriptors;

/// The server with the sockets of its listeners.
pub(super) fn with_sockets(settings: &mut ServerSettings, parent: &Parent) -> Result<Server, String> {
    let sockets = sockets(settings, parent)?;
    let server = mem::take(&mut settings.server);
    let listeners = settings.listeners.iter().zip(sockets);
    Ok(listeners.fold(server, |server, (listener, sockets)| server.listen_on(sockets, listener.scheme())))
}

/// The server with the UDP sockets of HTTP/3, which the master holds.
pub(super) fn with_http3(
    server: Server,
    settings: &ServerSettings,
    secret: Option<[u8; 32]>,
    parent: &Parent,
) -> Result<Server, String> {
    let addresses: Vec<_> = settings.listeners.iter().filter_map(|listener| listener.quic_address()).collect();
    if !settings.http3 {
        return Ok(server);
    }
    if addresses.is_empty() {
        return Ok(server.http3(false));
    }
    let Some(secret) = secret else {
        tracing::warn!("HTTP/3 is off: the master is of a version without it; restart the server");
        return Ok(server.http3(false));
    };
    if settings.listen_options.share {
        tracing::warn!("HTTP/3 is off: processes that share a port cannot share the connections of QUIC");
        return Ok(server.http3(false));
    }
    let sockets = parent.listen_quic(&addresses, settings.workers).map_err(|error| error.to_string())?;
    Ok(server.http3_on(SharedQuicSockets { sockets: addresses.into_iter().zip(sockets).collect(), secret }))
}

/// The server that resumes the TLS sessions of the generation before.
pub(super) fn with_sessions(server: Server, secret: Option<[u8; 32]>) -> Server {
    match secret {
        Some(secret) => server.shared_secret(SharedSecret(secret)),
        None => server,
    }
}

/// Where the master opens the admin socket.
pub(super) fn admin_place(admin: Option<&AdminSocket>) -> Result<AdminPlace, String> {
    Ok(match admin {
        None => AdminPlace::Default,
        Some(AdminSocket::Off) => AdminPlace::Off,
        Some(AdminSocket::At(AdminAddress(address))) => AdminPlace::At(address_text(address)?),
    })
}

/// The sockets that the settings need, from the master, if there are enough descriptors for them and for the rest.
fn sockets(settings: &ServerSettings, parent: &Parent) -> Result<Vec<Vec<OwnedFd>>, String> {
    descriptors::require(settings.needed_descriptors()).map_err(|error| error.message())?;
    parent.listen(wanted(settings)?).map_err(|error| error.to_string())
}

/// The sockets that the settings need.
fn wanted(settings: &ServerSettings) -> Result<Vec<WantedListener>, String> {
    let ListenOptions { backlog, share, unix_mode } = settings.listen_options;
    let wanted = settings.listeners.iter().map(|listener| {
        let address = address_text(&listener.address)?;
        Ok(WantedListener { address, backlog, unix_mode, share, sockets: settings.workers })
    });
    wanted.collect()
}

/// An address as the master receives it.
fn address_text(address: &Address) -> Result<String, String> {
    match address {
        Address::Unix(path) if path.to_str().is_none() => Err(format!(
            "{address} is in a folder whose name is not written in UTF-8: give the whole path of another one"
        )),
        address => Ok(address.to_string()),
    }
}
