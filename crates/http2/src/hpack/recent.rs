//! Where a field may be found in the table.

use alloc::boxed::Box;

use super::name::Name;

/// For hashes of fields and of names, the number of the newest entry that has it. It may be wrong: the entry may be gone,
/// or another one. Whoever asks compares, and what is not found is sent as if it were not in the table.
#[derive(Debug)]
pub(super) struct Recent {
    slots: Option<Box<Slots>>,
}

#[derive(Debug)]
struct Slots {
    entries: [u16; SLOTS],
    /// Hashes of fields that came once.
    once: [u16; ONCE],
}

impl Recent {
    pub(super) const fn new() -> Self {
        Self { slots: None }
    }

    /// The number of an entry that may have this hash, modulo 2¹⁶.
    #[inline]
    pub(super) fn find(&self, hash: Hash) -> Option<u16> {
        self.slots.as_ref().map(|slots| slots.entries[hash.slot()])
    }

    pub(super) fn note(&mut self, hash: Hash, number: u16) {
        self.slots().entries[hash.slot()] = number;
    }

    /// Whether a field of this hash came before, not long ago; from now on it did.
    pub(super) fn is_repeated(&mut self, hash: Hash) -> bool {
        let place = &mut self.slots().once[hash.0 as usize % ONCE];
        let mark = (hash.0 >> 16) as u16;
        core::mem::replace(place, mark) == mark
    }

    fn slots(&mut self) -> &mut Slots {
        self.slots.get_or_insert_with(|| Box::new(Slots { entries: [0; SLOTS], once: [0; ONCE] }))
    }
}

/// A number that fields which differ seldom share. It need not withstand an attacker: an entry that is not found costs some
/// bytes on the attacker's own connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hash(u32);

impl Hash {
    /// Of a name, whatever its case.
    #[inline]
    pub(super) fn of_name(kind: Name, name: &[u8]) -> Self {
        match kind {
            Name::Known(known) => Self(known as u32),
            Name::Pseudo(pseudo) => Self(64 + pseudo as u32),
            Name::Other => Self(80).with(name, CAPITAL),
        }
    }

    /// Of a field, from that of its name.
    #[inline]
    pub(super) fn with_value(self, value: &[u8]) -> Self {
        self.with(value, 0)
    }

    fn slot(self) -> usize {
        self.0 as usize % SLOTS
    }

    #[inline]
    fn with(self, text: &[u8], mask: u64) -> Self {
        let mut state = (u64::from(self.0) + text.len() as u64).wrapping_mul(FACTOR);
        let (words, rest) = text.as_chunks::<8>();
        for word in words {
            state = mix(state, u64::from_le_bytes(*word) | mask);
        }
        for byte in rest {
            state = mix(state, u64::from(*byte) | mask & 0xff);
        }
        Self((state >> 32) as u32 ^ state as u32)
    }
}

#[inline]
fn mix(state: u64, word: u64) -> u64 {
    let product = (state ^ word).wrapping_mul(FACTOR);
    product ^ product >> 32
}

/// An odd number whose bits look random: 2⁶⁴ divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The bit in which capitals differ from small letters, in each byte of a word.
const CAPITAL: u64 = u64::MAX / 255 * 0x20;

/// Twice the entries of 32 bytes and no text that a table of 4,096 bytes can have, and their names beside them.
const SLOTS: usize = 256;

/// Some more than the fields of a usual response that may come again.
const ONCE: usize = 32;
