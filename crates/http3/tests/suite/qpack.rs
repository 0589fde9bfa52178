//! QPACK: the examples of RFC 9204, what is refused, and when streams are blocked.

use std::ops::ControlFlow;

use serow_http3::{
    StreamId,
    qpack::{DecodeError, Decoded, Decoder, DecoderStreamError, Encoder, EncoderStreamError, Name, Pseudo},
};
use serow_message::{Headers, KnownHeader, StatusCode};

use crate::{
    machine::compression::unhex,
    qpack_connection::{
        Fields, acknowledgements, decode, encode, fields, insert, instructions, section_of, set_capacity,
    },
};

#[test]
fn the_examples_of_the_rfc() {
    let mut inputs = 0;
    let mut decoder = Decoder::new(220, 1);
    let mut received = Vec::new();
    for step in include_str!("../qpack/examples.txt").split("\n> ").skip(1) {
        let (input, expected) = step.split_once('\n').unwrap_or((step, ""));
        let expected: Vec<&str> = expected.lines().filter(|line| !line.is_empty() && !line.starts_with("==")).collect();
        assert_eq!(execute(input, &mut decoder, &mut received), expected, "{input}");
        inputs += 1;
    }
    assert_eq!(inputs, 9);
}

/// The outcome of one input of an example.
fn execute(input: &str, decoder: &mut Decoder, received: &mut Vec<u8>) -> Vec<String> {
    let mut shown = Vec::new();
    let mut words = input.split(' ');
    let (kind, first, second) = (words.next().unwrap(), words.next().unwrap(), words.next());
    match kind {
        "encoder" => {
            received.extend(unhex(first));
            decoder.receive(&unhex(first)).unwrap();
        }
        "cancel" => decoder.cancel(StreamId::of_quic(first.parse().unwrap())),
        _ => {
            let stream = StreamId::of_quic(first.parse().unwrap());
            let outcome = decoder.decode(stream, &unhex(second.unwrap()), |field| {
                shown.push(format!("{}: {}", field.name.escape_ascii(), field.value.escape_ascii()));
                ControlFlow::Continue(())
            });
            if let Decoded::Blocked(required) = outcome.unwrap() {
                shown.push(format!("blocked until {required}"));
            }
        }
    }
    // The RFC's decoder does not acknowledge the entries of B.2 before the section that refers to them.
    if !(kind == "encoder" && decoder.insert_count() == 2) && decoder.has_output() {
        let output: String = acknowledgements(decoder).iter().map(|byte| format!("{byte:02x}")).collect();
        shown.push(format!("decoder {output}"));
    }
    if kind == "encoder" {
        let mut other = Decoder::new(220, 0);
        other.receive(received).unwrap();
        let table = table(&mut other, 220).into_iter();
        shown
            .extend(table.map(|(index, name, value)| {
                format!("table {index} {}: {}", name.escape_ascii(), value.escape_ascii())
            }));
    }
    shown
}

/// The absolute indexes, names and values of a decoder's table: asked for with one section for each.
fn table(decoder: &mut Decoder, capacity: usize) -> Vec<(u64, Vec<u8>, Vec<u8>)> {
    let mut entries = Vec::new();
    let inserted = decoder.insert_count();
    for newer in 0..inserted {
        let section = section_of(inserted, newer, capacity);
        match decode(decoder, 0, &section) {
            Ok(fields) => {
                entries.extend(fields.unwrap().into_iter().map(|(name, value)| (inserted - 1 - newer, name, value)))
            }
            Err(error) => assert_eq!(error, DecodeError::Index),
        }
    }
    entries.reverse();
    entries
}

/// The cases of a file, whose lines are words and a comment.
fn cases<const WORDS: usize>(text: &'static str) -> Vec<[&'static str; WORDS]> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let words: Vec<&str> = line.splitn(WORDS, ' ').collect();
            words.try_into().unwrap_or_else(|_| panic!("{line}"))
        })
        .collect()
}

/// The name of an error, or `None`.
fn name<T, E: std::fmt::Debug>(outcome: Result<T, E>) -> String {
    outcome.map_or_else(|error| format!("{error:?}"), |_| "None".into())
}

