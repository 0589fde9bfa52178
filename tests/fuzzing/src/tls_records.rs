//! A peer that has shaken hands and then keeps to no rules, on either side: whatever it seals, nothing breaks, what is
//! data comes as it was sent, and what it does not read does not pile up.

use std::cell::RefCell;

use arbitrary::Arbitrary;
use bytes::BytesMut;
use serow_tls::{MAX_RECORD_PLAINTEXT, TlsError};

use self::{ends::Ends, forger::Record};
use crate::with_value;

mod ends;
mod forger;

#[derive(Debug, Arbitrary)]
struct Script {
    is_13: bool,
    /// Whether ours is the client's side.
    is_client: bool,
    /// How many bytes come at once.
    piece: u16,
    steps: Vec<Step>,
}

#[derive(Debug, Arbitrary)]
enum Step {
    Record {
        kind: u8,
        content: Vec<u8>,
        zeroes: u8,
    },
    Data {
        length: u16,
        zeroes: u8,
    },
    KeyUpdate {
        request_update: bool,
    },
    Ticket {
        length: u8,
    },
    Alert {
        level: u8,
        description: u8,
    },
    /// Bytes that no side has encrypted.
    Raw(Vec<u8>),
    Seal {
        length: u16,
        record: u16,
    },
    Close,
}

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(script: Script) {
    let (mut session, mut forger) =
        ENDS.with_borrow(|ends| if script.is_client { ends.connect(script.is_13) } else { ends.accept(script.is_13) });
    let (mut received, mut plaintext, mut sealed) = (BytesMut::new(), BytesMut::new(), Vec::new());
    let (mut expected, mut closed, mut raw) = (Vec::new(), false, false);
    for step in script.steps {
        let record = match step {
            Step::Record { kind, content, zeroes } => forger.record(kind, content, zeroes),
            Step::Data { length, zeroes } => forger.record(DATA, vec![7; usize::from(length % 17_000)], zeroes),
            Step::KeyUpdate { request_update } => {
                forger.record(HANDSHAKE, vec![KEY_UPDATE, 0, 0, 1, u8::from(request_update)], 0)
            }
            Step::Ticket { length } => {
                let mut message = vec![TICKET, 0, 0, 13u8.saturating_add(length), 0, 0, 1, 0, 1, 2, 3, 4, 0, 0, length];
                message.resize(message.len() + usize::from(length) + 2, 0);
                forger.record(HANDSHAKE, message, 0)
            }
            Step::Alert { level, description } => forger.record(ALERT, vec![level, description], 0),
            Step::Raw(bytes) => Record { bytes, kind: 0, content: Vec::new() },
            Step::Seal { length, record } => {
                let outcome = session.seal(&vec![1; usize::from(length)], usize::from(record), &mut sealed);
                assert!(outcome.is_ok() || outcome == Err(TlsError::NotEstablished));
                sealed.clear();
                continue;
            }
            Step::Close => {
                let before = sealed.len();
                session.close(&mut sealed);
                assert!(sealed.len() - before <= MAX_ALERT_LENGTH);
                sealed.clear();
                continue;
            }
        };
        raw |= record.kind == 0 && !record.bytes.is_empty();
        let before = sealed.len();
        for piece in record.bytes.chunks(usize::from(script.piece).max(1)) {
            received.extend_from_slice(piece);
            if session.receive(&mut received, &mut plaintext, &mut sealed).is_err() {
                assert!(!session.is_established() && sealed.len() - before <= MAX_ALERT_LENGTH);
                assert!(plaintext == expected, "{} bytes for {}", plaintext.len(), expected.len());
                return;
            }
            assert!(received.len() < 5 + MAX_RECORD_PLAINTEXT + 256);
        }
        // Behind bytes of nobody's nothing can be opened; and whoever has said goodbye is heard no more.
        if raw {
            assert!(plaintext == expected, "{} bytes for {}", plaintext.len(), expected.len());
            continue;
        }
        if !closed && record.kind == DATA {
            expected.extend_from_slice(&record.content);
        }
        closed |= session.is_closed_by_peer();
        forger.note_accepted(&record);
        assert!(plaintext == expected, "{} bytes for {}", plaintext.len(), expected.len());
        assert!(sealed.len() - before <= MAX_ALERT_LENGTH && received.is_empty());
    }
}

thread_local! {
    static ENDS: RefCell<Ends> = RefCell::new(Ends::new());
}

const DATA: u8 = 23;
const HANDSHAKE: u8 = 22;
const KEY_UPDATE: u8 = 24;
const TICKET: u8 = 4;
const ALERT: u8 = 21;

/// In TLS 1.2: a header, an explicit nonce, two bytes and a tag.
const MAX_ALERT_LENGTH: usize = 5 + 8 + 2 + 16;
