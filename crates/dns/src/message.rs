//! Messages of DNS (RFC 1035 §4), as far as a client needs them: one question, and the addresses or services in the
//! answer.

pub(crate) mod reader;
mod update;

use std::{
    error::Error,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use self::reader::Reader;
pub use self::update::{InvalidUpdateError, RecordChange, TextUpdate};

/// The type of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum RecordType {
    /// Addresses of IPv4.
    A = 1,
    /// Name servers of a zone.
    Ns = 2,
    /// The name that this one is an alias of.
    Cname = 5,
    /// The start of a zone.
    Soa = 6,
    /// Text.
    Txt = 16,
    /// Addresses of IPv6 (RFC 3596).
    Aaaa = 28,
    /// Hosts and ports of a service (RFC 2782).
    Srv = 33,
}

/// A query for one record type of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// In lower case, without the dot at the end.
    name: String,
    kind: RecordType,
}

/// The reply of a name server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// These records; empty if the name has none of this type.
    Records(Vec<Record>),
    /// The name does not exist (NXDOMAIN).
    NoSuchName,
    /// The reply is too long for a packet: repeat the query over TCP.
    Truncated,
    /// The server cannot or will not say; its RCODE.
    Refused(u8),
}

/// A record of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The content of the record.
    pub data: RecordData,
    /// For how long it holds, and all names on the way to it.
    pub ttl: Duration,
}

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordData {
    /// A or AAAA.
    Address(IpAddr),
    /// NS or CNAME.
    Host(String),
    /// SOA, whose content is not parsed.
    StartOfZone,
    /// TXT: its strings, joined.
    Text(Vec<u8>),
    /// SRV (RFC 2782).
    Service {
        /// Hosts with the lowest number are tried first.
        priority: u16,
        /// The share among hosts of the same priority.
        weight: u16,
        /// The port.
        port: u16,
        /// Empty if the service is explicitly unavailable.
        host: String,
    },
}

/// A name that cannot be queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidNameError;

impl Question {
    /// A question for the records of this type.
    ///
    /// # Errors
    ///
    /// A name with empty or overlong parts, or with letters beyond ASCII.
    pub fn new(name: &str, kind: RecordType) -> Result<Self, InvalidNameError> {
        Ok(Self { name: checked_name(name)?, kind })
    }

