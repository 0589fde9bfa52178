//! The prefix of a field section (RFC 9204 §4.5.1).

use alloc::vec::Vec;

use serow_streams::{compression::integer, fields::ENTRY_OVERHEAD};

use super::DecodeError;

/// Which entries a section needs, and how it counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prefix {
    /// How many entries must have been inserted before it can be decoded; zero if it refers to none.
    pub(super) required: u64,
    /// The entry of this absolute index is the first that post-base indexes reach, the one before has relative index 0.
    pub(super) base: u64,
}

impl Prefix {
    /// Takes the prefix of a section from the front of the input. `capacity` is what the decoder announced, `inserted`
    /// the number of entries that it has received.
    #[inline]
    pub(super) fn decode(input: &mut &[u8], capacity: usize, inserted: u64) -> Result<Self, DecodeError> {
        let encoded = integer::decode_long::<8>(input)?;
        let required = if encoded == 0 { 0 } else { required(encoded, max_entries(capacity), inserted)? };
        let sign = *input.first().ok_or(DecodeError::Truncated)? & SIGN;
        let delta = integer::decode_long::<7>(input)?;
        let base = if sign == 0 { required.checked_add(delta) } else { required.checked_sub(delta + 1) };
        Ok(Self { required, base: base.ok_or(DecodeError::Base)? })
    }

    /// The absolute index of an index relative to the base (RFC 9204 §3.2.5).
    #[inline]
    pub(super) fn relative(&self, index: usize) -> Result<u64, DecodeError> {
        self.needed(self.base.checked_sub(index as u64 + 1))
    }

    /// The absolute index of a post-base index (RFC 9204 §3.2.6).
    #[inline]
    pub(super) fn post_base(&self, index: usize) -> Result<u64, DecodeError> {
        self.needed(self.base.checked_add(index as u64))
    }

    /// RFC 9204 §2.2.3: a section must not refer to what it says it does not need.
    #[inline]
    fn needed(&self, absolute: Option<u64>) -> Result<u64, DecodeError> {
        absolute.filter(|absolute| *absolute < self.required).ok_or(DecodeError::Index)
    }

    /// Appends it; `capacity` is what the peer's decoder announced.
    pub(super) fn encode(self, capacity: usize, output: &mut Vec<u8>) {
        let Self { required, base } = self;
        let encoded = if required == 0 { 0 } else { required % (2 * max_entries(capacity)) + 1 };
        integer::encode_long::<8>(encoded, 0, output);
        match base.checked_sub(required) {
            Some(delta) => integer::encode_long::<7>(delta, 0, output),
            None => integer::encode_long::<7>(required - base - 1, SIGN, output),
        }
    }
}

/// RFC 9204 §4.5.1.1: the only number with this remainder that an encoder can mean, whose table holds so many entries
/// at most.
#[inline]
fn required(encoded: u64, max_entries: u64, inserted: u64) -> Result<u64, DecodeError> {
    let range = 2 * max_entries;
    if encoded > range {
        return Err(DecodeError::InsertCount);
    }
    let largest = inserted + max_entries;
    let required = largest / range * range + encoded - 1;
    if required <= largest {
        return if required == 0 { Err(DecodeError::InsertCount) } else { Ok(required) };
    }
    // RFC 9204 §4.5.1.1: zero is encoded as zero, and less than it cannot be.
    if required <= range { Err(DecodeError::InsertCount) } else { Ok(required - range) }
}

/// RFC 9204 §4.5.1.1: how many entries a table of this capacity can have.
const fn max_entries(capacity: usize) -> u64 {
    (capacity / ENTRY_OVERHEAD) as u64
}

/// RFC 9204 §4.5.1: the bit that says that the base is below the Required Insert Count.
const SIGN: u8 = 0x80;
