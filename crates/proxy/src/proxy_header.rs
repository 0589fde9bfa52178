//! The PROXY header at the beginning of a connection to a server.

use serow_message::{
    Connection, Peer,
    proxy_protocol::{Header, write_version_1, write_version_2},
};

use crate::settings::ProxyHeader;

impl ProxyHeader {
    /// For a request on this connection. A connection with this header must not serve other clients.
    pub(crate) fn for_request(self, connection: &Connection) -> Vec<u8> {
        self.text(&match (connection.peer(), connection.local()) {
            (Peer::Tcp(source), Some(destination)) => Header::Proxied { source, destination },
            // A peer at a unix socket has no address.
            _ => Header::Unknown,
        })
    }

    /// For a connection that does not belong to one client: a health check, or one that carries requests of many.
    pub(crate) fn for_itself(self) -> Vec<u8> {
        self.text(&Header::Local)
    }

    fn text(self, header: &Header) -> Vec<u8> {
        let mut output = Vec::new();
        match self {
            Self::Version1 => write_version_1(header, &mut output),
            Self::Version2 => write_version_2(header, &mut output),
        }
        output
    }
}

#[cfg(test)]
mod tests {
    use serow_message::Scheme;
    use serow_message::proxy_protocol::parse;

    use super::*;

    #[test]
    fn proxy_headers_describe_the_connection() {
        let (source, destination) = ("192.0.2.1:1234".parse().unwrap(), "192.0.2.2:80".parse().unwrap());
        let proxied = Header::Proxied { source, destination };
        let cases = [
            (Peer::Tcp(source), Some(destination), proxied),
            (Peer::Tcp(source), None, Header::Unknown),
            (Peer::Unix, None, Header::Unknown),
            (Peer::Unix, Some(destination), Header::Unknown),
        ];
        for (peer, local, expected) in cases {
            let connection = Connection::new(peer, local, Scheme::Http);
            for version in [ProxyHeader::Version1, ProxyHeader::Version2] {
                let written = version.for_request(&connection);
                assert_eq!(parse(&written), Ok(Some((expected, written.len()))), "{peer:?} {local:?} {version:?}");
            }
        }
        assert_eq!(parse(&ProxyHeader::Version2.for_itself()), Ok(Some((Header::Local, 16))));
        assert_eq!(ProxyHeader::Version1.for_itself(), b"PROXY UNKNOWN\r\n");
    }
}
