//! Where an admin endpoint is, or that there is none.

use std::{fmt, str::FromStr};

use serde_json::{Value, json};
use serow_message::Address;

use crate::{
    in_settings_file,
    values::{AdminAddress, AdminAddressError, SettingValue},
};

/// Where an admin endpoint is, or that there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminSocket {
    /// There is none.
    Off,
    /// At this address.
    At(AdminAddress),
}

impl AdminSocket {
    /// The address, if there is an endpoint.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        match self {
            Self::Off => None,
            Self::At(AdminAddress(address)) => Some(address),
        }
    }

    /// The same, to change it.
    pub fn address_mut(&mut self) -> Option<&mut Address> {
        match self {
            Self::Off => None,
            Self::At(AdminAddress(address)) => Some(address),
        }
    }
}

impl FromStr for AdminSocket {
    type Err = AdminAddressError;

    fn from_str(text: &str) -> Result<Self, AdminAddressError> {
        if text == OFF { Ok(Self::Off) } else { text.parse().map(Self::At) }
    }
}

impl fmt::Display for AdminSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str(OFF),
            Self::At(address) => address.fmt(f),
        }
    }
}

impl SettingValue for AdminSocket {
    fn expected() -> String {
        r#"an address that only this machine reaches, as in "unix:/path" or "127.0.0.1:9000", or "off""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "pattern": "^((.*:)?[0-9]+|unix:[^@].*|off)$" })
    }
}

in_settings_file!(AdminSocket, "AdminSocket");

const OFF: &str = "off";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn off_and_addresses_are_parsed_and_written_as_they_were() {
        for (text, address) in
            [("off", None), ("unix:/run/a.sock", Some("unix:/run/a.sock")), ("unix:off", Some("unix:off"))]
        {
            let socket: AdminSocket = text.parse().unwrap();
            assert_eq!(socket.address().map(ToString::to_string).as_deref(), address, "{text}");
            assert_eq!(socket.to_string(), text);
        }
        for text in ["Off", "on", "unix:@a", ":9000", ""] {
            assert!(text.parse::<AdminSocket>().is_err(), "{text}");
        }
    }
}
