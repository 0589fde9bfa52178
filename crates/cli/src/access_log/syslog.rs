//! Lines as messages of syslog (RFC 5424), sent to a collector on this machine or another.

mod address;
mod header;
mod link;

pub(super) use self::{
    address::{InvalidSyslogAddress, SyslogAddress},
    header::Header,
    link::Link,
};
