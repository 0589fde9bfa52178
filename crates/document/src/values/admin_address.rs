//! Addresses that an admin endpoint may have.

use std::{fmt, str::FromStr};

use serow_message::{Address, AddressError};

/// An address that only this machine reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminAddress(pub Address);

/// Why a text is not such an address.
#[derive(Debug)]
pub enum AdminAddressError {
    /// It is not an address.
    Malformed(AddressError),
    /// Other machines can reach it.
    Public(Address),
    /// A unix socket without a file: every user of the machine reaches it.
    Abstract(Address),
    /// An inherited descriptor: Serow does not know who can reach it.
    Unknown(Address),
}

impl FromStr for AdminAddress {
    type Err = AdminAddressError;

    fn from_str(text: &str) -> Result<Self, AdminAddressError> {
        match text.parse().map_err(AdminAddressError::Malformed)? {
            Address::Tcp(address) if !address.ip().to_canonical().is_loopback() => {
                Err(AdminAddressError::Public(address.into()))
            }
            address @ Address::Unix(_) if is_abstract(&address) => Err(AdminAddressError::Abstract(address)),
            address @ Address::Descriptor(_) => Err(AdminAddressError::Unknown(address)),
            address => Ok(Self(address)),
        }
    }
}

/// Whether it is a name in Linux's abstract namespace (unix(7)), which has no permissions.
fn is_abstract(address: &Address) -> bool {
    matches!(address, Address::Unix(path) if path.as_os_str().as_encoded_bytes().starts_with(b"@"))
}

impl fmt::Display for AdminAddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(error) => error.fmt(f),
            Self::Public(address) => {
                write!(
                    f,
                    "{address} can be reached from other machines; write unix:/path, or a port of 127.0.0.1 or [::1]"
                )
            }
            Self::Abstract(address) => write!(
                f,
                "{address} is an abstract socket, which has no permissions: every user of this machine could change the \
                 server; write the path of a file, as in unix:/run/serow/admin.sock"
            ),
            Self::Unknown(address) => {
                write!(f, "{address} may be reached by anybody; write unix:/path, or a port of 127.0.0.1 or [::1]")
            }
        }
    }
}

impl std::error::Error for AdminAddressError {}

impl fmt::Display for AdminAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_parsed_or_refused() {
        for text in [
            "unix:/run/a.sock",
            "unix:a@b.sock",
            "9000",
            "127.0.0.1:0",
            "127.9.9.9:1",
            "[::1]:9",
            "[::ffff:127.0.0.1]:9",
        ] {
            assert_eq!(text.parse::<AdminAddress>().ok(), text.parse().ok().map(AdminAddress), "{text}");
        }
        let cases = [
            (":9000", "[::]:9000 can be reached from other machines"),
            ("0.0.0.0:9000", "0.0.0.0:9000 can be reached from other machines"),
            ("192.168.1.2:9000", "192.168.1.2:9000 can be reached from other machines"),
            ("unix:@a", "unix:@a is an abstract socket, which has no permissions"),
            ("fd:3", "fd:3 may be reached by anybody"),
            ("nonsense", r#""nonsense" is not an address"#),
        ];
        for (text, expected) in cases {
            let error = text.parse::<AdminAddress>().unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}
