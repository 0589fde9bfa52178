//! Lines as messages of syslog (RFC 5424), sent to a collector on this machine or another.

mod address;
mod header;
mod link;

pub use self::address::{SyslogAddress, SyslogAddressError};
pub(crate) use self::{header::Header, link::Link};