#[test]
fn invalid_sections_are_refused() {
    for [entries, section, reason, comment] in cases(include_str!("../qpack/refused_sections.txt")) {
        let mut decoder = Decoder::new(200, 0);
        decoder.receive(&set_capacity(200)).unwrap();
        match entries {
            "two" => decoder.receive(&[insert("a", "b"), insert("c", "d")].concat()).unwrap(),
            "many" => (0..20).for_each(|_| decoder.receive(&insert("name", "val")).unwrap()),
            _ => {}
        }
        let outcome = decode(&mut decoder, 4, &unhex(section));
        assert_eq!(name(outcome), reason, "{section} {comment}");
    }
}

#[test]
fn invalid_instructions_are_refused_whole_and_byte_by_byte() {
    for [bytes, reason, comment] in cases(include_str!("../qpack/refused_instructions.txt")) {
        let bytes = unhex(bytes);
        let whole = Decoder::new(200, 0).receive(&bytes);
        assert_eq!(name(whole), reason, "{comment}");
        let mut decoder = Decoder::new(200, 0);
        let pieces = bytes.iter().try_for_each(|byte| decoder.receive(&[*byte]));
        assert_eq!(name(pieces), reason, "{comment}, byte by byte");
    }
}

#[test]
fn instructions_that_come_in_pieces_are_what_they_are_whole() {
    let long = "v".repeat(130);
    let all: Vec<u8> = [
        set_capacity(220),
        insert("name", "value"),
        insert("a-long-name-that-takes-more-than-one-byte-for-its-length", ""),
        insert("n", &long),
        unhex("00"),
        unhex("8003616263"),
        unhex("c18163"),
    ]
    .concat();
    let mut whole = Decoder::new(220, 0);
    whole.receive(&all).unwrap();
    assert_eq!(whole.insert_count(), 6);
    let expected = table(&mut whole, 220);
    for length in 1..all.len() {
        let mut decoder = Decoder::new(220, 0);
        all.chunks(length).for_each(|piece| decoder.receive(piece).unwrap());
        assert_eq!(table(&mut decoder, 220), expected, "{length}");
    }
}

#[test]
fn more_blocked_streams_than_announced_are_refused() {
    let mut decoder = Decoder::new(200, 2);
    decoder.receive(&set_capacity(200)).unwrap();
    let section = unhex("020080");
    for stream in [0, 4, 0, 4] {
        assert_eq!(decode(&mut decoder, stream, &section), Ok(None), "{stream}");
    }
    decoder.cancel(StreamId::of_quic(4));
    assert_eq!(decode(&mut decoder, 8, &section), Ok(None));
    assert_eq!(decode(&mut decoder, 12, &section), Err(DecodeError::Blocked));
    decoder.receive(&insert("a", "b")).unwrap();
    // The two are not blocked any more, although they were not decoded again.
    for stream in [16, 20] {
        assert_eq!(decode(&mut decoder, stream, &unhex("030080")), Ok(None));
    }
    assert_eq!(decode(&mut decoder, 24, &unhex("030080")), Err(DecodeError::Blocked));
    for stream in [0, 8] {
        assert_eq!(decode(&mut decoder, stream, &section), Ok(Some(fields(&[("a", "b")]))));
    }
    assert_eq!(acknowledgements(&mut decoder), unhex("44 80 88"));
}

#[test]
fn a_peer_that_reads_no_acknowledgements_is_refused() {
    let mut decoder = Decoder::new(200, 0);
    decoder.receive(&[set_capacity(200), insert("a", "b")].concat()).unwrap();
    let mut streams = 0..;
    let refused = streams.find(|stream| decode(&mut decoder, 4 * stream, &unhex("020080")).is_err()).unwrap();
    assert!((1000..5000).contains(&refused), "{refused}");
    (0..10_000).for_each(|stream| decoder.cancel(StreamId::of_quic(stream)));
    assert!(acknowledgements(&mut decoder).len() < 5000);
}

#[test]
fn a_decoder_without_table_sends_nothing() {
    let mut decoder = Decoder::new(0, 0);
    assert_eq!(decode(&mut decoder, 0, &unhex("0000d9")), Ok(Some(fields(&[(":status", "200")]))));
    decoder.cancel(StreamId::of_quic(4));
    assert!(!decoder.has_output());
    assert_eq!(decode(&mut decoder, 0, &unhex("020080")), Err(DecodeError::InsertCount));
    assert_eq!(decoder.receive(&set_capacity(0)), Ok(()));
    assert_eq!(decoder.receive(&set_capacity(1)), Err(EncoderStreamError::Capacity));
}

