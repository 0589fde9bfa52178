//! Apache's variant of MD5-crypt, the default of `htpasswd` until version 2.4: a thousand rounds of MD5.

use md5::{Digest, Md5};

/// The hash of a password as it stands behind `$apr1$SALT$`.
pub(crate) fn hash(password: &[u8], salt: &[u8]) -> String {
    // Poul-Henning Kamp's algorithm of 1994, with another prefix.
    let salt = &salt[..salt.len().min(MAX_SALT)];
    let inner = digest(&[password, salt, password]);
    let mut outer = Md5::new();
    outer.update(password);
    outer.update(PREFIX);
    outer.update(salt);
    let mut left = password.len();
    while left > 0 {
        outer.update(&inner[..left.min(inner.len())]);
        left = left.saturating_sub(inner.len());
    }
    let mut bits = password.len();
    while bits > 0 {
        outer.update(if bits & 1 == 1 { &[0] } else { &password[..1] });
        bits >>= 1;
    }
    let mut result: [u8; 16] = outer.finalize().into();
    for round in 0..ROUNDS {
        let mut pieces: Vec<&[u8]> = Vec::with_capacity(4);
        pieces.push(if round & 1 == 1 { password } else { &result });
        if round % 3 != 0 {
            pieces.push(salt);
        }
        if round % 7 != 0 {
            pieces.push(password);
        }
        pieces.push(if round & 1 == 1 { &result } else { password });
        result = digest(&pieces);
    }
    encode(&result)
}

fn digest(pieces: &[&[u8]]) -> [u8; 16] {
    let mut md5 = Md5::new();
    pieces.iter().for_each(|piece| md5.update(piece));
    md5.finalize().into()
}

/// Its own base64: six bits for each letter, the lowest first, of bytes in an order of their own.
fn encode(result: &[u8; 16]) -> String {
    let mut text = String::with_capacity(22);
    let mut push = |mut value: u32, letters: usize| {
        for _ in 0..letters {
            text.push(char::from(LETTERS[(value & 63) as usize]));
            value >>= 6;
        }
    };
    for [first, second, third] in [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5]] {
        push(u32::from(result[first]) << 16 | u32::from(result[second]) << 8 | u32::from(result[third]), 4);
    }
    push(u32::from(result[11]), 2);
    text
}

/// The prefix of the salt.
pub(crate) const PREFIX: &str = "$apr1$";

/// Apache reads no more of it.
const MAX_SALT: usize = 8;

const ROUNDS: usize = 1000;

const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
