//! The field lists of qpackers/qifs: what seven other encoders wrote of them is decoded, and what we write too.

use std::collections::{BTreeMap, VecDeque};

use serow_http3::qpack::{Decoder, Encoder};

use crate::{
    qpack_connection::{Fields, acknowledgements, decode, encode, instructions, set_capacity},
    suites::Suite,
};

/// The folder within the archive.
const ROOT: &str = "qifs";

/// In the files, the stream that stands for the encoder stream.
const ENCODER_STREAM: u64 = 0;

#[test]
fn qifs() {
    let Some(suite) = Suite::unpack("qifs") else { return };
    let lists = lists(&suite);
    let mut files = 0;
    for (name, bytes) in suite.files(&format!("{ROOT}/encoded/qpack-06")) {
        // Those of the draft have lists of their own; they are in qpack/examples.txt.
        let Some((list, settings)) = parse_name(&name).filter(|(list, _)| *list != "examples") else { continue };
        let mut decoded = BTreeMap::new();
        decode_file(&bytes, settings, &mut decoded).unwrap_or_else(|error| panic!("{name}: {error}"));
        let decoded: Vec<Fields> = decoded.into_values().collect();
        assert!(decoded == lists[list], "{name}");
        files += 1;
    }
    assert_eq!(files, 528);
    check_errors(&suite);
    for (capacity, blocked) in [(0, 0), (256, 0), (256, 100), (4096, 0), (4096, 100), (65536, 16)] {
        for (lag, most) in [(0, 252_000), (8, 400_000), (usize::MAX, 723_000)] {
            let settings = Settings { capacity, blocked };
            let bytes: usize = lists.values().map(|messages| encode_list(messages, settings, lag)).sum();
            println!("{capacity} bytes, {blocked} blocked, acknowledged {lag} messages later: {bytes} bytes");
            assert!(bytes < if capacity < 4096 { 716_000 } else { most }, "{bytes}");
        }
    }
}

/// The files of errors, some of which have none since RFC 9204.
fn check_errors(suite: &Suite) {
    let mut outcomes = Vec::new();
    for (name, bytes) in suite.files(&format!("{ROOT}/encoded/errors")) {
        let outcome = decode_file(&bytes, Settings { capacity: 4096, blocked: 100 }, &mut BTreeMap::new());
        outcomes.push(format!("{name}: {}", outcome.err().unwrap_or_default()));
    }
    assert_eq!(outcomes, ERRORS);
}

const ERRORS: [&str; 12] = [
    "err1: stream 1: a field section ends within a field",
    "err10: ",
    "err11: the QPACK encoder stream refers to an entry that does not exist",
    "err12: a number on the QPACK encoder stream is too large",
    "err2: stream 1: a field section ends within a field",
    "err3: stream 1: a field section ends within a field",
    "err4: stream 1: the Base of a field section is negative",
    "err5: stream 1: a field section refers to an entry that does not exist",
    "err6: stream 1: a field section ends within a field",
    "err7: stream 1: a field section ends within a field",
    "err8: stream 1: a field section ends within a field",
    "err9: ",
];

/// The settings that a decoder announces.
#[derive(Clone, Copy)]
struct Settings {
    capacity: usize,
    blocked: usize,
}

/// Encodes messages, each on a stream of its own, and decodes them; gives the number of bytes. The acknowledgements of a
/// message arrive when so many others were sent.
fn encode_list(messages: &[Fields], settings: Settings, lag: usize) -> usize {
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(settings.capacity, settings.blocked));
    encoder.set_limits(settings.capacity, settings.blocked);
    let (mut bytes, mut under_way) = (0, VecDeque::new());
    for (stream, message) in (0..).step_by(4).zip(messages) {
        let section = encode(&mut encoder, stream, message);
        let instructions = instructions(&mut encoder);
        bytes += section.len() + instructions.len();
        decoder.receive(&instructions).unwrap();
        let decoded = decode(&mut decoder, stream, &section).unwrap();
        assert!(decoded.as_ref() == Some(message), "{decoded:?} {message:?}");
        under_way.push_back(acknowledgements(&mut decoder));
        if under_way.len() > lag {
            encoder.receive(&under_way.pop_front().unwrap()).unwrap();
        }
    }
    bytes
}

/// All field lists, by name.
fn lists(suite: &Suite) -> BTreeMap<String, Vec<Fields>> {
    let files = suite.files(&format!("{ROOT}/qifs")).into_iter();
    files.map(|(name, text)| (name.replace(".qif", ""), parse_list(&text))).collect()
}

/// Lines of a name, a tabulator and a value; lists end with an empty line.
fn parse_list(text: &[u8]) -> Vec<Fields> {
    let (mut lists, mut list) = (Vec::new(), Fields::new());
    for line in text.split(|byte| *byte == b'\n') {
        match line {
            [] if !list.is_empty() => lists.push(std::mem::take(&mut list)),
            [] | [b'#', ..] => {}
            line => {
                let tab = line.iter().position(|byte| *byte == b'\t').unwrap_or(line.len());
                list.push((line[..tab].into(), line.get(tab + 1..).unwrap_or_default().into()));
            }
        }
    }
    lists.extend((!list.is_empty()).then_some(list));
    lists
}

/// `ENCODER/LIST.out.CAPACITY.BLOCKED.ACKNOWLEDGED`
fn parse_name(name: &str) -> Option<(&str, Settings)> {
    let (list, settings) = name.rsplit_once('/')?.1.split_once(".out.")?;
    let mut numbers = settings.split('.').map(|number| number.parse().ok());
    Some((list, Settings { capacity: numbers.next()??, blocked: numbers.next()?? }))
}

/// Decodes a file: pieces of streams, each with the number of its stream in eight bytes, and its length in four.
fn decode_file(mut bytes: &[u8], settings: Settings, decoded: &mut BTreeMap<u64, Fields>) -> Result<(), String> {
    let mut decoder = Decoder::new(settings.capacity, settings.blocked);
    // Most of these encoders begin with a table of the announced capacity, as drafts had it.
    decoder.receive(&set_capacity(settings.capacity)).unwrap();
    let mut waiting = BTreeMap::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<12>() {
        let (stream, length) = header.split_at(8);
        let stream = u64::from_be_bytes(stream.try_into().unwrap());
        let length = u32::from_be_bytes(length.try_into().unwrap());
        let (piece, rest) = rest.split_at(length as usize);
        bytes = rest;
        if stream == ENCODER_STREAM {
            decoder.receive(piece).map_err(|error| error.to_string())?;
            drop(acknowledgements(&mut decoder));
        } else {
            waiting.insert(stream, piece);
        }
        let mut left = BTreeMap::new();
        for (stream, section) in waiting {
            match decode(&mut decoder, stream, section).map_err(|error| format!("stream {stream}: {error}"))? {
                Some(fields) => drop(decoded.insert(stream, fields)),
                None => drop(left.insert(stream, section)),
            }
        }
        waiting = left;
        drop(acknowledgements(&mut decoder));
    }
    if waiting.is_empty() { Ok(()) } else { Err(format!("{} sections stay blocked", waiting.len())) }
}
