//! One end of QPACK, for another implementation to talk to. Lines of the input, each of which is answered by a line:
//!
//! - `connection CAPACITY BLOCKED`: another connection begins, both of whose ends announce this;
//! - `encode STREAM NAME=VALUE…`: a section of these fields; the answer is what goes onto the encoder stream, and the
//!   section;
//! - `decode STREAM SECTION`: the answer is `fields NAME=VALUE…`, or `blocked`;
//! - `instructions BYTES`: of the other's encoder stream;
//! - `acknowledgements BYTES`: of the other's decoder stream;
//! - `cancel STREAM`: a stream is reset whose section was not decoded;
//! - `output`: the answer is what goes onto the decoder stream.
//!
//! Bytes are hexadecimal, behind an `x`. The other answers are `ok`. Errors end the program.

use std::{
    error::Error,
    io::{self, BufRead, Write},
    ops::ControlFlow,
};

use serow_http3::{
    StreamId,
    qpack::{Decoded, Decoder, Encoder, Name},
};
use serow_message::KnownHeader;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let mut output = io::stdout().lock();
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(0, 0));
    for line in io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["connection", capacity, blocked] => {
                let (capacity, blocked) = (capacity.parse()?, blocked.parse()?);
                (encoder, decoder) = (Encoder::new(), Decoder::new(capacity, blocked));
                encoder.set_limits(capacity, blocked);
                "ok".into()
            }
            ["encode", stream, ref fields @ ..] => encode(&mut encoder, stream_id(stream)?, fields)?,
            ["decode", stream, section] => decode(&mut decoder, stream_id(stream)?, &unhex(section)?)?,
            ["instructions", bytes] => decoder.receive(&unhex(bytes)?).map(|()| "ok".into())?,
            ["acknowledgements", bytes] => encoder.receive(&unhex(bytes)?).map(|()| "ok".into())?,
            ["cancel", stream] => {
                decoder.cancel(stream_id(stream)?);
                "ok".into()
            }
            ["output"] => {
                let mut bytes = Vec::new();
                decoder.write(&mut bytes);
                hex(&bytes)
            }
            _ => return Err(format!("unknown command: {line:?}").into()),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn encode(encoder: &mut Encoder, stream: StreamId, fields: &[&str]) -> Outcome<String> {
    let (mut instructions, mut block) = (Vec::new(), Vec::new());
    let mut section = encoder.begin(stream, &mut block);
    for field in fields {
        let (name, value) = field.split_once('=').ok_or("a field without =")?;
        let (name, value) = (unhex(name)?, unhex(value)?);
        match Name::recognise(&name) {
            Name::Pseudo(pseudo) => section.encode_pseudo(pseudo, &value),
            _ => section.encode(&name, KnownHeader::recognise(&name), &value),
        }
    }
    section.finish();
    encoder.write(&mut instructions);
    Ok(format!("{} {}", hex(&instructions), hex(&block)))
}

fn decode(decoder: &mut Decoder, stream: StreamId, section: &[u8]) -> Outcome<String> {
    let mut answer = String::from("fields");
    let decoded = decoder.decode(stream, section, |field| {
        answer.push_str(&format!(" {}={}", hex(field.name), hex(field.value)));
        ControlFlow::Continue(())
    })?;
    Ok(if decoded == Decoded::Whole { answer } else { "blocked".into() })
}

fn stream_id(word: &str) -> Outcome<StreamId> {
    Ok(StreamId::of_quic(word.parse()?))
}

fn hex(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("x{digits}")
}

fn unhex(word: &str) -> Outcome<Vec<u8>> {
    let digits = word.strip_prefix('x').ok_or("bytes without x")?;
    let pairs = digits.as_bytes().chunks(2).map(|pair| Ok(u8::from_str_radix(str::from_utf8(pair)?, 16)?));
    pairs.collect()
}
