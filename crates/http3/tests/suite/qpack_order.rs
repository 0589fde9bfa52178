//! Property tests: the encoder stream, sections and the decoder stream arrive in any order relative to each other, in pieces
//! of any length, and streams are reset.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use serow_http3::{
    StreamId,
    qpack::{Decoder, Encoder},
};

use crate::{
    machine::compression::field,
    qpack_connection::{Fields, acknowledgements, decode, encode, instructions},
};

/// The two ends, and what is under way between them.
struct Connection {
    encoder: Encoder,
    decoder: Decoder,
    /// The encoder stream and the decoder stream.
    instructions: VecDeque<u8>,
    acknowledgements: VecDeque<u8>,
    /// By stream, the sections that were not decoded, with what they stand for.
    sections: BTreeMap<u64, VecDeque<(Vec<u8>, Fields)>>,
    next_stream: u64,
}

#[derive(Clone, Debug)]
enum Operation {
    /// On a new stream.
    Send(Fields),
    /// Behind another section of a stream, if there is one.
    SendMore(usize, Fields),
    DeliverInstructions(usize),
    DeliverAcknowledgements(usize),
    /// The next section of one of the streams.
    DeliverSection(usize),
    Reset(usize),
}

impl Connection {
    fn new(capacity: usize, blocked: usize) -> Self {
        let mut encoder = Encoder::new();
        encoder.set_limits(capacity, blocked);
        Self {
            encoder,
            decoder: Decoder::new(capacity, blocked),
            instructions: VecDeque::new(),
            acknowledgements: VecDeque::new(),
            sections: BTreeMap::new(),
            next_stream: 0,
        }
    }

    fn execute(&mut self, operation: Operation) {
        match operation {
            Operation::Send(fields) => {
                let stream = self.next_stream;
                self.next_stream += 4;
                self.send(stream, fields);
            }
            Operation::SendMore(place, fields) => {
                if let Some(stream) = self.stream(place) {
                    self.send(stream, fields);
                }
            }
            Operation::DeliverInstructions(length) => {
                let piece: Vec<u8> = self.instructions.drain(..length.min(self.instructions.len())).collect();
                self.decoder.receive(&piece).unwrap();
            }
            Operation::DeliverAcknowledgements(length) => {
                self.acknowledgements.extend(acknowledgements(&mut self.decoder));
                let piece: Vec<u8> = self.acknowledgements.drain(..length.min(self.acknowledgements.len())).collect();
                self.encoder.receive(&piece).unwrap();
            }
            Operation::DeliverSection(place) => {
                if let Some(stream) = self.stream(place) {
                    self.deliver_section(stream);
                }
            }
            Operation::Reset(place) => {
                if let Some(stream) = self.stream(place) {
                    self.sections.remove(&stream);
                    self.decoder.cancel(StreamId::of_quic(stream));
                }
            }
        }
    }

    /// One of the streams that have sections.
    fn stream(&self, place: usize) -> Option<u64> {
        self.sections.keys().nth(place % self.sections.len().max(1)).copied()
    }

    fn send(&mut self, stream: u64, fields: Fields) {
        let section = encode(&mut self.encoder, stream, &fields);
        self.instructions.extend(instructions(&mut self.encoder));
        let expected = fields.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
        self.sections.entry(stream).or_default().push_back((section, expected));
    }

    fn deliver_section(&mut self, stream: u64) {
        let sections = self.sections.get_mut(&stream).unwrap();
        let (section, expected) = sections.front().unwrap();
        if let Some(fields) = decode(&mut self.decoder, stream, section).unwrap() {
            assert_eq!(&fields, expected);
            sections.pop_front();
        }
        if sections.is_empty() {
            self.sections.remove(&stream);
        }
    }

    /// Delivers all that is under way.
    fn settle(&mut self) {
        self.execute(Operation::DeliverInstructions(usize::MAX));
        while let Some((&stream, sections)) = self.sections.iter().next() {
            let before = sections.len();
            self.deliver_section(stream);
            assert!(self.sections.get(&stream).is_none_or(|sections| sections.len() < before), "it stays blocked");
        }
        self.execute(Operation::DeliverAcknowledgements(usize::MAX));
    }
}

fn operation() -> impl Strategy<Value = Operation> {
    let message = || prop::collection::vec(field(), 0..12);
    prop_oneof![
        4 => message().prop_map(Operation::Send),
        1 => (any::<usize>(), message()).prop_map(|(place, fields)| Operation::SendMore(place, fields)),
        3 => prop_oneof![0..8_usize, 0..1000_usize, Just(usize::MAX)].prop_map(Operation::DeliverInstructions),
        3 => prop_oneof![0..4_usize, Just(usize::MAX)].prop_map(Operation::DeliverAcknowledgements),
        4 => any::<usize>().prop_map(Operation::DeliverSection),
        1 => any::<usize>().prop_map(Operation::Reset),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn decoding_undoes_encoding_in_whatever_order_streams_arrive(
        capacity in prop_oneof![Just(0_usize), 0..300_usize, 300..5000_usize, Just(65_536)],
        blocked in prop_oneof![Just(0_usize), 0..4_usize, Just(100)],
        operations in prop::collection::vec(operation(), 0..60),
    ) {
        let mut connection = Connection::new(capacity, blocked);
        for operation in operations {
            connection.execute(operation);
        }
        connection.settle();
        // All is acknowledged, so that what is sent now may refer to whatever there is.
        let fields: Fields = vec![(b"content-type".into(), b"a".into()), (b"x-last".into(), b"b".into())];
        for _ in 0..3 {
            connection.execute(Operation::Send(fields.clone()));
            connection.settle();
        }
    }

    #[test]
    fn nothing_makes_a_decoder_panic(
        pieces in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..60)), 0..20),
    ) {
        let mut decoder = Decoder::new(4096, 2);
        decoder.receive(&[0x3f, 0xe1, 0x1f]).unwrap();
        for (stream, (is_section, bytes)) in pieces.iter().enumerate() {
            if *is_section {
                let _ = decode(&mut decoder, stream as u64, bytes);
            } else {
                let _ = decoder.receive(bytes);
            }
        }
    }

    #[test]
    fn nothing_makes_an_encoder_panic(
        pieces in prop::collection::vec((prop::collection::vec(field(), 0..6), prop::collection::vec(any::<u8>(), 0..6)), 0..20),
    ) {
        let mut encoder = Encoder::new();
        encoder.set_limits(4096, 2);
        for (stream, (fields, bytes)) in pieces.iter().enumerate() {
            encode(&mut encoder, stream as u64, fields);
            let _ = encoder.receive(bytes);
        }
    }
}