#[test]
fn after_a_break_nothing_is_looked_at() {
    let mut decoder = Decoder::new(200, 0);
    decoder.receive(&[set_capacity(200), insert("a", "b")].concat()).unwrap();
    let mut seen = 0;
    let outcome = decoder.decode(StreamId::of_quic(0), &unhex("0200 80 80 80 ff"), |_| {
        seen += 1;
        if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert_eq!((outcome, seen), (Ok(Decoded::Whole), 2));
    // The section is acknowledged all the same.
    assert_eq!(acknowledgements(&mut decoder), unhex("80"));
}

#[test]
fn names_are_recognised() {
    let mut kinds = Vec::new();
    let mut decoder = Decoder::new(200, 0);
    decoder.receive(&[set_capacity(200), insert("date", "1"), insert("Date", "1")].concat()).unwrap();
    let section = unhex("0300 c1 d1 d9 5d00 7d00 24 64617465 00 24 44617465 00 23 3a7878 00 34 64617465 00 81 80 6000");
    decoder
        .decode(StreamId::of_quic(0), &section, |field| {
            kinds.push((field.name_kind, field.never_indexed, field.error.is_some()));
            ControlFlow::Continue(())
        })
        .unwrap();
    let known = |known, never| (Name::Known(known), never, false);
    let other = (Name::Other, false, true);
    assert_eq!(
        kinds,
        [
            (Name::Pseudo(Pseudo::Path), false, false),
            (Name::Pseudo(Pseudo::Method), false, false),
            (Name::Pseudo(Pseudo::Status), false, false),
            known(KnownHeader::Referer, false),
            known(KnownHeader::Referer, true),
            known(KnownHeader::Date, false),
            other,
            other,
            known(KnownHeader::Date, true),
            known(KnownHeader::Date, false),
            other,
            (Name::Other, true, true),
        ]
    );
}

#[test]
fn the_static_table_is_that_of_the_rfc() {
    let mut names = String::new();
    for index in 0..99 {
        let line = if index < 63 { vec![0, 0, 0xc0 | index] } else { vec![0, 0, 0xff, index - 63] };
        let fields = decode(&mut Decoder::new(0, 0), 0, &line).unwrap().unwrap();
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string().replace("\\'", "'");
        names.push_str(&format!("{index} {}: {}\n", text(&fields[0].0), text(&fields[0].1)));
    }
    assert_eq!(names, include_str!("../qpack/static_table.txt"));
}

/// An encoder whose peer allows this.
fn encoder(capacity: usize, blocked: usize) -> Encoder {
    let mut encoder = Encoder::new();
    encoder.set_limits(capacity, blocked);
    encoder
}

fn server(value: &str) -> Fields {
    fields(&[("server", value)])
}

#[test]
fn an_encoder_uses_the_static_table_until_the_settings_arrive() {
    for (capacity, blocked) in [(0, 0), (0, 100), (31, 100)] {
        let mut encoder = encoder(capacity, blocked);
        for _ in 0..3 {
            assert_eq!(encode(&mut encoder, 0, &server("a")), unhex("0000 5f4d0161"));
        }
        assert!(!encoder.has_output());
    }
}

#[test]
fn invalid_acknowledgements_are_refused_whole_and_byte_by_byte() {
    for (bytes, expected) in [
        ("00", Err(DecoderStreamError::Increment)),
        ("02", Err(DecoderStreamError::Increment)),
        ("0101", Err(DecoderStreamError::Increment)),
        ("3fffffffffffffffff3e", Err(DecoderStreamError::Increment)),
        ("3fffffffffffffffffff00", Err(DecoderStreamError::Integer)),
        ("ffffffffffffffffffff00", Err(DecoderStreamError::Integer)),
        ("7fffffffffffffffffff00", Err(DecoderStreamError::Integer)),
        // The section of stream 4 refers to the entry.
        ("80", Err(DecoderStreamError::Acknowledgement)),
        ("88", Err(DecoderStreamError::Acknowledgement)),
        ("8484", Err(DecoderStreamError::Acknowledgement)),
        ("4484", Err(DecoderStreamError::Acknowledgement)),
        // Which acknowledges the entry, too.
        ("8401", Err(DecoderStreamError::Increment)),
        ("84", Ok(())),
        ("0184", Ok(())),
        ("44", Ok(())),
        // A stream of which nothing waits.
        ("40487fc000", Ok(())),
    ] {
        let encoder = || {
            let mut encoder = encoder(4096, 16);
            assert_eq!(encode(&mut encoder, 4, &server("a")), unhex("0280 10"));
            assert_eq!(instructions(&mut encoder), unhex("3fe11f ff1d0161"));
            assert_eq!(encode(&mut encoder, 0, &fields(&[(":status", "200")])), unhex("0000 d9"));
            encoder
        };
        let bytes = unhex(bytes);
        assert_eq!(encoder().receive(&bytes), expected, "{bytes:x?}");
        let mut encoder = encoder();
        let pieces = bytes.iter().try_for_each(|byte| encoder.receive(&[*byte]));
        assert_eq!(pieces, expected, "{bytes:x?}, byte by byte");
    }
}

#[test]
fn no_more_streams_are_blocked_than_the_peer_allows() {
    let mut encoder = encoder(4096, 2);
    let refers = |section: &[u8]| section[0] != 0;
    assert!(refers(&encode(&mut encoder, 0, &server("a"))));
    assert!(refers(&encode(&mut encoder, 4, &server("a"))));
    assert!(!refers(&encode(&mut encoder, 8, &server("a"))));
    // The trailers of a stream that may be blocked anyway.
    assert!(refers(&encode(&mut encoder, 4, &server("a"))));
    // One is decoded, so that all know the entry.
    encoder.receive(&unhex("80")).unwrap();
    assert!(refers(&encode(&mut encoder, 8, &server("a"))));
    encoder.receive(&unhex("84 84 88")).unwrap();
}

#[test]
fn a_field_sent_again_gets_an_entry_that_later_sections_refer_to() {
    let mut encoder = encoder(4096, 0);
    assert_eq!(encode(&mut encoder, 0, &server("a")), unhex("0000 5f4d0161"));
    assert!(!encoder.has_output());
    // The second time it gets an entry, which the peer does not have yet.
    assert_eq!(encode(&mut encoder, 4, &server("a")), unhex("0000 5f4d0161"));
    assert_eq!(instructions(&mut encoder), unhex("3fe11f ff1d0161"));
    assert_eq!(encode(&mut encoder, 8, &server("a")), unhex("0000 5f4d0161"));
    encoder.receive(&unhex("01")).unwrap();
    assert_eq!(encode(&mut encoder, 12, &server("a")), unhex("0200 80"));
    assert!(!encoder.has_output());
}

#[test]
fn secrets_are_never_indexed() {
    let mut encoder = encoder(4096, 16);
    for (name, value, never_indexed) in [
        ("authorization", "Basic YTpi", true),
        ("proxy-authorization", "Basic YTpi", true),
        ("set-cookie", "a=0123456789012345678901234567890", true),
        ("cookie", "a=b", true),
        ("cookie", "a=0123456789012345678901234567890", false),
        ("x-custom", "1", false),
    ] {
        for _ in 0..3 {
            let section = encode(&mut encoder, 0, &fields(&[(name, value)]));
            let mut seen = None;
            let mut decoder = Decoder::new(4096, 1);
            let decoded = decoder.decode(StreamId::of_quic(0), &section, |field| {
                seen = Some(field.never_indexed);
                ControlFlow::Continue(())
            });
            assert!(!never_indexed || decoded == Ok(Decoded::Whole), "{name}");
            assert!(seen.is_none_or(|seen| seen == never_indexed), "{name}");
        }
    }
}

#[test]
fn entries_that_sections_refer_to_stay_until_they_are_acknowledged() {
    let (mut encoder, mut decoder) = (encoder(256, 100), Decoder::new(256, 100));
    let first = encode(&mut encoder, 0, &server("first"));
    decoder.receive(&instructions(&mut encoder)).unwrap();
    // The peer has all entries, but has not decoded the section, for example since its stream is slow.
    for stream in 1..200 {
        let _ = encode(&mut encoder, 4 * stream, &server(&format!("value {}", stream / 2)));
        decoder.receive(&instructions(&mut encoder)).unwrap();
        let acknowledged = acknowledgements(&mut decoder);
        encoder.receive(&acknowledged).unwrap();
    }
    assert!(decoder.insert_count() > 1);
    assert_eq!(decode(&mut decoder, 0, &first), Ok(Some(server("first"))));
}

#[test]
fn a_section_on_a_stream_that_the_peer_has_cancelled_refers_to_nothing() {
    let mut encoder = encoder(4096, 16);
    let _ = encode(&mut encoder, 0, &server("a"));
    encoder.receive(&unhex("80")).unwrap();
    assert_eq!(encode(&mut encoder, 4, &server("a")), unhex("0200 80"));
    // The cancellation of stream 4 was sent before its section arrived.
    encoder.receive(&unhex("44")).unwrap();
    assert_eq!(encode(&mut encoder, 4, &server("a")), unhex("0000 5f4d0161"));
    assert_eq!(encode(&mut encoder, 8, &server("a")), unhex("0200 80"));
    for stream in 12..44 {
        encoder.receive(&[0x40 | stream]).unwrap();
    }
    assert_eq!(encode(&mut encoder, 4, &server("a")), unhex("0200 80"));
}

#[test]
fn a_peer_that_never_acknowledges_costs_little() {
    let mut encoder = encoder(65_536, usize::MAX);
    let mut output = 0;
    for stream in 0..100_000 {
        let message = fields(&[("server", "a"), ("x-one", &format!("{}", stream / 3)), ("content-type", "a")]);
        let section = encode(&mut encoder, 4 * stream, &message);
        assert!(section.len() < 40);
        // The output is never taken.
        output += usize::from(encoder.has_output());
    }
    assert!(output > 0);
    assert!(instructions(&mut encoder).len() < 8192);
    // Streams that nobody knows, and sections that were not kept.
    assert_eq!(encoder.receive(&unhex("ff8080807f")), Err(DecoderStreamError::Acknowledgement));
}

#[test]
fn sections_do_not_depend_on_instructions_that_cannot_be_sent() {
    let mut encoder = encoder(4096, usize::MAX);
    let mut depending = 0;
    for stream in 0..100 {
        let value = format!("{stream}").repeat(30);
        depending += usize::from(encode(&mut encoder, 4 * stream, &server(&value))[0] != 0);
    }
    assert!((10..60).contains(&depending), "{depending}");
    let waiting = instructions(&mut encoder);
    assert!((1024..1200).contains(&waiting.len()));
    assert_ne!(encode(&mut encoder, 400, &server("b"))[0], 0);
}

#[test]
fn the_settings_of_an_earlier_connection_do_not_change_once_they_are_used() {
    let mut encoder = encoder(220, 1);
    let _ = encode(&mut encoder, 0, &server("a"));
    assert_eq!(instructions(&mut encoder)[..3], set_capacity(220));
    encoder.set_limits(4096, 0);
    // The entry is there; another stream may not be blocked any more.
    assert_eq!(encode(&mut encoder, 4, &server("a"))[..2], [0, 0]);
    encoder.receive(&unhex("01")).unwrap();
    assert_eq!(encode(&mut encoder, 4, &server("a")), unhex("0200 80"));
}

#[test]
fn whole_messages() {
    let mut headers = Headers::new();
    for (name, value) in [("Content-Type", "text/html"), ("X-One", "1"), ("x-one", "2"), ("Empty", "")] {
        headers.append(name, value).unwrap();
    }
    let (mut encoder, mut decoder) = (encoder(4096, 16), Decoder::new(4096, 16));
    for (stream, status) in
        [StatusCode::OK, StatusCode::NOT_FOUND, StatusCode::FOUND, StatusCode::IM_A_TEAPOT].iter().enumerate()
    {
        let stream = 4 * stream as u64;
        let mut block = b"before".to_vec();
        let mut section = encoder.begin(StreamId::of_quic(stream), &mut block);
        section.encode_status(*status);
        section.encode_headers(&headers);
        section.finish();
        decoder.receive(&instructions(&mut encoder)).unwrap();
        let expected = fields(&[
            (":status", status.as_str()),
            ("content-type", "text/html"),
            ("x-one", "1"),
            ("x-one", "2"),
            ("empty", ""),
        ]);
        let section = block.strip_prefix(b"before").unwrap();
        assert_eq!(decode(&mut decoder, stream, section), Ok(Some(expected)));
    }
}
