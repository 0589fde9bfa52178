//! The hash of nginx's `split_clients`, and of Tengine's `consistent_hash`.

/// MurmurHash2 with 32 bits and seed 0 (Austin Appleby, in the public domain). Words are read as little-endian machines
/// read them, on all machines.
#[must_use]
pub fn murmur2(text: &[u8]) -> u32 {
    // The length is part of the hash, modulo 2³².
    let mut hash = text.len() as u32;
    let mut words = text.chunks_exact(4);
    for word in words.by_ref() {
        let word = word.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)).wrapping_mul(FACTOR);
        hash = hash.wrapping_mul(FACTOR) ^ (word ^ word >> 24).wrapping_mul(FACTOR);
    }
    let rest = words.remainder();
    if !rest.is_empty() {
        let rest = rest.iter().rev().fold(0, |rest, &byte| rest << 8 | u32::from(byte));
        hash = (hash ^ rest).wrapping_mul(FACTOR);
    }
    hash = (hash ^ hash >> 13).wrapping_mul(FACTOR);
    hash ^ hash >> 15
}

/// The algorithm's own.
const FACTOR: u32 = 0x5bd1_e995;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_tengines() {
        let cases: [(&[u8], u32); 10] = [
            (b"", 0),
            (b"a", 2_456_313_694),
            (b"ab", 446_775_395),
            (b"abc", 324_500_635),
            (b"abcd", 646_393_889),
            (b"abcde", 1_594_468_574),
            (b"127.0.0.1", 3_054_706_065),
            (b"192.168.0.10", 2_855_513_701),
            (b"/index.html?a=1", 3_141_234_438),
            (b"\xc3\xa4\xff\x80", 3_955_684_870),
        ];
        for (text, expected) in cases {
            assert_eq!(murmur2(text), expected, "{}", text.escape_ascii());
        }
    }
}
