//! The stories of hpack-test-case: what fourteen other encoders wrote is decoded, and what we write of the same fields
//! too.

mod story;

use crate::hpack::reader::decode;
use crate::suites::Suite;
use serow_http2::hpack::{Decoder, Encoder, Pseudo};
use serow_message::KnownHeader;
use story::Case;

/// The folder within the archive.
const ROOT: &str = "http2jp+hpack-test-case";

const PSEUDO: [Pseudo; 5] = [Pseudo::Authority, Pseudo::Method, Pseudo::Path, Pseudo::Scheme, Pseudo::Status];

#[test]
fn stories() {
    let Some(suite) = Suite::unpack("hpack-test-case") else { return };
    let mut decoded = 0;
    let mut blocks = 0;
    let mut encoded = (0, 0);
    for (name, text) in suite.files(ROOT) {
        if !name.ends_with(".json") {
            continue;
        }
        let cases = story::parse(&text);
        if name.starts_with("raw-data/") {
            for (sum, bytes) in [&mut encoded.0, &mut encoded.1].into_iter().zip(encode_and_decode(&name, &cases)) {
                *sum += bytes;
            }
            continue;
        }
        let mut decoder = Decoder::new(4096);
        for (number, case) in cases.iter().enumerate() {
            if let Some(capacity) = case.capacity {
                decoder.set_capacity(capacity);
            }
            let wire = case.wire.as_ref().expect("a block to decode");
            check(&mut decoder, wire, case, &format!("{name}, case {number}"));
            blocks += 1;
        }
        decoded += 1;
    }
    println!("{decoded} stories of {blocks} blocks; encoded, {} bytes become {}", encoded.0, encoded.1);
    assert_eq!(decoded, 446);
    assert!(encoded.1 * 3 < encoded.0, "{encoded:?}");
}

/// Encodes a story and decodes it; says how many bytes it had before and after.
fn encode_and_decode(name: &str, cases: &[Case]) -> [usize; 2] {
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
    let mut sizes = [0, 0];
    for (number, case) in cases.iter().enumerate() {
        let mut block = Vec::new();
        for (name, value) in &case.fields {
            match PSEUDO.into_iter().find(|pseudo| pseudo.as_str().as_bytes() == name) {
                Some(pseudo) => encoder.encode_pseudo(pseudo, value, &mut block),
                None => encoder.encode(name, KnownHeader::recognise(name), value, &mut block),
            }
            sizes[0] += name.len() + value.len();
        }
        sizes[1] += block.len();
        check(&mut decoder, &block, case, &format!("{name}, case {number}"));
    }
    sizes
}

fn check(decoder: &mut Decoder, block: &[u8], case: &Case, what: &str) {
    let lines = decode(decoder, block).unwrap_or_else(|error| panic!("{what}: {error}"));
    let fields: Vec<(Vec<u8>, Vec<u8>)> = lines.into_iter().map(|line| (line.name, line.value)).collect();
    assert!(fields == case.fields, "{what}");
}
