//! Lines as messages of syslog (RFC 5424), sent to a collector on this machine or another.

mod address;
#[cfg(feature = "writing")]
mod header;
#[cfg(feature = "writing")]
mod link;

pub use self::address::{SyslogAddress, SyslogAddressError};
#[cfg(feature = "writing")]
pub(crate) use self::{header::Header, link::Link};
