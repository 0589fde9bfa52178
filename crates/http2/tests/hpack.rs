//! Header compression: the examples of RFC 7541, what is refused, and that decoding undoes encoding.

use std::ops::ControlFlow;

use proptest::prelude::*;
use serow_http2::hpack::{DecodeError, Decoder, Encoder};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, DecodeError> {
    let mut fields = Fields::new();
    decoder.decode(block, |field| {
        fields.push((field.name.to_vec(), field.value.to_vec()));
        ControlFlow::Continue(())
    })?;
    Ok(fields)
}

fn field() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let names = prop_oneof![
        Just(b"content-type".to_vec()),
        Just(b"date".to_vec()),
        Just(b"cookie".to_vec()),
        "[a-z-]{1,12}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..300).prop_map(|name| name.to_ascii_lowercase()),
    ];
    let values = prop_oneof![
        "[a-c]{0,2}".prop_map(String::into_bytes),
        "[ -~]{0,200}".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..5000),
    ];
    (names, values)
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(
        blocks in prop::collection::vec((prop::collection::vec(0..5000_usize, 0..3), prop::collection::vec(field(), 0..12)), 0..12),
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
        for (capacities, fields) in blocks {
            let mut block = Vec::new();
            for capacity in capacities {
                encoder.set_capacity(capacity);
                decoder.set_capacity(capacity.min(4096));
            }
            for (name, value) in &fields {
                let known = serow_message::Known::recognise(name);
                encoder.encode(name, known, value, &mut block);
            }
            if !fields.is_empty() {
                prop_assert_eq!(decode(&mut decoder, &block).unwrap(), fields);
            }
        }
    }
}
