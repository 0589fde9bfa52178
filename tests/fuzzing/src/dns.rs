//! Answers of a name server that keeps to no rules: nothing breaks, nothing takes long, and what is understood is not more than was
//! sent.

use serow_dns::message::{Question, RecordData, RecordType, Reply};

use crate::with_value;

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(input: (u8, u16, &[u8])) {
    let (kind, flags, behind) = input;
    let kind = KINDS[usize::from(kind) % KINDS.len()];
    let Ok(question) = Question::new("a.example", kind) else { return };
    let _ = question.read_reply(behind, ID);
    // An answer to the question, with records of the fuzzer's: as many as it says.
    let mut answer = question.write(ID);
    answer[2..4].copy_from_slice(&(flags | RESPONSE).to_be_bytes());
    let (count, records) = behind.split_at(behind.len().min(2));
    answer[6..6 + count.len()].copy_from_slice(count);
    answer.extend_from_slice(records);
    let Some(Reply::Records(found)) = question.read_reply(&answer, ID) else { return };
    assert!(found.len() * MIN_RECORD <= records.len());
    for record in found {
        assert!(record.ttl.as_secs() <= u64::from(u32::MAX));
        match (record.data, kind) {
            (RecordData::Address(address), RecordType::A) => assert!(address.is_ipv4()),
            (RecordData::Address(address), RecordType::Aaaa) => assert!(address.is_ipv6()),
            (RecordData::Service { host, .. }, RecordType::Srv) => {
                assert!(host.len() <= MAX_NAME_LENGTH);
                assert!(!host.bytes().any(|byte| byte.is_ascii_uppercase()), "{host:?}");
            }
            (RecordData::Host(host), RecordType::Ns | RecordType::Cname) => assert!(host.len() <= MAX_NAME_LENGTH),
            (RecordData::Text(text), RecordType::Txt) => assert!(text.len() < records.len()),
            (RecordData::StartOfZone, RecordType::Soa) => {}
            found => panic!("{found:?}"),
        }
    }
}

const KINDS: [RecordType; 7] = [
    RecordType::A,
    RecordType::Aaaa,
    RecordType::Srv,
    RecordType::Ns,
    RecordType::Cname,
    RecordType::Soa,
    RecordType::Txt,
];
const ID: u16 = 0x1234;
/// RFC 1035 §4.1.1.
const RESPONSE: u16 = 0x8000;
/// A name that points to another, type, class, time and length (RFC 1035 §4.1.3, §4.1.4).
const MIN_RECORD: usize = 12;
/// Without the dot at the end (RFC 1035 §2.3.4).
const MAX_NAME_LENGTH: usize = 253;
