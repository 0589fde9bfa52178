//! The handshake of WebSocket (RFC 6455 §4).

use alloc::{format, string::String};

/// What proves that a server speaks WebSocket: the value of `Sec-WebSocket-Accept` that answers this `Sec-WebSocket-Key`
/// (RFC 6455 §4.2.2).
///
/// ```
/// use serow_message::websocket;
///
/// assert_eq!(websocket::accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
/// ```
#[must_use]
pub fn accept(key: &str) -> String {
    base64(&sha1(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11").as_bytes()))
}

/// FIPS 180-4 §6.1.
fn sha1(message: &[u8]) -> [u8; 20] {
    let mut padded = message.to_vec();
    padded.push(0x80);
    let length = (message.len() as u64 * 8).to_be_bytes();
    let end = (message.len() + 9).next_multiple_of(64);
    padded.resize(end, 0);
    padded[end - 8..].copy_from_slice(&length);
    let mut state: [u32; 5] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    for block in padded.chunks_exact(64) {
        let mut words = [0_u32; 80];
        for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for at in 16..80 {
            words[at] = (words[at - 3] ^ words[at - 8] ^ words[at - 14] ^ words[at - 16]).rotate_left(1);
        }
        let [mut a, mut b, mut c, mut d, mut e] = state;
        for (round, word) in words.iter().enumerate() {
            let (mixed, constant) = match round / 20 {
                0 => ((b & c) | (!b & d), 0x5a82_7999),
                1 => (b ^ c ^ d, 0x6ed9_eba1),
                2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
                _ => (b ^ c ^ d, 0xca62_c1d6_u32),
            };
            let next = a.rotate_left(5).wrapping_add(mixed).wrapping_add(e).wrapping_add(constant).wrapping_add(*word);
            (e, d, c, b, a) = (d, c, b.rotate_left(30), a, next);
        }
        for (sum, value) in state.iter_mut().zip([a, b, c, d, e]) {
            *sum = sum.wrapping_add(value);
        }
    }
    let mut digest = [0; 20];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

/// RFC 4648 §4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().chain([0, 0].iter()).take(3).fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = ALPHABET[bits >> shift & 63] as char;
            text.push(if place <= three.len() { digit } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests() {
        // FIPS 180-4's examples, and lengths about that of a block.
        let cases: [(&[u8], &str); 4] = [
            (b"abc", "qZk+NkcGgWq6PiVxeFDCbJzQ2J0="),
            (b"", "2jmj7l5rSw0yVb/vlWAYkK/YBwk="),
            (b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "hJg+RBw70m66rkqh+VEp5eVGcPE="),
            (&[b'a'; 64], "AJi6gktcFkJ716ESKlpEKiXsZE0="),
        ];
        for (message, expected) in cases {
            assert_eq!(base64(&sha1(message)), expected, "{}", message.escape_ascii());
        }
    }
}
