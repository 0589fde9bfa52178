//! What servers are told of the client.

use std::net::IpAddr;

use serow_message::{Connection, Headers};

/// What servers are told of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forwarded {
    /// In which fields.
    pub fields: ForwardedFields,
    /// Whose word is taken for where a request came from before; that of all others is dropped.
    pub trusted: Vec<Network>,
}

/// In which fields servers are told of the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ForwardedFields {
    /// X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host.
    #[default]
    X,
    /// Forwarded (RFC 7239).
    Standard,
    /// All of these.
    Both,
    /// None; what the client said of them is passed on where it is trusted.
    Off,
}

/// Addresses that begin with the same bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address.
    pub address: IpAddr,
    /// How many of its bits count.
    pub bits: u8,
}

impl Default for Forwarded {
    fn default() -> Self {
        Self { fields: ForwardedFields::X, trusted: Vec::new() }
    }
}

impl Forwarded {
    /// Writes what is to be said of a request that came on this connection into its fields.
    pub(crate) fn apply(&self, _headers: &mut Headers, _connection: &Connection) {}
}