    /// The message that asks; recursion is desired.
    pub fn write(&self, id: u16) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEADER_LENGTH + self.name.len() + 6);
        for number in [id, RECURSION_DESIRED, 1, 0, 0, 0] {
            message.extend_from_slice(&number.to_be_bytes());
        }
        write_name(&self.name, &mut message);
        message.extend_from_slice(&(self.kind as u16).to_be_bytes());
        message.extend_from_slice(&INTERNET.to_be_bytes());
        message
    }

    /// Parses the reply; `None` if the message is invalid, or answers another query.
    pub fn read_reply(&self, message: &[u8], id: u16) -> Option<Reply> {
        let mut reader = Reader { message, at: 0 };
        let (found, flags) = (reader.number()?, reader.number()?);
        let (questions, answers, _, _) = (reader.number()?, reader.number()?, reader.number()?, reader.number()?);
        if found != id || flags & RESPONSE == 0 || questions != 1 {
            return None;
        }
        let (name, kind, class) = (reader.name()?, reader.number()?, reader.number()?);
        if (name, kind, class) != (self.name.clone(), self.kind as u16, INTERNET) {
            return None;
        }
        match (flags & 0xf) as u8 {
            0 if flags & TRUNCATED != 0 => Some(Reply::Truncated),
            0 => self.read_records(&mut reader, answers).map(Reply::Records),
            3 => Some(Reply::NoSuchName),
            code => Some(Reply::Refused(code)),
        }
    }

    /// The records of the name, or of its canonical name (CNAME), which servers put first (RFC 1034 §4.3.1).
    fn read_records(&self, reader: &mut Reader<'_>, count: u16) -> Option<Vec<Record>> {
        let (mut name, mut ttl, mut records) = (self.name.clone(), u32::MAX, Vec::new());
        for _ in 0..count {
            let (owner, kind, class) = (reader.name()?, reader.number()?, reader.number()?);
            let (high, low, length) = (reader.number()?, reader.number()?, reader.number()?);
            let own_ttl = u32::from(high) << 16 | u32::from(low);
            let end = reader.at + usize::from(length);
            let is_alias = kind == RecordType::Cname as u16 && self.kind.follows_aliases();
            if class != INTERNET || owner != name || (!is_alias && kind != self.kind as u16) {
                reader.at = end;
                continue;
            }
            if is_alias {
                (name, ttl) = (reader.name()?, ttl.min(own_ttl));
            } else {
                let ttl = Duration::from_secs(ttl.min(own_ttl).into());
                records.push(Record { data: self.read_data(reader, end)?, ttl });
            }
            // A record that is shorter or longer than its length field would shift everything after it.
            if reader.at != end {
                return None;
            }
        }
        Some(records)
    }

    /// The content of a record, which ends at `end`.
    fn read_data(&self, reader: &mut Reader<'_>, end: usize) -> Option<RecordData> {
        Some(match self.kind {
            RecordType::A => RecordData::Address(Ipv4Addr::from(reader.take::<4>()?).into()),
            RecordType::Aaaa => RecordData::Address(Ipv6Addr::from(reader.take::<16>()?).into()),
            RecordType::Ns | RecordType::Cname => RecordData::Host(reader.name()?),
            RecordType::Soa => {
                reader.skip_to(end)?;
                RecordData::StartOfZone
            }
            RecordType::Txt => {
                let mut text = Vec::new();
                while reader.at < end {
                    text.extend_from_slice(reader.string()?);
                }
                RecordData::Text(text)
            }
            RecordType::Srv => RecordData::Service {
                priority: reader.number()?,
                weight: reader.number()?,
                port: reader.number()?,
                host: reader.name()?,
            },
        })
    }
}

impl RecordType {
    /// Whether a reply may be about the name's canonical name. The zone of an alias is not the one of its target.
    fn follows_aliases(self) -> bool {
        !matches!(self, Self::Cname | Self::Soa | Self::Ns)
    }
}

/// A name in lower case, without the dot at the end.
///
/// # Errors
///
/// A name with empty or overlong parts, or with letters beyond ASCII.
pub(crate) fn checked_name(name: &str) -> Result<String, InvalidNameError> {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let is_label = |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(|byte| byte.is_ascii_graphic());
    if name.len() > MAX_NAME_LENGTH || !name.split('.').all(is_label) {
        return Err(InvalidNameError);
    }
    Ok(name)
}

/// Adds a name that [`checked_name`] returned.
pub(crate) fn write_name(name: &str, message: &mut Vec<u8>) {
    write_labels(name, message);
    message.push(0);
}

/// Adds the labels of a checked name; nothing if it is empty.
fn write_labels(name: &str, message: &mut Vec<u8>) {
    for label in name.split('.').filter(|label| !label.is_empty()) {
        // At most 63, as was checked.
        message.push(label.len() as u8);
        message.extend_from_slice(label.as_bytes());
    }
}

impl fmt::Display for InvalidNameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("this is not a host name; write letters beyond ASCII as in xn--bcher-kva.example")
    }
}

impl Error for InvalidNameError {}

/// The maximum length of a name as text (RFC 1035 §2.3.4: 255 bytes in a message, including a length before each label
/// and one at the end).
const MAX_NAME_LENGTH: usize = 253;

pub(crate) const HEADER_LENGTH: usize = 12;

pub(crate) const RESPONSE: u16 = 1 << 15;
const TRUNCATED: u16 = 1 << 9;
const RECURSION_DESIRED: u16 = 1 << 8;

/// The class of the internet (RFC 1035 §3.2.4).
pub(crate) const INTERNET: u16 = 1;

#[cfg(test)]
mod tests;
