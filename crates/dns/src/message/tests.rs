//! Replies as name servers send them, and as nobody should.

use std::time::Duration;

use super::{InvalidNameError, Question, Record, RecordData, RecordType, Reply};

/// A reply with these flags to a question for the addresses of `app.example`; `\xc0\x0c` is that name, further on.
fn message(flags: u16, answers: u16, rest: &[u8]) -> Vec<u8> {
    let mut message = vec![0x12, 0x34];
    for number in [flags, 1, answers, 0, 0] {
        message.extend_from_slice(&number.to_be_bytes());
    }
    message.extend_from_slice(b"\x03app\x07example\0\0\x01\0\x01");
    message.extend_from_slice(rest);
    message
}

fn address(text: &str, seconds: u64) -> Record {
    Record { data: RecordData::Address(text.parse().unwrap()), ttl: Duration::from_secs(seconds) }
}

#[test]
fn questions_are_encoded() {
    let question = Question::new("App.example.", RecordType::Srv).unwrap();
    assert_eq!(question.write(0x1234), b"\x124\x01\0\0\x01\0\0\0\0\0\0\x03app\x07example\0\0\x21\0\x01");
    let long = format!("{}.example", "a".repeat(64));
    let longer = ["a".repeat(63).as_str(); 4].join(".");
    for name in ["", ".", "a..b", "a b", "bücher.example", &long, &longer] {
        assert_eq!(Question::new(name, RecordType::A), Err(InvalidNameError), "{name}");
    }
}

#[test]
fn replies_are_parsed() {
    let answer = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x01";
    let second = b"\x03APP\x07example\0\0\x01\0\x01\0\0\0\x05\0\x04\x0a\0\0\x02";
    let alias =
        b"\xc0\x0c\0\x05\0\x01\0\0\0\x07\0\x04\x01b\xc0\x10\x01b\xc0\x10\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x03";
    let of_another = b"\x01b\xc0\x10\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x03";
    let of_another_kind = b"\xc0\x0c\0\x10\0\x01\0\0\0\x3c\0\x02\x01a";
    let cases = [
        (0x8180, 1, answer.to_vec(), Some(Reply::Records(vec![address("10.0.0.1", 60)]))),
        (
            0x8180,
            2,
            [answer.as_slice(), second].concat(),
            Some(Reply::Records(vec![address("10.0.0.1", 60), address("10.0.0.2", 5)])),
        ),
        (0x8180, 2, alias.to_vec(), Some(Reply::Records(vec![address("10.0.0.3", 7)]))),
        (0x8180, 1, of_another.to_vec(), Some(Reply::Records(vec![]))),
        (0x8180, 2, [of_another_kind.as_slice(), answer].concat(), Some(Reply::Records(vec![address("10.0.0.1", 60)]))),
        (0x8180, 0, vec![], Some(Reply::Records(vec![]))),
        (0x8183, 0, vec![], Some(Reply::NoSuchName)),
        (0x8182, 0, vec![], Some(Reply::Refused(2))),
        (0x8380, 0, vec![], Some(Reply::Truncated)),
        // A query is not a reply.
        (0x0100, 0, vec![], None),
        // Truncated.
        (0x8180, 1, vec![], None),
        (0x8180, 1, answer[..15].to_vec(), None),
        (0x8180, 2, answer.to_vec(), None),
        // Records whose length field is wrong, and a dot within a label.
        (0x8180, 1, b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x03\x0a\0\0\x01".to_vec(), None),
        (0x8180, 1, b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x05\x0a\0\0\x01\0".to_vec(), None),
        (0x8180, 1, b"\xc0\x0c\0\x05\0\x01\0\0\0\x07\0\x05\x01b\xc0\x10\0".to_vec(), None),
        (0x8180, 1, b"\x0bapp.example\0\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x01".to_vec(), None),
        // A name that points at itself, forward, or to the start of a name that it is part of.
        (0x8180, 1, b"\xc0\x1d\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x01".to_vec(), None),
        (0x8180, 1, b"\xc0\xff\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x01".to_vec(), None),
        (0x8180, 1, b"\x01a\xc0\x1d\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x01".to_vec(), None),
        (0x8180, 1, b"\x80a\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x01".to_vec(), None),
    ];
    let question = Question::new("app.example", RecordType::A).unwrap();
    for (number, (flags, answers, rest, expected)) in cases.into_iter().enumerate() {
        assert_eq!(question.read_reply(&message(flags, answers, &rest), 0x1234), expected, "case {number}");
    }
    let good = message(0x8180, 1, answer);
    assert_eq!(question.read_reply(&good, 0x1235), None);
    let mut other_class = good.clone();
    other_class[28] = 3;
    assert_eq!(question.read_reply(&other_class, 0x1234), None);
    for other in [Question::new("app.example", RecordType::Aaaa), Question::new("app.examples", RecordType::A)] {
        assert_eq!(other.unwrap().read_reply(&good, 0x1234), None);
    }
}

#[test]
fn srv_records_are_parsed() {
    let question = Question::new("_http._tcp.example", RecordType::Srv).unwrap();
    let mut message = question.write(1);
    message[2] = 0x81;
    message[7] = 2;
    message.extend_from_slice(b"\xc0\x0c\0\x21\0\x01\0\0\0\x0a\0\x0a\0\x05\0\x07\x1f\x90\x01b\xc0\x17");
    message.extend_from_slice(b"\xc0\x0c\0\x21\0\x01\0\0\0\x0a\0\x07\0\0\0\0\0\0\0");
    let service = |priority, weight, port, host: &str| Record {
        data: RecordData::Service { priority, weight, port, host: host.to_owned() },
        ttl: Duration::from_secs(10),
    };
    let expected = vec![service(5, 7, 8080, "b.example"), service(0, 0, 0, "")];
    assert_eq!(question.read_reply(&message, 1), Some(Reply::Records(expected)));
}

/// Parsing damaged messages terminates and returns nothing wrong: every byte is changed in turn, and every prefix is
/// parsed.
#[test]
#[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
fn nonsense_is_refused_in_order() {
    let alias =
        b"\xc0\x0c\0\x05\0\x01\0\0\0\x07\0\x04\x01b\xc0\x10\x01b\xc0\x10\0\x01\0\x01\0\0\0\x3c\0\x04\x0a\0\0\x03";
    let good = message(0x8180, 2, alias);
    let question = Question::new("app.example", RecordType::A).unwrap();
    let read = |message: &[u8]| question.read_reply(message, 0x1234);
    let mut refused = 0;
    for place in 0..good.len() {
        assert!(!matches!(read(&good[..place]), Some(Reply::Records(_))), "cut at {place}");
        for value in 0..=255 {
            let mut bad = good.clone();
            bad[place] = value;
            refused += usize::from(read(&bad).is_none());
        }
    }
    assert!(refused > 1000, "{refused}");
}
