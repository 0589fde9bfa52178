//! Header compression: the examples of RFC 7541, what is refused, sizes of the table, and that decoding undoes
//! encoding.

pub(crate) mod reader;

use std::ops::ControlFlow;

use proptest::prelude::*;
use reader::{Line, decode, line, table};
use serow_http2::hpack::{DecodeError, Decoder, Encoder, Name, Pseudo};
use serow_message::{Headers, KnownHeader, StatusCode};

use crate::machine::compression::{field, unhex};

#[test]
fn the_examples_of_the_rfc() {
    let mut examples = 0;
    for story in include_str!("../hpack/examples.txt").split("\n== ").skip(1) {
        let mut decoder = Decoder::new(4096);
        for block in story.split("\n> ").skip(1) {
            let (block, expected) = block.split_once('\n').unwrap_or((block, ""));
            let block = unhex(block);
            let shown = |line: &Line| format!("{}: {}{}", line.name(), line.value(), line.note());
            let mut seen: Vec<String> = decode(&mut decoder, &block).expect(story).iter().map(shown).collect();
            seen.extend(table(&mut decoder).iter().map(|line| format!("table {}", shown(line))));
            let expected: Vec<&str> = expected.lines().filter(|line| !line.is_empty()).collect();
            assert_eq!(seen, expected, "{story}");
            examples += 1;
        }
    }
    assert_eq!(examples, 4 + 6 + 8);
}

#[test]
fn an_example_cut_short_is_an_error_or_ends_between_fields() {
    for story in include_str!("../hpack/examples.txt").split("\n== ").skip(1) {
        let blocks: Vec<Vec<u8>> =
            story.split("\n> ").skip(1).map(|block| unhex(block.lines().next().unwrap_or_default())).collect();
        for (number, block) in blocks.iter().enumerate() {
            let decoder_before = || {
                let mut decoder = Decoder::new(4096);
                blocks[..number].iter().for_each(|block| drop(decode(&mut decoder, block).expect(story)));
                decoder
            };
            let whole = decode(&mut decoder_before(), block).expect(story);
            let mut ends = 0;
            for end in 0..block.len() {
                match decode(&mut decoder_before(), &block[..end]) {
                    Ok(fields) => {
                        assert_eq!(fields, whole[..fields.len()]);
                        ends += 1;
                    }
                    Err(error) => assert_eq!(error, DecodeError::Truncated, "{story} {end}"),
                }
            }
            // The beginning, and behind each field but the last.
            assert_eq!(ends, whole.len().max(1), "{story}");
        }
    }
}

#[test]
fn malformed_blocks_are_refused() {
    for case in include_str!("../hpack/refused.txt").lines() {
        if case.is_empty() || case.starts_with('#') {
            continue;
        }
        let mut words = case.splitn(3, ' ');
        let (block, reason) = (unhex(words.next().expect("a block")), words.next().expect("a reason"));
        let outcome = decode(&mut Decoder::new(4096), &block);
        assert_eq!(outcome.map_err(|error| format!("{error:?}")), Err(reason.to_owned()), "{case}");
    }
}

