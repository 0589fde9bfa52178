//! Updates that nsupdate signed, and the responses of BIND's named: `tests/updates`, written by `capture` there.

use std::{collections::HashMap, fs};

use data_encoding::{BASE64, HEXLOWER};

use super::{FUDGE, SignedMessage, TsigError, TsigKey};
use crate::message::{RecordChange, TextUpdate};

/// A captured update and its response.
struct Case {
    key: TsigKey,
    time: u64,
    update: TextUpdate,
    request: Vec<u8>,
    response: Vec<u8>,
}

impl Case {
    fn read(name: &str) -> Self {
        let path = format!("{}/tests/updates/{name}.txt", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(path).unwrap();
        let fields: HashMap<_, _> = text.lines().map(|line| line.split_once(' ').unwrap()).collect();
        let bytes = |name: &str| HEXLOWER.decode(fields[name].as_bytes()).unwrap();
        let change = match fields["change"] {
            "add" => RecordChange::Add { ttl: 60 },
            _ => RecordChange::Remove,
        };
        let secret = BASE64.decode(fields["secret"].as_bytes()).unwrap();
        Self {
            key: TsigKey::new(fields["key"], fields["algorithm"].parse().unwrap(), &secret).unwrap(),
            time: fields["time"].parse().unwrap(),
            update: TextUpdate::new(fields["zone"], fields["name"], fields["value"], change).unwrap(),
            request: bytes("request"),
            response: bytes("response"),
        }
    }

    fn signed(&self) -> SignedMessage {
        let id = u16::from_be_bytes(*self.request.first_chunk().unwrap());
        self.key.sign(&self.update.write(id), self.time)
    }
}

#[test]
fn updates_and_responses_are_those_of_bind() {
    let hour = 3600;
    let wrong_time = TsigError::WrongTime { signed: 0, server: Some(hour) };
    for (name, expected) in [
        ("add-hmac-sha256", Ok(())),
        ("add-hmac-sha384", Ok(())),
        ("add-hmac-sha512", Ok(())),
        ("delete", Ok(())),
        ("unknown-key", Err(TsigError::UnknownKey)),
        ("wrong-secret", Err(TsigError::WrongSecret)),
        ("wrong-time", Err(wrong_time)),
        ("name-refused", Err(TsigError::Rejected(5))),
        ("other-zone", Err(TsigError::Rejected(9))),
    ] {
        let case = Case::read(name);
        let signed = case.signed();
        assert_eq!(HEXLOWER.encode(signed.bytes()), HEXLOWER.encode(&case.request), "{name}");
        let mut outcome = signed.verify(&case.key, &case.response, case.time);
        if let Err(TsigError::WrongTime { signed, server }) = &mut outcome {
            server.iter_mut().for_each(|server| *server -= *signed);
            *signed = 0;
        }
        assert_eq!(outcome, expected, "{name}");
    }
    assert_eq!(wrong_time.to_string(), "its clock is 3600s ahead (BADTIME): set the clocks");
}

#[test]
fn responses_that_somebody_else_makes_are_refused() {
    let case = Case::read("add-hmac-sha256");
    let (signed, good) = (case.signed(), &case.response);
    let verify = |response: &[u8], now| signed.verify(&case.key, response, now);
    assert_eq!(verify(good, case.time + u64::from(FUDGE)), Ok(()));
    let late = case.time + u64::from(FUDGE) + 1;
    assert_eq!(verify(good, late), Err(TsigError::OldResponse(case.time)));
    // The response to another request: its id is as expected, and its signature is not.
    let mut of_another = Case::read("delete").response;
    of_another[..2].copy_from_slice(&good[..2]);
    assert_eq!(verify(&of_another, case.time), Err(TsigError::ForgedResponse));
    assert_eq!(verify(&Case::read("delete").response, case.time), Err(TsigError::Malformed));
    assert_eq!(verify(signed.bytes(), case.time), Err(TsigError::Malformed));
    // Without the signature, which is the record after the zone of 17 bytes.
    let mut unsigned = good[..29].to_vec();
    unsigned[11] = 0;
    assert_eq!(verify(&unsigned, case.time), Err(TsigError::Unsigned));
    unsigned[3] = 4;
    assert_eq!(verify(&unsigned, case.time), Err(TsigError::Rejected(4)));
    let other = TsigKey::new("serow-hmac-sha256", case.key.algorithm, b"other").unwrap();
    assert_eq!(signed.verify(&other, good, case.time), Err(TsigError::ForgedResponse));
}

/// Every byte is changed in turn, and every prefix is parsed: no such response is a success.
#[test]
#[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
fn damaged_responses_are_refused() {
    for name in ["add-hmac-sha256", "name-refused", "wrong-time", "unknown-key"] {
        let case = Case::read(name);
        let signed = case.signed();
        for place in 0..case.response.len() {
            assert!(signed.verify(&case.key, &case.response[..place], case.time).is_err(), "{name}, cut at {place}");
            for bit in 0..8 {
                let mut bad = case.response.clone();
                bad[place] ^= 1 << bit;
                let outcome = signed.verify(&case.key, &bad, case.time);
                assert!(outcome.is_err() || is_equivalent(&case.response, place, bit), "{name}, {place}, {bit}");
            }
        }
    }
}

/// Names are signed in lower case (RFC 8945 §4.3.3).
fn is_equivalent(response: &[u8], place: usize, bit: u8) -> bool {
    response[place].is_ascii_alphabetic() && bit == 5
}
