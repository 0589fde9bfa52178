//! Whatever field blocks hold, they are fields or errors; the table stays what it is whether anyone looks at the fields or
//! not; what was decoded comes back when it is encoded again.

use std::ops::ControlFlow;

use serow_http2::hpack::{DecodeError, Decoder, Encoder, Name};

type Fields = Vec<(Vec<u8>, Vec<u8>, Name)>;

/// The target.
pub fn target(data: &[u8]) {
    let [capacity, blocks @ ..] = data else { return };
    let capacity = usize::from(*capacity) * 64;
    let (mut decoder, mut blind, mut again) = (Decoder::new(capacity), Decoder::new(capacity), Decoder::new(4096));
    let mut encoder = Encoder::new();
    // An empty block says that the peer has acknowledged the capacity.
    let mut acknowledged = false;
    for block in blocks.split(|byte| *byte == SEPARATOR) {
        if block.is_empty() && !acknowledged {
            decoder.set_capacity(capacity);
            blind.set_capacity(capacity);
            acknowledged = true;
            continue;
        }
        let outcome = decode(&mut decoder, block);
        let unseen = blind.decode(block, |_| ControlFlow::Break(()));
        assert_eq!(outcome.as_ref().err(), unseen.as_ref().err());
        assert_eq!(table(&mut decoder), table(&mut blind));
        let held: usize = table(&mut decoder).iter().map(|(name, value, _)| name.len() + value.len() + 32).sum();
        assert!(held <= capacity.max(4096));
        let Ok(fields) = outcome else { return };
        encode_again(&fields, &mut encoder, &mut again);
    }
}

/// A byte that begins no usual field: the size of the table, 31 bytes or more.
const SEPARATOR: u8 = 0x3e;

fn decode(decoder: &mut Decoder, block: &[u8]) -> Result<Fields, DecodeError> {
    let (mut fields, mut size) = (Fields::new(), 0);
    decoder.decode(block, |field| {
        assert_eq!(field.list_size(), field.name.len() + field.value.len() + 32);
        size += field.list_size();
        // As a server limits it.
        if size > 65_536 {
            return ControlFlow::Break(());
        }
        fields.push((field.name.to_vec(), field.value.to_vec(), field.name_kind));
        ControlFlow::Continue(())
    })?;
    Ok(fields)
}

/// The entries of the dynamic table, newest first.
fn table(decoder: &mut Decoder) -> Fields {
    let mut fields = Fields::new();
    for index in 62_usize.. {
        let block = match index {
            ..127 => vec![0x80 | index as u8],
            _ => vec![0xff, 0x80 | (index - 127) as u8, ((index - 127) >> 7) as u8],
        };
        match decode(decoder, &block) {
            Ok(entry) => fields.extend(entry),
            // Also where an update of the size is due.
            Err(_) => break,
        }
    }
    fields
}

fn encode_again(fields: &Fields, encoder: &mut Encoder, decoder: &mut Decoder) {
    let mut block = Vec::new();
    for (name, value, kind) in fields {
        match kind {
            Name::Pseudo(pseudo) => {
                assert_eq!(pseudo.as_str().as_bytes(), name);
                encoder.encode_pseudo(*pseudo, value, &mut block);
            }
            kind => {
                assert!(kind.known().is_none_or(|known| known.as_str().as_bytes() == name));
                encoder.encode(name, kind.known(), value, &mut block);
            }
        }
    }
    let mut decoded = decode(decoder, &block).expect("what we encode can be decoded");
    let mut expected = fields.clone();
    expected.iter_mut().for_each(|(name, ..)| name.make_ascii_lowercase());
    // A name that was none for its capitals may be one now.
    decoded.iter_mut().chain(&mut expected).for_each(|field| field.2 = Name::Other);
    assert_eq!(decoded, expected);
}
