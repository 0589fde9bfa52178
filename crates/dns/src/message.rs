//! Messages of DNS (RFC 1035 §4), as far as a client needs them: one question, and the addresses or services in the
//! answer.

use std::{
    error::Error,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

/// The type of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum RecordType {
    /// Addresses of IPv4.
    A = 1,
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
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        let is_label =
            |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(|byte| byte.is_ascii_graphic());
        if name.len() > MAX_NAME_LENGTH || !name.split('.').all(is_label) {
            return Err(InvalidNameError);
        }
        Ok(Self { name, kind })
    }

    /// The message that asks; recursion is desired.
    pub fn write(&self, id: u16) -> Vec<u8> {
        let mut message = Vec::with_capacity(HEADER_LENGTH + self.name.len() + 6);
        for number in [id, RECURSION_DESIRED, 1, 0, 0, 0] {
            message.extend_from_slice(&number.to_be_bytes());
        }
        for label in self.name.split('.') {
            // At most 63, as was checked.
            message.push(label.len() as u8);
            message.extend_from_slice(label.as_bytes());
        }
        message.push(0);
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
            if class != INTERNET || owner != name || (kind != CNAME && kind != self.kind as u16) {
                reader.at = end;
                continue;
            }
            if kind == CNAME {
                (name, ttl) = (reader.name()?, ttl.min(own_ttl));
            } else {
                let ttl = Duration::from_secs(ttl.min(own_ttl).into());
                records.push(Record { data: self.read_data(reader)?, ttl });
            }
            // A record that is shorter or longer than its length field would shift everything after it.
            if reader.at != end {
                return None;
            }
        }
        Some(records)
    }

    fn read_data(&self, reader: &mut Reader<'_>) -> Option<RecordData> {
        Some(match self.kind {
            RecordType::A => RecordData::Address(Ipv4Addr::from(reader.take::<4>()?).into()),
            RecordType::Aaaa => RecordData::Address(Ipv6Addr::from(reader.take::<16>()?).into()),
            RecordType::Srv => RecordData::Service {
                priority: reader.number()?,
                weight: reader.number()?,
                port: reader.number()?,
                host: reader.name()?,
            },
        })
    }
}

/// A place in a message.
struct Reader<'a> {
    message: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let bytes = self.message.get(self.at..)?.first_chunk()?;
        self.at += COUNT;
        Some(*bytes)
    }

    fn number(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    /// A name in lower case. Its end may be compressed to a pointer to an earlier name (RFC 1035 §4.1.4); pointers must
    /// go backwards, so that parsing terminates.
    fn name(&mut self) -> Option<String> {
        let (mut name, mut at, mut before, mut end) = (String::new(), self.at, self.at, None);
        loop {
            let length = *self.message.get(at)?;
            match length {
                0 => {
                    self.at = end.unwrap_or(at + 1);
                    return Some(name);
                }
                1..=63 => {
                    let label = self.message.get(at + 1..at + 1 + usize::from(length))?;
                    // A dot within a label would look like one between two labels.
                    let is_plain = label.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'.');
                    if name.len() + label.len() >= MAX_NAME_LENGTH || !is_plain {
                        return None;
                    }
                    if !name.is_empty() {
                        name.push('.');
                    }
                    name.extend(label.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
                    at += 1 + label.len();
                }
                0xc0.. => {
                    let pointer = usize::from(length & 0x3f) << 8 | usize::from(*self.message.get(at + 1)?);
                    if pointer >= before {
                        return None;
                    }
                    end.get_or_insert(at + 2);
                    (at, before) = (pointer, pointer);
                }
                _ => return None,
            }
        }
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

const HEADER_LENGTH: usize = 12;

const RESPONSE: u16 = 1 << 15;
const TRUNCATED: u16 = 1 << 9;
const RECURSION_DESIRED: u16 = 1 << 8;

const INTERNET: u16 = 1;
const CNAME: u16 = 5;

#[cfg(test)]
mod tests;
