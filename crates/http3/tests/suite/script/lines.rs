//! The meaning of the client's lines.

use serow_http3::{
    StreamId,
    frame::{FrameHeader, Kind, write_priority_update},
    varint,
};

/// The input of the server's transport from one line.
pub(crate) enum Said {
    /// Bytes of a stream; whether it ends behind them.
    Bytes(u64, Vec<u8>, bool),
    Reset(u64, u64),
    Stop(u64, u64),
}

/// The stream on which the client's control frames go.
const CONTROL: u64 = 2;

/// The bytes of a line.
pub(crate) fn encode(line: &str) -> Said {
    let mut parts = line.split(" | ");
    let words: Vec<&str> = parts.next().unwrap_or_default().split_whitespace().collect();
    let fields: Vec<&str> = parts.collect();
    let (kind, words) = words.split_first().expect("a kind of frame");
    let end = words.contains(&"end");
    let words: Vec<&str> = words.iter().copied().filter(|word| *word != "end").collect();
    let stream = || number(&words, 0);
    match *kind {
        "BYTES" => Said::Bytes(stream(), bytes(&words[1..]), end),
        "END" => Said::Bytes(stream(), Vec::new(), true),
        "RESET" => Said::Reset(stream(), hexadecimal(words[1])),
        "STOP" => Said::Stop(stream(), hexadecimal(words[1])),
        "HEADERS" => Said::Bytes(stream(), frame(Kind::HEADERS, &section(&fields)), end),
        "DATA" => {
            let data = match words.get(1) {
                Some(&"size") => vec![b'x'; number(&words, 2) as usize],
                text => text.map(|text| text.as_bytes().to_vec()).unwrap_or_default(),
            };
            Said::Bytes(stream(), frame(Kind::DATA, &data), end)
        }
        "FRAME" => Said::Bytes(stream(), frame(Kind(hexadecimal(words[1])), &bytes(&words[2..])), end),
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

/// A field section without any table.
pub(crate) fn section(fields: &[&str]) -> Vec<u8> {
    let mut section = vec![0, 0];
    for field in fields {
        match field.split_once(": ").or_else(|| field.strip_suffix(':').map(|name| (name, ""))) {
            Some((name, value)) => encode_field(name, value, &mut section),
            None => {
                let (method, path) = field.split_once(' ').expect("method and path");
                for (name, value) in [(":method", method), (":scheme", "https"), (":authority", "a"), (":path", path)] {
                    encode_field(name, value, &mut section);
                }
            }
        }
    }
    section
}

/// As it stands, which an encoder would not do: a literal name, never indexed (RFC 9204 §4.5.6).
fn encode_field(name: &str, value: &str, section: &mut Vec<u8>) {
    let value = value.replace("\\0", "\0").replace("\\n", "\n").replace("\\s", " ");
    write_text(0x30, 7, name, section);
    write_text(0, 127, &value, section);
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

fn bytes(words: &[&str]) -> Vec<u8> {
    words.iter().map(|byte| hexadecimal(byte) as u8).collect()
}

fn hexadecimal(word: &str) -> u64 {
    u64::from_str_radix(word, 16).expect("a number in hexadecimal digits")
}

fn number(words: &[&str], place: usize) -> u64 {
    words.get(place).and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("no number at {place}: {words:?}"))
}
