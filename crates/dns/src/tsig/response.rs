//! The response to a signed message: its code and its signature.

use super::{CLASS_ANY, TSIG};
use crate::message::reader::Reader;

/// The parts of a response that count.
pub(super) struct ParsedResponse {
    pub(super) id: u16,
    pub(super) flags: u16,
    pub(super) signature: Option<Signature>,
}

/// The record of a signature.
pub(super) struct Signature {
    /// Where it begins in the message.
    pub(super) start: usize,
    /// The number of additional records, of which it is the last.
    pub(super) additional: u16,
    pub(super) key: String,
    pub(super) algorithm: String,
    pub(super) time: u64,
    pub(super) fudge: u16,
    pub(super) mac: Vec<u8>,
    pub(super) original_id: u16,
    pub(super) error: u16,
    pub(super) other: Vec<u8>,
}

impl ParsedResponse {
    pub(super) fn parse(message: &[u8]) -> Option<Self> {
        let mut reader = Reader { message, at: 0 };
        let (id, flags) = (reader.number()?, reader.number()?);
        let (questions, answers, authorities, additional) =
            (reader.number()?, reader.number()?, reader.number()?, reader.number()?);
        for _ in 0..questions {
            reader.name()?;
            // Type and class.
            reader.take::<4>()?;
        }
        let count = [answers, authorities, additional].into_iter().map(u32::from).sum::<u32>();
        let mut signature = None;
        for number in 1..=count {
            let start = reader.at;
            let (key, kind, class) = (reader.name()?, reader.number()?, reader.number()?);
            let ttl: [u8; 4] = reader.take()?;
            let end = reader.at + 2 + usize::from(reader.number()?);
            if kind != TSIG {
                reader.skip_to(end)?;
                continue;
            }
            // RFC 8945 §5.1: the last one, and an additional one.
            if number != count || additional == 0 || class != CLASS_ANY || ttl != [0; 4] {
                return None;
            }
            signature = Some(Signature::parse(&mut reader, key, start, additional)?);
            if reader.at != end {
                return None;
            }
        }
        (reader.at == message.len()).then_some(Self { id, flags, signature })
    }
}

impl Signature {
    /// The content of the record (RFC 8945 §4.2).
    fn parse(reader: &mut Reader<'_>, key: String, start: usize, additional: u16) -> Option<Self> {
        Some(Self {
            start,
            additional,
            key,
            algorithm: reader.name()?,
            time: parse_time(reader.take()?),
            fudge: reader.number()?,
            mac: reader.data()?.to_vec(),
            original_id: reader.number()?,
            error: reader.number()?,
            other: reader.data()?.to_vec(),
        })
    }
}

pub(super) fn parse_time([a, b, c, d, e, f]: [u8; 6]) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}
