//! A hash of host names.

use std::hash::{BuildHasher, Hasher};

/// FNV-1a with 64 bits (draft-eastlake-fnv). It takes a third of the instructions of the standard library's hash on
/// names of this length. That one keeps clients from filling a table with names of one hash; here the names are the
/// settings', and clients only ask for them.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NameHash;

/// The hash of what was written so far.
#[derive(Debug)]
pub(crate) struct NameHasher(u64);

impl BuildHasher for NameHash {
    type Hasher = NameHasher;

    fn build_hasher(&self) -> NameHasher {
        NameHasher(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for NameHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    // The length, which a slice writes too, says nothing that its bytes do not.
    fn write_usize(&mut self, _: usize) {}

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_the_draft() {
        for (text, hash) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            let mut hasher = NameHash.build_hasher();
            hasher.write(text.as_bytes());
            assert_eq!(hasher.finish(), hash, "{text}");
        }
    }
}
