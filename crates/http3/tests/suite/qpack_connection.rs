//! The two ends of QPACK, as the tests look at them.

use std::ops::ControlFlow;

use serow_http3::{
    StreamId,
    qpack::{DecodeError, Decoded, Decoder, Encoder, Name},
};
use serow_message::KnownHeader;
use serow_streams::compression::integer;

/// Names and values.
pub(crate) type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// The fields of a section, unless it is blocked.
pub(crate) fn decode(decoder: &mut Decoder, stream: u64, section: &[u8]) -> Result<Option<Fields>, DecodeError> {
    let mut fields = Fields::new();
    let decoded = decoder.decode(StreamId::of_quic(stream), section, |field| {
        fields.push((field.name.into(), field.value.into()));
        ControlFlow::Continue(())
    })?;
    Ok(matches!(decoded, Decoded::Whole).then_some(fields))
}

/// The section of these fields.
pub(crate) fn encode(encoder: &mut Encoder, stream: u64, fields: &Fields) -> Vec<u8> {
    let mut block = Vec::new();
    let mut section = encoder.begin(StreamId::of_quic(stream), &mut block);
    for (name, value) in fields {
        match Name::recognise(name) {
            Name::Pseudo(pseudo) => section.encode_pseudo(pseudo, value),
            _ => section.encode(name, KnownHeader::recognise(name), value),
        }
    }
    section.finish();
    block
}

/// The instructions that the encoder has for its stream.
pub(crate) fn instructions(encoder: &mut Encoder) -> Vec<u8> {
    let mut output = Vec::new();
    encoder.write(&mut output);
    assert!(!encoder.has_output());
    output
}

/// The instructions that the decoder has for its stream.
pub(crate) fn acknowledgements(decoder: &mut Decoder) -> Vec<u8> {
    let mut output = Vec::new();
    decoder.write(&mut output);
    assert!(!decoder.has_output());
    output
}

/// The instruction that sets the table's capacity (RFC 9204 §4.3.1).
pub(crate) fn set_capacity(capacity: usize) -> Vec<u8> {
    let mut instruction = Vec::new();
    integer::encode::<5>(capacity, 0x20, &mut instruction);
    instruction
}

/// The instruction that inserts an entry with a literal name (RFC 9204 §4.3.3).
pub(crate) fn insert(name: &str, value: &str) -> Vec<u8> {
    let mut instruction = Vec::new();
    integer::encode::<5>(name.len(), 0x40, &mut instruction);
    instruction.extend_from_slice(name.as_bytes());
    integer::encode::<7>(value.len(), 0, &mut instruction);
    instruction.extend_from_slice(value.as_bytes());
    instruction
}

/// A section that needs all entries and refers to that of so many newer ones.
pub(crate) fn section_of(inserted: u64, newer: u64, capacity: usize) -> Vec<u8> {
    let mut section = Vec::new();
    integer::encode_long::<8>(inserted % (2 * (capacity / 32) as u64) + 1, 0, &mut section);
    section.push(0);
    integer::encode_long::<6>(newer, 0x80, &mut section);
    section
}

/// Fields of text.
pub(crate) fn fields(list: &[(&str, &str)]) -> Fields {
    list.iter().map(|(name, value)| (name.as_bytes().into(), value.as_bytes().into())).collect()
}
