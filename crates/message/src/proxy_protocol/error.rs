//! Errors of parsing a PROXY header.

use core::{error::Error, fmt};

use crate::proxy_protocol::MAX_HEADER_LENGTH;

/// Why bytes are not a PROXY header. It is the peer's fault, or the peer is not a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyProtocolError {
    /// The first bytes belong to neither version.
    NotProxyProtocol,
    /// The line of version 1 is malformed, ends in something other than CR LF, or exceeds 107 bytes.
    Line,
    /// The binary header has this version instead of 2.
    Version(u8),
    /// The binary header has this command, neither LOCAL (0) nor PROXY (1).
    Command(u8),
    /// The binary header has this unassigned byte of family and transport.
    Family(u8),
    /// The binary header claims this many bytes, more than [`MAX_HEADER_LENGTH`].
    TooLong(usize),
    /// The binary header is shorter than the addresses of its family.
    AddressesCut,
    /// The TLVs of the binary header do not fill it exactly.
    TlvCut,
}

impl fmt::Display for ProxyProtocolError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotProxyProtocol => {
                formatter.write_str("the peer sent no PROXY protocol header; is it a proxy that is set to send one?")
            }
            Self::Line => formatter.write_str("the peer sent a malformed line of PROXY protocol version 1"),
            Self::Version(version) => write!(formatter, "the peer speaks PROXY protocol version {version}, not 1 or 2"),
            Self::Command(command) => write!(formatter, "the peer sent the unknown PROXY protocol command {command}"),
            Self::Family(family) => write!(formatter, "the peer sent the unknown PROXY protocol family {family:#04x}"),
            Self::TooLong(length) => {
                write!(
                    formatter,
                    "the peer sent a PROXY protocol header of {length} bytes, more than {MAX_HEADER_LENGTH}"
                )
            }
            Self::AddressesCut => formatter.write_str("the peer sent a PROXY protocol header too short for its family"),
            Self::TlvCut => formatter.write_str("the peer sent a PROXY protocol header with a malformed extension"),
        }
    }
}

impl Error for ProxyProtocolError {}
