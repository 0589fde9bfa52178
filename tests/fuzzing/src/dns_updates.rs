//! Responses to a signed update, and key files: without the server's key, nothing succeeds, and nothing breaks.

use serow_dns::{
    message::{RecordChange, TextUpdate},
    tsig::{TsigAlgorithm, TsigKey},
};

use crate::with_value;

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(input: (bool, &[u8])) {
    let (is_response, bytes) = input;
    if !is_response {
        if let Ok(key) = String::from_utf8_lossy(bytes).parse::<TsigKey>() {
            assert!(!key.name().is_empty());
        }
        return;
    }
    let Ok(key) = TsigKey::new("serow", TsigAlgorithm::HmacSha256, b"secret") else { return };
    let Ok(update) = TextUpdate::new("example", "a.example", "text", RecordChange::Remove) else { return };
    let request = key.sign(&update.write(ID), TIME);
    assert!(request.verify(&key, bytes, TIME).is_err());
    // The start of a response, with records of the fuzzer's.
    let (counts, records) = bytes.split_at(bytes.len().min(8));
    let mut response = ID.to_be_bytes().to_vec();
    response.extend_from_slice(&RESPONSE_TO_UPDATE);
    response.extend_from_slice(counts);
    response.extend_from_slice(records);
    assert!(request.verify(&key, &response, TIME).is_err());
}

const ID: u16 = 0x1234;
const TIME: u64 = 1_800_000_000;
/// RFC 2136 §2.2: a response, operation 5, without an error.
const RESPONSE_TO_UPDATE: [u8; 2] = [0xa8, 0];
