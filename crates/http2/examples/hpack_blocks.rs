//! Encodes what it reads, for others to decode. Lines of the input:
//!
//! - `story`: another connection begins;
//! - `capacity NUMBER`: the peer's SETTINGS_HEADER_TABLE_SIZE;
//! - `field NAME VALUE`, both in hexadecimal behind an `x` each;
//! - `block`: the fields up to here are one; it is written, in hexadecimal, as a line.

use std::io::{self, BufWriter, Read, Write};

use serow_http2::hpack::{Encoder, Pseudo};
use serow_message::KnownHeader;

const PSEUDO: [Pseudo; 6] =
    [Pseudo::Authority, Pseudo::Method, Pseudo::Path, Pseudo::Protocol, Pseudo::Scheme, Pseudo::Status];

fn main() -> io::Result<()> {
    let mut input = String::new();
    io::stdin().read_to_string(&mut input)?;
    let mut output = BufWriter::new(io::stdout().lock());
    let (mut encoder, mut block) = (Encoder::new(), Vec::new());
    for line in input.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["story"] => encoder = Encoder::new(),
            ["capacity", number] => encoder.set_capacity(number.parse().map_err(io::Error::other)?),
            ["field", name, value] => encode(&mut encoder, &unhex(name)?, &unhex(value)?, &mut block),
            ["block"] => {
                for byte in block.drain(..) {
                    write!(output, "{byte:02x}")?;
                }
                writeln!(output)?;
            }
            _ => return Err(io::Error::other(format!("what is {line:?}?"))),
        }
    }
    output.flush()
}

fn encode(encoder: &mut Encoder, name: &[u8], value: &[u8], block: &mut Vec<u8>) {
    match PSEUDO.into_iter().find(|pseudo| pseudo.as_str().as_bytes() == name) {
        Some(pseudo) => encoder.encode_pseudo(pseudo, value, block),
        None => encoder.encode(name, KnownHeader::recognise(name), value, block),
    }
}

fn unhex(word: &str) -> io::Result<Vec<u8>> {
    let digits = word.strip_prefix('x').ok_or_else(|| io::Error::other("no x"))?;
    let pairs = digits.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).map_err(io::Error::other));
    pairs.map(|pair| u8::from_str_radix(pair?, 16).map_err(io::Error::other)).collect()
}
