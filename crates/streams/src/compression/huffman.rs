//! Strings in Huffman code (RFC 7541 §5.2).
//!
//! The code is canonical: codes of one length follow each other in the order of their symbols, and shorter ones come
//! before longer ones. So the lengths are all there is to know, and the tables are made of them by the compiler.

use alloc::vec::Vec;

use super::CodingError;

/// The length of a text's code, in bytes.
#[inline]
pub fn encoded_length(text: impl Iterator<Item = u8>) -> usize {
    text.map(|byte| usize::from(LENGTHS[usize::from(byte)])).sum::<usize>().div_ceil(8)
}

/// Writes a text's code.
#[inline]
pub fn encode(text: impl Iterator<Item = u8>, output: &mut Vec<u8>) {
    let (mut bits, mut count) = (0_u64, 0);
    for byte in text {
        let Code { bits: code, length } = CODES[usize::from(byte)];
        bits = bits << length | u64::from(code);
        count += u32::from(length);
        // At most 31 bits are left from before, and a code has 30.
        if count >= 32 {
            count -= 32;
            output.extend_from_slice(&((bits >> count) as u32).to_be_bytes());
        }
    }
    // The last byte is filled up with ones, the beginning of the code of the end.
    let bytes = count.div_ceil(8);
    let filler = bytes * 8 - count;
    let bits = (bits << filler | ((1 << filler) - 1)) as u32;
    output.extend_from_slice(&bits.to_be_bytes()[4 - bytes as usize..]);
}

/// Decodes a text to the end of the output.
pub fn decode(input: &[u8], output: &mut Vec<u8>) -> Result<(), CodingError> {
    let start = output.len();
    // The shortest codes have five bits.
    output.resize(start + input.len() * 8 / 5, 0);
    let length = decode_to(input, &mut output[start..])?;
    output.truncate(start + length);
    Ok(())
}

fn decode_to(mut input: &[u8], output: &mut [u8]) -> Result<usize, CodingError> {
    // The bits to come, from the highest on, and how many they are.
    let (mut bits, mut count) = (0_u64, 0);
    let mut place = 0;
    while let Some((word, rest)) = input.split_first_chunk() {
        bits |= u64::from(u32::from_be_bytes(*word)) << (32 - count);
        count += 32;
        input = rest;
        while count >= LONGEST as u32 {
            let code = first_code(bits)?;
            output[place] = code.byte;
            place += 1;
            bits <<= code.length;
            count -= u32::from(code.length);
        }
    }
    for byte in input {
        bits |= u64::from(*byte) << (56 - count);
        count += 8;
    }
    bits |= u64::MAX >> count;
    // RFC 7541 §5.2: the end is filled with less than eight bits, the first of the end's code, which are ones.
    while count >= 8 || bits != u64::MAX {
        let code = first_code(bits)?;
        count = count.checked_sub(u32::from(code.length)).ok_or(CodingError::Huffman)?;
        output[place] = code.byte;
        place += 1;
        bits = !(!bits << code.length);
    }
    Ok(place)
}

/// The code that these bits begin with; that of the end is never sent.
#[inline(always)]
fn first_code(bits: u64) -> Result<Symbol, CodingError> {
    match SHORT[(bits >> 56) as usize] {
        Symbol { length: 0, .. } => long_code((bits >> 32) as u32),
        code => Ok(code),
    }
}

/// The code of more than eight bits that these 32 begin with.
#[inline(never)]
fn long_code(bits: u32) -> Result<Symbol, CodingError> {
    let mut length = 9;
    while length < LONGEST && bits >= AFTER[length] {
        length += 1;
    }
    let before = (AFTER[length - 1] >> (32 - length)) as usize;
    let symbol = ORDER[FIRST[length] + (bits >> (32 - length)) as usize - before];
    let byte = u8::try_from(symbol).map_err(|_| CodingError::Huffman)?;
    Ok(Symbol { byte, length: length as u8 })
}

/// A code and the number of its bits.
#[derive(Clone, Copy)]
struct Code {
    bits: u32,
    length: u8,
}

/// The byte that a code stands for, and the number of its bits.
#[derive(Clone, Copy)]
struct Symbol {
    byte: u8,
    length: u8,
}

