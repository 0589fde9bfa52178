//! The hash that Tengine's `consistent_hash` has.

/// MurmurHash2 with 32 bits and seed 0 (Austin Appleby, in the public domain). Words are read as little-endian machines
/// read them, on all machines.
pub(crate) fn murmur2(text: &[u8]) -> u32 {
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
