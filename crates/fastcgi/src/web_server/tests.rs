use alloc::{
    string::{String, ToString},
    vec,
};

use super::*;
use crate::record::write_record;

fn variables(pairs: &[(&str, &[u8])]) -> Variables {
    let mut variables = Variables::default();
    pairs.iter().for_each(|(name, value)| variables.push(name, value).unwrap());
    variables
}

fn begun(role: Role, persistence: Persistence) -> (WebServer, Vec<u8>) {
    let mut output = Vec::new();
    let server = WebServer::begin_request(role, persistence, &variables(&[("A", b"1")]), &mut output).unwrap();
    (server, output)
}

/// Header and content of each record.
fn records(mut bytes: &[u8]) -> Vec<(RecordHeader, &[u8])> {
    let mut records = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk() {
        let header = RecordHeader::decode(*header);
        let (content, rest) = rest.split_at(header.length());
        records.push((header, &content[..usize::from(header.content_length)]));
        bytes = rest;
    }
    records
}

#[test]
fn a_request_is_written_as_in_the_specification() {
    let (mut server, mut output) = begun(Role::Responder, Persistence::Keep);
    assert_eq!(server.begin_piece(5, &mut output), Ok(5));
    output.extend_from_slice(b"hello");
    server.end_stream(&mut output).unwrap();
    let expected = b"\x01\x01\0\x01\0\x08\0\0\0\x01\x01\0\0\0\0\0\
        \x01\x04\0\x01\0\x04\0\0\x01\x01A1\x01\x04\0\x01\0\0\0\0\
        \x01\x05\0\x01\0\x05\0\0hello\x01\x05\0\x01\0\0\0\0";
    assert_eq!(output.escape_ascii().to_string(), expected.escape_ascii().to_string());
    assert!(server.has_sent_all());
    assert_eq!(server.begin_piece(1, &mut output), Err(UsageError::OutOfTurn));
    assert_eq!(server.end_stream(&mut output), Err(UsageError::OutOfTurn));
}

#[test]
fn params_without_a_variable_end_at_once() {
    let mut output = Vec::new();
    WebServer::begin_request(Role::Responder, Persistence::Close, &Variables::default(), &mut output).unwrap();
    assert_eq!(&output[16..], b"\x01\x04\0\x01\0\0\0\0");
}

#[test]
fn a_pair_never_spans_two_records() {
    // The lengths of a short name and a long value take five bytes.
    for length in [100, 30_000, 32_000, 32_759, 32_760, MAX_PAIR_LENGTH - 9] {
        let value = vec![b'x'; length];
        let names: Vec<String> = (1000..1020).map(|number| number.to_string()).collect();
        let mut list = Variables::default();
        names.iter().for_each(|name| list.push(name, &value).unwrap());
        let mut output = Vec::new();
        WebServer::begin_request(Role::Responder, Persistence::Close, &list, &mut output).unwrap();
        let records = records(&output);
        let (last, params) = records[1..].split_last().unwrap();
        assert!(last.1.is_empty(), "the end of the stream");
        let mut read = Variables::default();
        for (header, content) in params {
            assert_eq!((header.record_type, header.request_id), (4, 1));
            assert!(!content.is_empty() && content.len() <= MAX_PIECE_LENGTH);
            // Only whole pairs are read.
            crate::pairs::parse_pairs(content)
                .unwrap()
                .iter()
                .for_each(|(name, value)| read.push(name, value).unwrap());
        }
        assert_eq!(read, list, "{length}");
    }
}

#[test]
fn a_variable_longer_than_a_record_is_named() {
    for (length, is_right) in [(MAX_PAIR_LENGTH - 8, true), (MAX_PAIR_LENGTH - 7, false), (1_000_000, false)] {
        let list = variables(&[("A", b"1"), ("HTTP_X", &vec![b'x'; length - 3])]);
        let mut output = vec![b'z'];
        let result = WebServer::begin_request(Role::Responder, Persistence::Close, &list, &mut output);
        match result {
            Ok(_) => assert!(is_right, "{length}"),
            Err(error) => {
                assert!(!is_right, "{length}");
                assert_eq!(error, VariablesError::TooLong { name: "HTTP_X".into(), length: length + 8 });
                assert_eq!(output, b"z");
            }
        }
    }
}

#[test]
fn long_bodies_are_pieces_of_whole_words() {
    let (mut server, mut output) = begun(Role::Responder, Persistence::Close);
    output.clear();
    assert_eq!(server.begin_piece(0, &mut output), Ok(0));
    assert_eq!(output, b"", "an empty record would end the stream");
    assert_eq!(server.begin_piece(1 << 40, &mut output), Ok(MAX_PIECE_LENGTH));
    assert_eq!(output, b"\x01\x05\0\x01\xff\xf8\0\0");
}

#[test]
fn the_role_determines_the_streams() {
    // Streams by the numbers of their types.
    for (role, streams) in [(Role::Responder, &[5][..]), (Role::Authorizer, &[]), (Role::Filter, &[5, 8])] {
        let (mut server, mut output) = begun(role, Persistence::Close);
        output.clear();
        while server.end_stream(&mut output).is_ok() {}
        let seen: Vec<u8> = records(&output).iter().map(|(header, _)| header.record_type).collect();
        assert_eq!(seen, streams, "{role:?}");
    }
}

#[test]
fn abort_ends_the_request_and_the_connection() {
    let (mut server, mut output) = begun(Role::Responder, Persistence::Keep);
    output.clear();
    server.send_abort(&mut output);
    assert_eq!(output, b"\x01\x02\0\x01\0\0\0\0");
    assert_eq!(server.end_stream(&mut output), Err(UsageError::OutOfTurn));
    let mut input = BytesMut::from(END);
    assert_eq!(server.receive(&mut input), Ok(Some(ResponseEvent::End { application_status: 0 })));
    assert!(!server.can_reuse(&input));
}

const END: &[u8] = b"\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0";

fn record(record_type: RecordType, content: &[u8]) -> Vec<u8> {
    let mut output = Vec::new();
    write_record(record_type, FIRST_REQUEST, content, &mut output);
    output
}

#[test]
fn only_a_complete_exchange_leaves_a_kept_connection() {
    for (persistence, has_sent_all, left, expected) in [
        (Persistence::Keep, true, &b""[..], true),
        (Persistence::Close, true, b"", false),
        (Persistence::Keep, false, b"", false),
        (Persistence::Keep, true, b"x", false),
    ] {
        let (mut server, mut output) = begun(Role::Responder, persistence);
        if has_sent_all {
            server.end_stream(&mut output).unwrap();
        }
        assert!(!server.can_reuse(b""), "the response is to come");
        server.receive(&mut BytesMut::from(END)).unwrap();
        assert_eq!(server.can_reuse(left), expected, "{persistence:?}, {has_sent_all}, {left:?}");
    }
}

#[test]
fn pieces_of_a_response_are_not_copied() {
    let (mut server, _) = begun(Role::Responder, Persistence::Close);
    let mut input = BytesMut::from(&record(RecordType::Stdout, b"abcdefgh")[..]);
    let content = input[8..].as_ptr();
    let Ok(Some(ResponseEvent::Stdout(piece))) = server.receive(&mut input) else { panic!("no piece") };
    assert_eq!(piece.as_ptr(), content);
}