/// The symbols in the order of their codes.
const ORDER: [u16; LENGTHS.len()] = {
    let mut order = [0; LENGTHS.len()];
    let (mut place, mut length) = (0, 0);
    while length <= LONGEST {
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                order[place] = symbol as u16;
                place += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    order
};

/// For each length, how many symbols have a shorter code.
const FIRST: [usize; LONGEST + 1] = {
    let mut first = [0; LONGEST + 1];
    let mut symbol = 0;
    while symbol < LENGTHS.len() {
        let mut length = LENGTHS[symbol] as usize + 1;
        while length <= LONGEST {
            first[length] += 1;
            length += 1;
        }
        symbol += 1;
    }
    first
};

/// The code of each symbol.
static CODES: [Code; LENGTHS.len()] = codes();

const fn codes() -> [Code; LENGTHS.len()] {
    let mut codes = [Code { bits: 0, length: 0 }; LENGTHS.len()];
    let (mut next, mut place, mut before) = (0_u64, 0, 0);
    while place < LENGTHS.len() {
        let symbol = ORDER[place] as usize;
        let length = LENGTHS[symbol];
        next <<= length - before;
        before = length;
        codes[symbol] = Code { bits: next as u32, length };
        next += 1;
        place += 1;
    }
    // No code is left over, as in every Huffman code: a slip in the lengths shows here.
    assert!(next == 1 << before);
    codes
}

/// For each length, the 32 bits that follow those that begin with a code of that length or shorter.
const AFTER: [u32; LONGEST + 1] = {
    let codes = codes();
    let mut after = [0; LONGEST + 1];
    let mut length = 1;
    while length < LONGEST {
        after[length] = after[length - 1];
        let end = FIRST[length + 1];
        if end > FIRST[length] {
            let last = codes[ORDER[end - 1] as usize].bits;
            after[length] = (last + 1) << (32 - length);
        }
        length += 1;
    }
    after
};

/// The symbol whose code eight bits begin with; none where the code is longer.
static SHORT: [Symbol; 256] = {
    let codes = codes();
    let mut short = [Symbol { byte: 0, length: 0 }; 256];
    let mut symbol = 0;
    while symbol < 256 {
        let Code { bits, length } = codes[symbol];
        if length <= 8 {
            let mut rest = 0;
            while rest < 1 << (8 - length) {
                short[(bits << (8 - length)) as usize + rest] = Symbol { byte: symbol as u8, length };
                rest += 1;
            }
        }
        symbol += 1;
    }
    short
};

/// Bits of the longest codes.
const LONGEST: usize = 30;

/// RFC 7541, Appendix B: how many bits the code of each byte has, and that of the end.
#[rustfmt::skip]
static LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
     6, 10, 10, 12, 13,  6,  8, 11, 10, 10,  8, 11,  8,  6,  6,  6,
     5,  5,  5,  6,  6,  6,  6,  6,  6,  6,  7,  8, 15,  6, 12, 10,
    13,  6,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,  7,
     7,  7,  7,  7,  7,  7,  7,  7,  8,  7,  8, 13, 19, 13, 14,  6,
    15,  5,  6,  5,  6,  5,  6,  6,  6,  5,  7,  7,  6,  6,  6,  5,
     6,  7,  6,  5,  5,  6,  7,  7,  7,  7,  7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;

    use super::*;

    fn encoded(text: &[u8]) -> Vec<u8> {
        let mut output = Vec::new();
        encode(text.iter().copied(), &mut output);
        assert_eq!(output.len(), encoded_length(text.iter().copied()));
        output
    }

    fn decoded(code: &[u8]) -> Result<Vec<u8>, CodingError> {
        let mut output = alloc::vec![b'x'];
        decode(code, &mut output)?;
        Ok(output.split_off(1))
    }

    #[test]
    fn codes_are_those_of_the_rfc() {
        // One of each length.
        for (symbol, bits, length) in [
            (48, 0x0, 5),
            (32, 0x14, 6),
            (58, 0x5c, 7),
            (38, 0xf8, 8),
            (33, 0x3f8, 10),
            (39, 0x7fa, 11),
            (35, 0xffa, 12),
            (0, 0x1ff8, 13),
            (94, 0x3ffc, 14),
            (60, 0x7ffc, 15),
            (92, 0x7fff0, 19),
            (128, 0xfffe6, 20),
            (153, 0x1fffdc, 21),
            (129, 0x3fffd2, 22),
            (1, 0x7fffd8, 23),
            (9, 0xffffea, 24),
            (199, 0x1ffffec, 25),
            (192, 0x3ffffe0, 26),
            (203, 0x7ffffde, 27),
            (2, 0xfffffe2, 28),
            (10, 0x3fff_fffc, 30),
            (256, 0x3fff_ffff, 30),
        ] {
            let code = CODES[symbol];
            assert_eq!((code.bits, code.length), (bits, length), "{symbol}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
    fn every_pair_of_bytes_comes_back() {
        for first in 0..=255 {
            assert_eq!(decoded(&encoded(&[first])).unwrap(), [first]);
            for second in 0..=255 {
                let text = [first, second, b'a'];
                assert_eq!(decoded(&encoded(&text)).unwrap(), text);
            }
        }
        assert_eq!(decoded(&[]).unwrap(), b"");
    }

    /// The text that a code of two bytes stands for, found bit by bit.
    fn decoded_slowly(code: u16, symbols: &BTreeMap<(u8, u32), u8>) -> Option<Vec<u8>> {
        let (mut text, mut bits, mut length) = (Vec::new(), 0, 0);
        for place in (0..16).rev() {
            bits = bits << 1 | u32::from(code >> place & 1);
            length += 1;
            if let Some(symbol) = symbols.get(&(length, bits)) {
                text.push(*symbol);
                (bits, length) = (0, 0);
            }
        }
        (length < 8 && bits + 1 == 1 << length).then_some(text)
    }

    #[test]
    #[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
    fn two_bytes_of_any_kind_are_what_they_are_bit_by_bit() {
        let symbols = (0..=255).map(|byte| (CODES[usize::from(byte)], byte));
        let symbols: BTreeMap<_, _> = symbols.map(|(code, byte)| ((code.length, code.bits), byte)).collect();
        for code in 0..=u16::MAX {
            assert_eq!(decoded(&code.to_be_bytes()).ok(), decoded_slowly(code, &symbols), "{code:#x}");
        }
    }

    #[test]
    fn the_end_is_an_error_wherever_it_stands() {
        for before in 0..20 {
            let text = alloc::vec![b'0'; before];
            let mut code = encoded(&text);
            // The padding is the beginning of the end's code.
            code.extend_from_slice(&[0xff; 4]);
            assert_eq!(decoded(&code), Err(CodingError::Huffman));
            code.push(0);
            assert_eq!(decoded(&code), Err(CodingError::Huffman));
        }
    }
}
