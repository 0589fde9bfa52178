//! Numbers that look like chance and are always the same.

/// Numbers that look like chance and are always the same (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below another one, which is not 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    /// One of several; nothing of none.
    pub(crate) fn choose<'c, T>(&mut self, choices: &'c [T]) -> Option<&'c T> {
        if choices.is_empty() { None } else { choices.get(self.below(choices.len())) }
    }

    /// Changes some bytes of a text in some way.
    pub(crate) fn change(&mut self, bytes: &mut Vec<u8>) {
        let length = bytes.len();
        if length < 2 {
            return;
        }
        let place = self.below(length);
        let end = (place + 1 + self.below(8)).min(length);
        match self.below(8) {
            0 => drop(bytes.remove(place)),
            1 => drop(bytes.drain(place..end)),
            2 => bytes.swap(place, (place + 1).min(length - 1)),
            3 => bytes.insert(place, bytes[place]),
            4 => bytes[place] = b" \n\"'[]{}=#.,-_0a\\\t\r\0"[self.below(20)],
            5 => bytes[place] ^= 1 << self.below(8),
            6 => {
                let copy = bytes[place..end].to_vec();
                let other = self.below(length);
                bytes.splice(other..other, copy);
            }
            _ => bytes.truncate(place),
        }
    }
}
