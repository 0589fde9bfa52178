//! The client's lines as what its transport sends:
//!
//! ```text
//! FRAME 0 [end] 21 00 00                a frame of any kind, with this payload, in hexadecimal digits
//! BYTES 0 [end] 00 00                   any bytes of any stream
//! END 0, RESET 0 10c, STOP 0 10c        FIN, RESET_STREAM, STOP_SENDING
//! SETTINGS 6=100 …, GOAWAY 0, MAX_PUSH_ID 0, CANCEL_PUSH 0, PRIORITY_UPDATE 0 u=1      on the control stream, 2
//! ```

use serow_http3::{
    ErrorCode, StreamId,
    frame::{FrameHeader, Kind, write_priority_update},
    varint,
};

use crate::machine::{
    compression::unhex,
    script::{code, content, number, split, unescape},
};

/// The input of a peer's transport from one line.
pub(crate) enum Said {
    /// Bytes of a stream; whether it ends behind them.
    Bytes(StreamId, Vec<u8>, bool),
    Reset(StreamId, ErrorCode),
    Stop(StreamId, ErrorCode),
}

/// The stream on which the client's control frames go.
const CONTROL: StreamId = StreamId::of_quic(2);

/// The bytes of a line.
pub(crate) fn encode(line: &str) -> Said {
    let (kind, mut words, fields) = split(line);
    let end = words.contains(&"end");
    words.retain(|word| *word != "end");
    let stream = || StreamId::of_quic(number(&words, 0));
    match kind {
        "BYTES" => Said::Bytes(stream(), unhex(&words[1..].concat()), end),
        "END" => Said::Bytes(stream(), Vec::new(), true),
        "RESET" => Said::Reset(stream(), code(words[1])),
        "STOP" => Said::Stop(stream(), code(words[1])),
        "HEADERS" => Said::Bytes(stream(), frame(Kind::HEADERS, &section(&fields)), end),
        "DATA" => Said::Bytes(stream(), frame(Kind::DATA, &content(&words[1..])), end),
        "FRAME" => Said::Bytes(stream(), frame(Kind(hexadecimal(words[1])), &unhex(&words[2..].concat())), end),
        _ => Said::Bytes(CONTROL, encode_control(kind, &words), false),
    }
}

fn encode_control(kind: &str, words: &[&str]) -> Vec<u8> {
    let mut payload = Vec::new();
    let kind = match kind {
        "SETTINGS" => {
            for setting in words {
                let (key, value) = setting.split_once('=').expect("a setting");
                varint::write(hexadecimal(key), &mut payload);
                varint::write(value.parse().expect("a number"), &mut payload);
            }
            Kind::SETTINGS
        }
        "PRIORITY_UPDATE" => {
            let mut output = Default::default();
            write_priority_update(StreamId::of_quic(number(words, 0)), words[1].as_bytes(), &mut output);
            return output.to_vec();
        }
        "GOAWAY" => Kind::GOAWAY,
        "MAX_PUSH_ID" => Kind::MAX_PUSH_ID,
        "CANCEL_PUSH" => Kind::CANCEL_PUSH,
        other => panic!("no frame is named {other}"),
    };
    if kind != Kind::SETTINGS {
        varint::write(number(words, 0), &mut payload);
    }
    frame(kind, &payload)
}

/// A field section without any table. The fields are as they stand, which an encoder would not do: literal names, never
/// indexed (RFC 9204 §4.5.6).
fn section(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut section = vec![0, 0];
    for (name, value) in fields {
        write_text(0x30, 7, name, &mut section);
        write_text(0, 127, &unescape(value), &mut section);
    }
    section
}

/// RFC 7541 §5.1: a length, whose first byte has room up to `most`, and a text.
fn write_text(pattern: u8, most: usize, text: &str, section: &mut Vec<u8>) {
    if text.len() < most {
        section.push(pattern | text.len() as u8);
    } else {
        section.push(pattern | most as u8);
        let mut rest = text.len() - most;
        while rest >= 128 {
            section.push((rest % 128) as u8 | 128);
            rest /= 128;
        }
        section.push(rest as u8);
    }
    section.extend_from_slice(text.as_bytes());
}

fn frame(kind: Kind, payload: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    FrameHeader { kind, length: payload.len() as u64 }.write(&mut output);
    output.extend_from_slice(payload);
    output
}

pub(super) fn hexadecimal(word: &str) -> u64 {
    u64::from_str_radix(word, 16).expect("a number in hexadecimal digits")
}
