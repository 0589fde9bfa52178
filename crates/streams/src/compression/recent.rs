//! Where a field may be found in the table.

use alloc::boxed::Box;

use crate::fields::Name;

/// For hashes of fields and of names, the number of the newest entry that has it. It may be wrong: the entry may be
/// gone, or another one. The caller compares, and an entry that is not found is sent as if it were not in the table.
#[derive(Debug, Default)]
pub struct Recent {
    slots: Option<Box<Slots>>,
}

#[derive(Debug)]
struct Slots {
    names: [u16; NAMES],
    fields: [[u16; 2]; FIELDS],
    /// Hashes of fields that came once.
    once: [u16; ONCE],
}

impl Recent {
    /// Where nothing is noted; allocates nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: None }
    }

    /// The number of an entry that may have this name, modulo 2¹⁶.
    #[inline]
    pub fn find_name(&self, hash: Hash) -> u16 {
        self.slots.as_ref().map_or(0, |slots| slots.names[hash.0 as usize % NAMES])
    }

    /// The numbers of entries that may be this field, modulo 2¹⁶.
    pub fn find_field(&self, hash: Hash) -> [u16; 2] {
        self.slots.as_ref().map_or([0; 2], |slots| slots.fields[hash.0 as usize % FIELDS])
    }

    /// From now on the entry of this number is the last of its name.
    pub fn note_name(&mut self, hash: Hash, number: u16) {
        self.slots().names[hash.0 as usize % NAMES] = number;
    }

    /// Notes the number of the entry of a field.
    pub fn note_field(&mut self, hash: Hash, number: u16) {
        let numbers = &mut self.slots().fields[hash.0 as usize % FIELDS];
        *numbers = [number, numbers[0]];
    }

    /// Whether a field of this hash came before, not long ago; from now on it did.
    pub fn is_repeated(&mut self, hash: Hash) -> bool {
        let place = &mut self.slots().once[hash.0 as usize % ONCE];
        let mark = (hash.0 >> 16) as u16;
        core::mem::replace(place, mark) == mark
    }

    fn slots(&mut self) -> &mut Slots {
        self.slots
            .get_or_insert_with(|| Box::new(Slots { names: [0; NAMES], fields: [[0; 2]; FIELDS], once: [0; ONCE] }))
    }
}

/// A number that fields which differ seldom share. It need not withstand an attacker: an entry that is not found costs
/// some bytes on the attacker's own connection.
#[derive(Clone, Copy, Debug)]
pub struct Hash(u32);

impl Hash {
    /// Of a name, whatever its case.
    #[inline]
    pub fn of_name(kind: Name, name: &[u8]) -> Self {
        match kind {
            Name::Known(known) => Self(known as u32),
            Name::Pseudo(pseudo) => Self(64 + pseudo as u32),
            Name::Other => {
                let Self(hash) = Self(0).with(name, CAPITAL);
                Self(FIRST_OTHER + hash % (NAMES as u32 - FIRST_OTHER))
            }
        }
    }

    /// Of a field, from that of its name.
    #[inline]
    pub fn with_value(self, value: &[u8]) -> Self {
        self.with(value, 0)
    }

    #[inline]
    fn with(self, text: &[u8], mask: u64) -> Self {
        let mut state = (u64::from(self.0) + text.len() as u64).wrapping_mul(FACTOR);
        let (words, rest) = text.as_chunks::<8>();
        for word in words {
            state = mix(state, u64::from_le_bytes(*word) | mask);
        }
        // The last word may have bytes of the one before.
        let last = match (text.last_chunk::<8>(), rest) {
            (_, []) => 0,
            (Some(last), _) => u64::from_le_bytes(*last),
            (None, _) => rest.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        state = mix(state, last | mask);
        // The upper bits of a product depend on all bits of its factors, the lower ones do not.
        Self((state >> 32) as u32)
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

/// Well-known names, of which there are 64 at most, and pseudo-header fields do not share theirs with each other.
const NAMES: usize = 128;

/// The number of the first that is neither.
const FIRST_OTHER: u32 = 72;

/// With two numbers each, as many as a table of 4,096 bytes can have entries. Twice as many save half of a percent.
const FIELDS: usize = 64;

/// Those of some ten responses.
const ONCE: usize = 64;