#[test]
fn a_caller_that_breaks_sees_no_more_fields_but_the_table_goes_on() {
    let mut decoder = Decoder::new(4096);
    let mut seen = 0;
    let block = unhex("82 400161 0162 400163 0164 84");
    decoder
        .decode(&block, |_| {
            seen += 1;
            if seen == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .unwrap();
    assert_eq!(seen, 2);
    assert_eq!(table(&mut decoder), [line("c", "d"), line("a", "b")]);
    // Errors behind the break are still found: the table has 61 entries and two more.
    for (block, expected) in [
        ("82 bebfbebe 400165 0166", Ok(())),
        ("82 be80", Err(DecodeError::Index)),
        ("82 bec0 c1", Err(DecodeError::Index)),
        ("82 beff00", Err(DecodeError::Index)),
        ("82 beff", Err(DecodeError::Truncated)),
    ] {
        assert_eq!(decoder.decode(&unhex(block), |_| ControlFlow::Break(())), expected, "{block}");
    }
    assert_eq!(table(&mut decoder).len(), 3);
}

#[test]
fn names_are_told() {
    let mut kinds = Vec::new();
    let block =
        unhex("82 83 84 87 88 90 41 0161 0f2b0161 4004 64617465 0161 4004 44617465 0161 4003 3a7878 00 1f0f 00");
    let mut decoder = Decoder::new(4096);
    decoder
        .decode(&block, |field| {
            kinds.push((field.name_kind, field.never_indexed));
            ControlFlow::Continue(())
        })
        .unwrap();
    let pseudo = |pseudo| (Name::Pseudo(pseudo), false);
    let known = |known| (Name::Known(known), false);
    assert_eq!(
        kinds,
        [
            pseudo(Pseudo::Method),
            pseudo(Pseudo::Method),
            pseudo(Pseudo::Path),
            pseudo(Pseudo::Scheme),
            pseudo(Pseudo::Status),
            known(KnownHeader::AcceptEncoding),
            pseudo(Pseudo::Authority),
            known(KnownHeader::UserAgent),
            known(KnownHeader::Date),
            // A capital.
            (Name::Other, false),
            (Name::Other, false),
            (Name::Known(KnownHeader::ContentRange), true),
        ]
    );
}

#[test]
fn the_static_table_is_that_of_the_rfc() {
    let mut names = String::new();
    for index in 1..=61 {
        let fields = decode(&mut Decoder::new(4096), &[0x80 | index]).unwrap();
        names.push_str(&format!("{} {}: {}\n", index, fields[0].name(), fields[0].value()));
    }
    assert_eq!(names, include_str!("../hpack/static_table.txt"));
}

#[test]
fn an_entry_may_take_its_name_from_one_that_leaves_for_it() {
    let mut decoder = Decoder::new(4096);
    let value = "v".repeat(4096 - 32 - 4);
    let mut block = unhex("4004 6e616d65 7fdd1e");
    block.extend_from_slice(value.as_bytes());
    decode(&mut decoder, &block).unwrap();
    assert_eq!(table(&mut decoder), [line("name", &value)]);
    for _ in 0..10 {
        let mut block = unhex("7e 7fdd1e");
        block.extend_from_slice(value.as_bytes());
        assert_eq!(decode(&mut decoder, &block).unwrap(), [line("name", &value)]);
        assert_eq!(table(&mut decoder), [line("name", &value)]);
    }
    // One that is larger than the table empties it, and is a field all the same.
    let mut block = unhex("7e 7fde1e 76");
    block.extend_from_slice(value.as_bytes());
    assert_eq!(decode(&mut decoder, &block).unwrap(), [line("name", &format!("v{value}"))]);
    assert_eq!(table(&mut decoder), []);
}

#[test]
fn the_peer_must_follow_a_smaller_table_once_it_has_acknowledged_it() {
    let mut decoder = Decoder::new(100);
    // Not yet acknowledged: what HTTP/2 begins with counts.
    decode(&mut decoder, &unhex("3fe11f 4001610162")).unwrap();
    decoder.set_capacity(100);
    assert_eq!(decode(&mut Decoder::new(100), &unhex("be")), Err(DecodeError::Index));
    let refused = |block: &str| {
        let mut decoder = Decoder::new(100);
        decoder.set_capacity(100);
        decode(&mut decoder, &unhex(block))
    };
    assert_eq!(refused("82"), Err(DecodeError::SizeUpdate));
    assert_eq!(refused("3f46 82"), Err(DecodeError::SizeUpdate));
    assert_eq!(refused("3f45 82").map(|fields| fields.len()), Ok(1));
    assert_eq!(refused("20 3f45 82").map(|fields| fields.len()), Ok(1));
    assert_eq!(decode(&mut decoder, &unhex("3f45 be")).unwrap(), [line("a", "b")]);
    // A larger one may be used, but need not.
    decoder.set_capacity(8192);
    assert_eq!(decode(&mut decoder, &unhex("be")).unwrap(), [line("a", "b")]);
    assert_eq!(decode(&mut decoder, &unhex("3fe13f be")).unwrap(), [line("a", "b")]);
    assert_eq!(decode(&mut decoder, &unhex("3fe23f be")), Err(DecodeError::SizeUpdate));
}

#[test]
fn the_encoder_tells_the_smallest_and_the_last_size() {
    let block_after = |capacities: &[usize]| {
        let (mut encoder, mut block) = (Encoder::new(), Vec::new());
        for capacity in capacities {
            encoder.set_capacity(*capacity);
        }
        encoder.encode_pseudo(Pseudo::Method, b"GET", &mut block);
        let first = block.split_off(0);
        encoder.encode_pseudo(Pseudo::Method, b"GET", &mut block);
        assert_eq!(block, [0x82]);
        first
    };
    assert_eq!(block_after(&[4096]), unhex("82"));
    assert_eq!(block_after(&[65536]), unhex("82"));
    assert_eq!(block_after(&[0]), unhex("20 82"));
    assert_eq!(block_after(&[100]), unhex("3f45 82"));
    assert_eq!(block_after(&[0, 65536]), unhex("20 3fe11f 82"));
    assert_eq!(block_after(&[1000, 100, 200]), unhex("3f45 3fa901 82"));
    assert_eq!(block_after(&[1000, 200, 100]), unhex("3f45 82"));
}

#[test]
fn an_encoder_without_table_writes_literals() {
    let (mut encoder, mut block) = (Encoder::new(), Vec::new());
    encoder.set_capacity(0);
    for _ in 0..3 {
        encoder.encode(b"server", Some(KnownHeader::Server), b"a", &mut block);
    }
    assert_eq!(block, unhex("20 0f270161 0f270161 0f270161"));
}

/// The encodings of a field that is sent three times: n(ever indexed), l(iteral), a(dded), i(ndexed).
fn thrice(name: &str, value: &str) -> String {
    let mut encoder = Encoder::new();
    let kind = |block: &[u8]| match block[0] {
        0x80.. => 'i',
        0x40.. => 'a',
        0x10..0x20 => 'n',
        _ => 'l',
    };
    let mut kinds = String::new();
    for _ in 0..3 {
        let mut block = Vec::new();
        encoder.encode(name.as_bytes(), KnownHeader::recognise(name.as_bytes()), value.as_bytes(), &mut block);
        kinds.push(kind(&block));
    }
    kinds
}

#[test]
fn secrets_are_never_indexed_and_what_changes_only_when_it_comes_again() {
    for (name, value, expected) in [
        ("server", "serow", "aii"),
        ("content-type", "text/html", "aii"),
        ("accept-encoding", "gzip, deflate", "iii"),
        ("x-custom", "1", "aii"),
        ("X-Custom", "1", "aii"),
        ("date", "Tue, 15 Nov 1994 08:12:31 GMT", "aii"),
        ("content-length", "12", "lai"),
        ("etag", "\"a\"", "lai"),
        ("last-modified", "Tue, 15 Nov 1994 08:12:31 GMT", "lai"),
        ("location", "/a", "lai"),
        ("authorization", "Basic YTpi", "nnn"),
        ("proxy-authorization", "Basic YTpi", "nnn"),
        ("set-cookie", "a=0123456789012345678901234567890", "nnn"),
        ("cookie", "a=0123456789012345678901234567890", "aii"),
        ("cookie", "a=b", "nnn"),
        ("x-custom", &"v".repeat(3000), "lll"),
    ] {
        assert_eq!(thrice(name, value), expected, "{name}");
    }
}

#[test]
fn values_that_change_each_time_do_not_push_out_constant_ones() {
    let mut encoder = Encoder::new();
    let (mut first, mut block) = (Vec::new(), Vec::new());
    encoder.encode(b"server", Some(KnownHeader::Server), b"serow", &mut first);
    for number in 0..10_000 {
        let number = format!("\"{number}\"");
        encoder.encode(b"etag", Some(KnownHeader::Etag), number.as_bytes(), &mut block);
        encoder.encode(b"location", Some(KnownHeader::Location), number.as_bytes(), &mut block);
    }
    block.clear();
    encoder.encode(b"server", Some(KnownHeader::Server), b"serow", &mut block);
    assert!(matches!(block[..], [0x80..=0xff]), "{block:x?}");
}

#[test]
fn whole_messages() {
    let mut headers = Headers::new();
    for (name, value) in [("Content-Type", "text/html"), ("X-One", "1"), ("x-one", "2"), ("Empty", "")] {
        headers.append(name, value).unwrap();
    }
    let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
    for status in [StatusCode::OK, StatusCode::NOT_FOUND, StatusCode::FOUND, StatusCode::FOUND] {
        let mut block = Vec::new();
        encoder.encode_status(status, &mut block);
        encoder.encode_headers(&headers, &mut block);
        let expected = [
            line(":status", status.as_str()),
            line("content-type", "text/html"),
            line("x-one", "1"),
            line("x-one", "2"),
            line("empty", ""),
        ];
        assert_eq!(decode(&mut decoder, &block).unwrap(), expected);
    }
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(
        blocks in prop::collection::vec(
            (prop::collection::vec(0..5000_usize, 0..3), prop::collection::vec(field(), 1..12)), 0..12),
    ) {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new(4096));
        for (capacities, fields) in blocks {
            let mut block = Vec::new();
            for capacity in capacities {
                encoder.set_capacity(capacity);
                decoder.set_capacity(capacity);
            }
            for (name, value) in &fields {
                encoder.encode(name, KnownHeader::recognise(name), value, &mut block);
            }
            let expected: Vec<(Vec<u8>, Vec<u8>)> =
                fields.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
            let decoded = decode(&mut decoder, &block).unwrap();
            prop_assert_eq!(decoded.into_iter().map(|line| (line.name, line.value)).collect::<Vec<_>>(), expected);
            for end in 0..block.len().min(200) {
                // The table is another afterwards, so each piece has a decoder of its own.
                let _ = decode(&mut Decoder::new(4096), &block[..end]);
            }
        }
    }

    #[test]
    fn no_block_makes_it_panic(blocks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..8)) {
        let mut decoder = Decoder::new(4096);
        for block in blocks {
            let _ = decode(&mut decoder, &block);
            let held: usize = table(&mut decoder).iter().map(|line| line.name.len() + line.value.len() + 32).sum();
            prop_assert!(held <= 4096);
        }
    }
}
