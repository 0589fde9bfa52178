//! Fields that are encoded are decoded as they were, while the size of the table changes.

use std::ops::ControlFlow;

use arbitrary::Arbitrary;
use serow_http2::hpack::{Decoder, Encoder, Pseudo};
use serow_message::{KnownHeader, StatusCode};

use crate::with_value;

#[derive(Arbitrary, Debug)]
enum Operation<'a> {
    /// The decoding side announces it, and has it acknowledged.
    Announce(u16),
    Block(Vec<Field<'a>>),
}

#[derive(Arbitrary, Debug)]
enum Field<'a> {
    Status(u16),
    Pseudo(u8, Value<'a>),
    Common(u8, Value<'a>),
    Other(&'a [u8], Value<'a>),
}

#[derive(Arbitrary, Debug)]
enum Value<'a> {
    /// One of few, so that it comes again.
    Few(u8),
    Long(u16),
    Any(&'a [u8]),
}

impl Value<'_> {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Few(number) => vec![b'a' + number % 4; usize::from(number % 64)],
            Self::Long(length) => vec![b'x'; usize::from(length % 5000)],
            Self::Any(bytes) => bytes.to_vec(),
        }
    }
}

const PSEUDO: [Pseudo; 6] =
    [Pseudo::Authority, Pseudo::Method, Pseudo::Path, Pseudo::Protocol, Pseudo::Scheme, Pseudo::Status];

const COMMON: [&str; 12] = [
    "accept-encoding",
    "Authorization",
    "Content-Type",
    "content-length",
    "cookie",
    "Date",
    "etag",
    "set-cookie",
    "server",
    "X-One",
    "x-two",
    "Refresh",
];

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(operations: Vec<Operation<'_>>) {
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
    for operation in operations {
        match operation {
            Operation::Announce(capacity) => {
                encoder.set_capacity(capacity.into());
                decoder.set_capacity(capacity.into());
            }
            Operation::Block(fields) if fields.is_empty() => {}
            Operation::Block(fields) => send(&fields, &mut encoder, &mut decoder),
        }
    }
}

fn send(fields: &[Field<'_>], encoder: &mut Encoder, decoder: &mut Decoder) {
    let (mut block, mut expected) = (Vec::new(), Vec::new());
    for field in fields {
        let sent = encode(field, encoder, &mut block);
        expected.push(sent);
    }
    let mut decoded = Vec::new();
    let outcome = decoder.decode(&block, |field| {
        decoded.push((field.name.to_vec(), field.value.to_vec()));
        ControlFlow::Continue(())
    });
    assert_eq!(outcome, Ok(()), "{block:x?}");
    assert_eq!(decoded, expected);
}

/// Encodes a field; says what is to come out.
fn encode(field: &Field<'_>, encoder: &mut Encoder, block: &mut Vec<u8>) -> (Vec<u8>, Vec<u8>) {
    match field {
        Field::Status(number) => {
            let status = StatusCode::from_u16(100 + number % 900).expect("a status");
            encoder.encode_status(status, block);
            (b":status".to_vec(), status.as_str().into())
        }
        Field::Pseudo(number, value) => {
            let pseudo = PSEUDO[usize::from(*number) % PSEUDO.len()];
            encoder.encode_pseudo(pseudo, &value.bytes(), block);
            (pseudo.as_str().into(), value.bytes())
        }
        Field::Common(number, value) => {
            let name = COMMON[usize::from(*number) % COMMON.len()].as_bytes();
            encoder.encode(name, KnownHeader::recognise(name), &value.bytes(), block);
            (name.to_ascii_lowercase(), value.bytes())
        }
        Field::Other(name, value) => {
            encoder.encode(name, None, &value.bytes(), block);
            (name.to_ascii_lowercase(), value.bytes())
        }
    }
}
