//! The client's lines as frames:
//!
//! ```text
//! HEADERS 1 open | :method: GET            `open`: CONTINUATION follows; `pad 3`; `on 1` (RFC 7540's dependency)
//! CONTINUATION 1 [open] | name: value
//! DATA 1 [end] [size 100 | text] [pad 3]
//! RST_STREAM 1 8, PRIORITY 3 on 1, PRIORITY_UPDATE 1 u=1, WINDOW_UPDATE 1 100, GOAWAY 0 0
//! SETTINGS [4=100 …], SETTINGS ack, PING 12345678, PING ack 12345678
//! BYTES 00 00 00                           anything, in hexadecimal digits
//! ```

use bytes::BytesMut;
use serow_http2::{
    StreamId,
    frame::{self, FrameHeader, Kind, flags},
    hpack::{Encoder, Pseudo},
};

use crate::machine::{
    compression::unhex,
    script::{code, content, number, split, unescape},
};

/// The client's end of the compression, and its bytes that the server has not taken.
pub(crate) struct Writer {
    encoder: Encoder,
    pub(crate) input: BytesMut,
}

impl Default for Writer {
    fn default() -> Self {
        Self { encoder: Encoder::new(), input: BytesMut::new() }
    }
}

impl Writer {
    /// The bytes of a line.
    pub(crate) fn encode(&mut self, line: &str) -> Vec<u8> {
        let (kind, words, fields) = split(line);
        let mut output = Vec::new();
        match kind {
            "BYTES" => output = unhex(&words.concat()),
            "HEADERS" | "CONTINUATION" => {
                let mut block = Vec::new();
                for (name, value) in fields {
                    self.encode_field(name, value, &mut block);
                }
                let kind = if kind == "HEADERS" { Kind::HEADERS } else { Kind::CONTINUATION };
                let bits = if words.contains(&"open") { 0 } else { flags::END_HEADERS };
                write_message(kind, bits, &words, &block, &mut output);
            }
            "DATA" => {
                let text: Vec<&str> = words.iter().skip(1).copied().filter(|word| *word != "end").collect();
                let text = if text.first() == Some(&"pad") { &[] } else { &text[..] };
                write_message(Kind::DATA, 0, &words, &content(text), &mut output);
            }
            _ => encode_other(kind, &words, &mut output),
        }
        output
    }

    fn encode_field(&mut self, name: &str, value: &str, block: &mut Vec<u8>) {
        let pseudo = match name {
            ":method" => Pseudo::Method,
            ":scheme" => Pseudo::Scheme,
            ":authority" => Pseudo::Authority,
            ":path" => Pseudo::Path,
            ":protocol" => Pseudo::Protocol,
            ":status" => Pseudo::Status,
            _ => {
                // As it stands, which the encoder would not do: never indexed, new name (RFC 7541 §6.2.3).
                block.push(0x10);
                write_text(name, block);
                write_text(&unescape(value), block);
                return;
            }
        };
        self.encoder.encode_pseudo(pseudo, value.as_bytes(), block);
    }
}

/// A frame of a message, with the padding and the dependency that its words name.
fn write_message(kind: Kind, mut bits: u8, words: &[&str], content: &[u8], output: &mut Vec<u8>) {
    let mut payload = Vec::new();
    if words.contains(&"end") {
        bits |= flags::END_STREAM;
    }
    let padding = number_behind(words, "pad");
    if let Some(padding) = padding {
        bits |= flags::PADDED;
        payload.push(padding as u8);
    }
    if let Some(on) = number_behind(words, "on") {
        bits |= flags::PRIORITY;
        payload.extend_from_slice(&(on as u32).to_be_bytes());
        payload.push(15);
    }
    payload.extend_from_slice(content);
    payload.resize(payload.len() + padding.unwrap_or_default(), 0);
    write(kind, bits, number(words, 0), &payload, output);
}

fn encode_other(kind: &str, words: &[&str], output: &mut Vec<u8>) {
    let has = |word| words.contains(&word);
    let id = || StreamId::new(number(words, 0) as u32);
    match kind {
        "RST_STREAM" => frame::write_reset_stream(id(), code(words[1]), output),
        "PRIORITY" => {
            let mut payload = (number(words, 2) as u32).to_be_bytes().to_vec();
            payload.push(15);
            write(Kind::PRIORITY, 0, number(words, 0), &payload, output);
        }
        "PRIORITY_UPDATE" => frame::write_priority_update(id(), words[1].as_bytes(), output),
        "WINDOW_UPDATE" => {
            write(Kind::WINDOW_UPDATE, 0, number(words, 0), &(number(words, 1) as u32).to_be_bytes(), output);
        }
        "GOAWAY" => frame::write_go_away(id(), code(words[1]), b"", output),
        "SETTINGS" if has("ack") => frame::write_settings_ack(output),
        "SETTINGS" => {
            let mut payload = Vec::new();
            for setting in words {
                let (key, value) = setting.split_once('=').expect("a setting");
                payload.extend_from_slice(&key.parse::<u16>().expect("a number").to_be_bytes());
                payload.extend_from_slice(&value.parse::<u32>().expect("a number").to_be_bytes());
            }
            write(Kind::SETTINGS, 0, 0, &payload, output);
        }
        "PING" => {
            let payload = words.last().expect("a payload").as_bytes().try_into().expect("eight bytes");
            frame::write_ping(payload, has("ack"), output);
        }
        other => panic!("no frame is named {other}"),
    }
}

/// RFC 7541 §5.2: a length of up to two bytes more, and a text.
fn write_text(text: &str, block: &mut Vec<u8>) {
    assert!(text.len() < 16_000);
    match text.len() {
        short @ ..127 => block.push(short as u8),
        long => block.extend_from_slice(&[127, ((long - 127) % 128) as u8 | 128, ((long - 127) / 128) as u8]),
    }
    block.extend_from_slice(text.as_bytes());
}

fn write(kind: Kind, flags: u8, stream: u64, payload: &[u8], output: &mut Vec<u8>) {
    FrameHeader { length: payload.len(), kind, flags, stream: StreamId::new(stream as u32) }.write(output);
    output.extend_from_slice(payload);
}

fn number_behind(words: &[&str], name: &str) -> Option<usize> {
    let place = words.iter().position(|word| *word == name)?;
    words.get(place + 1)?.parse().ok()
}
