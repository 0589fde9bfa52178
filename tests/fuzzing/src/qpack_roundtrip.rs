//! Fields that are encoded are decoded as they were, in whatever order the streams arrive, and whatever the peer's decoder stream says, the
//! encoder refuses it or goes on.

use std::{
    collections::{BTreeMap, VecDeque},
    ops::ControlFlow,
};

use arbitrary::Arbitrary;
use serow_http3::{
    StreamId,
    qpack::{Decoded, Decoder, Encoder, Name},
};
use serow_message::KnownHeader;

use crate::with_value;

#[derive(Arbitrary, Debug)]
enum Operation<'a> {
    Send(Vec<Field<'a>>),
    DeliverInstructions(u8),
    DeliverSection(u8),
    DeliverAcknowledgements(u8),
    Reset(u8),
}

#[derive(Arbitrary, Debug)]
enum Field<'a> {
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

impl Field<'_> {
    fn line(&self) -> (Vec<u8>, Vec<u8>) {
        match self {
            Self::Common(number, value) => (COMMON[usize::from(*number) % COMMON.len()].into(), value.bytes()),
            Self::Other(name, value) => (name.to_vec(), value.bytes()),
        }
    }
}

const COMMON: [&str; 14] = [
    ":path",
    ":status",
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

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(input: (u16, u8, &[u8], Vec<Operation<'_>>)) {
    let (capacity, blocked, hostile, operations) = input;
    let (capacity, blocked) = (usize::from(capacity % 6000), usize::from(blocked % 8));
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(capacity, blocked));
    encoder.set_limits(capacity, blocked);
    let (mut instructions, mut acknowledgements) = (VecDeque::new(), VecDeque::new());
    let mut sections = BTreeMap::new();
    for (number, operation) in operations.into_iter().enumerate() {
        match operation {
            Operation::Send(fields) => {
                let fields: Fields = fields.iter().map(Field::line).collect();
                let stream = StreamId::of_quic(number as u64 * 4);
                sections.insert(stream, encode(&mut encoder, stream, fields));
                let mut output = Vec::new();
                encoder.write(&mut output);
                instructions.extend(output);
            }
            Operation::DeliverInstructions(length) => {
                decoder.receive(&take(&mut instructions, length)).expect("what we write can be read");
            }
            Operation::DeliverAcknowledgements(length) => {
                let mut output = Vec::new();
                decoder.write(&mut output);
                acknowledgements.extend(output);
                encoder.receive(&take(&mut acknowledgements, length)).expect("what we write can be read");
            }
            Operation::DeliverSection(place) => deliver(place, &mut decoder, &mut sections),
            Operation::Reset(place) => {
                if let Some(stream) = stream(place, &sections) {
                    sections.remove(&stream);
                    decoder.cancel(stream);
                }
            }
        }
    }
    decoder.receive(&take(&mut instructions, u8::MAX)).expect("what we write can be read");
    while !sections.is_empty() {
        deliver(0, &mut decoder, &mut sections);
    }
    let _ = encoder.receive(hostile);
    encode(&mut encoder, StreamId::of_quic(1 << 40), vec![(b"server".into(), b"serow".into())]);
}

/// The first bytes of a stream; all of them for 255.
fn take(bytes: &mut VecDeque<u8>, length: u8) -> Vec<u8> {
    let length = if length == u8::MAX { bytes.len() } else { bytes.len().min(length.into()) };
    bytes.drain(..length).collect()
}

fn stream<T>(place: u8, sections: &BTreeMap<StreamId, T>) -> Option<StreamId> {
    sections.keys().nth(usize::from(place) % sections.len().max(1)).copied()
}

fn encode(encoder: &mut Encoder, stream: StreamId, mut fields: Fields) -> (Vec<u8>, Fields) {
    let mut block = Vec::new();
    let mut section = encoder.begin(stream, &mut block);
    for (name, value) in &fields {
        match Name::recognise(name) {
            Name::Pseudo(pseudo) => section.encode_pseudo(pseudo, value),
            _ => section.encode(name, KnownHeader::recognise(name), value),
        }
    }
    section.finish();
    fields.iter_mut().for_each(|(name, _)| name.make_ascii_lowercase());
    (block, fields)
}

/// Decodes a section that has arrived, unless it is blocked.
fn deliver(place: u8, decoder: &mut Decoder, sections: &mut BTreeMap<StreamId, (Vec<u8>, Fields)>) {
    let Some(stream) = stream(place, sections) else { return };
    let (section, expected) = &sections[&stream];
    let mut fields = Fields::new();
    let decoded = decoder.decode(stream, section, |field| {
        fields.push((field.name.to_vec(), field.value.to_vec()));
        ControlFlow::Continue(())
    });
    if decoded.expect("what we write can be read") == Decoded::Whole {
        assert_eq!(&fields, expected);
        sections.remove(&stream);
    }
}
