//! Whatever the encoder stream and field sections hold, they are fields or errors; in pieces they are what they are whole; and
//! what a decoder holds is bounded.

use std::ops::ControlFlow;

use serow_http3::{
    StreamId,
    qpack::{DecodeError, Decoded, Decoder, EncoderStreamError},
};

type Fields = Vec<(Vec<u8>, Vec<u8>)>;

/// The target.
pub fn target(data: &[u8]) {
    let [capacity, cut, pieces @ ..] = data else { return };
    let capacity = usize::from(*capacity) * 32;
    let (mut whole, mut cut_up) = (Decoder::new(capacity, BLOCKED), Decoder::new(capacity, BLOCKED));
    // The first piece is of the encoder stream, the next a section, and so on in turns.
    for (number, piece) in pieces.split(|byte| *byte == SEPARATOR).enumerate() {
        if number % 2 == 0 {
            let outcome = whole.receive(piece);
            assert_eq!(receive_in_pieces(&mut cut_up, piece, usize::from(*cut)), outcome);
            if outcome.is_err() {
                return;
            }
            continue;
        }
        let stream = StreamId::of_quic(number as u64 * 2);
        let decoded = decode(&mut whole, stream, piece);
        assert_eq!(decode(&mut cut_up, stream, piece), decoded);
        match decoded {
            Ok((Decoded::Blocked(required), _)) => {
                assert!(required > whole.insert_count() && required <= whole.insert_count() + capacity as u64 / 32);
                if piece.len() % 2 == 0 {
                    whole.cancel(stream);
                    cut_up.cancel(stream);
                }
            }
            Ok((Decoded::Whole, _)) => {}
            Err(_) => return,
        }
        let mut output = Vec::new();
        whole.write(&mut output);
        assert!(!whole.has_output());
        let mut other = Vec::new();
        cut_up.write(&mut other);
        assert_eq!(output, other);
    }
}

/// A byte that begins a literal of the encoder stream and of sections, but a seldom one.
const SEPARATOR: u8 = 0x7e;

const BLOCKED: usize = 3;

fn receive_in_pieces(decoder: &mut Decoder, bytes: &[u8], length: usize) -> Result<(), EncoderStreamError> {
    bytes.chunks(length % 16 + 1).try_for_each(|piece| decoder.receive(piece))
}

fn decode(decoder: &mut Decoder, stream: StreamId, section: &[u8]) -> Result<(Decoded, Fields), DecodeError> {
    let (mut fields, mut size) = (Fields::new(), 0);
    let decoded = decoder.decode(stream, section, |field| {
        size += field.list_size();
        // As a server limits it.
        if size > 65_536 {
            return ControlFlow::Break(());
        }
        fields.push((field.name.to_vec(), field.value.to_vec()));
        ControlFlow::Continue(())
    })?;
    Ok((decoded, fields))
}
