//! Requests as an application receives them, each whole, byte by byte, and in two pieces at every place.

use crate::readers::{RequestReader, every_way};

const BEGIN: &[u8] = b"\x01\x01\0\x05\0\x08\0\0\0\x01\x01\0\0\0\0\0";
const BEGIN_FILTER: &[u8] = b"\x01\x01\0\x05\0\x08\0\0\0\x03\0\0\0\0\0\0";
const BEGIN_AUTHORIZER: &[u8] = b"\x01\x01\0\x05\0\x08\0\0\0\x02\0\0\0\0\0\0";
/// The pair A=1, split between two records, and the end of the stream.
const PARAMS: &[u8] = b"\x01\x04\0\x05\0\x01\0\0\x01\x01\x04\0\x05\0\x03\x01\0\x01A1?\x01\x04\0\x05\0\0\0\0";
const STDIN: &[u8] = b"\x01\x05\0\x05\0\x02\x01\0ab?";
const STDIN_END: &[u8] = b"\x01\x05\0\x05\0\0\0\0";
const DATA: &[u8] = b"\x01\x08\0\x05\0\x01\0\0c";
const DATA_END: &[u8] = b"\x01\x08\0\x05\0\0\0\0";
const ABORT: &[u8] = b"\x01\x02\0\x05\0\0\0\0";
const RESPONDER: &[&str] = &["Responder Keep", "A=1"];
const GET_VALUES: &[u8] = b"\x01\x09\0\0\0\x03\0\0\x01\0Q";

#[test]
fn requests_are_judged_alike_wherever_they_are_split() {
    type Case<'a> = (&'a [&'a [u8]], &'a [&'a [&'a str]]);
    let cases: [Case<'_>; 21] = [
        (&[], &[&["end"]]),
        (&[BEGIN, PARAMS, STDIN, STDIN, STDIN_END], &[RESPONDER, &["stdin abab", "StdinEnd", "end"]]),
        (&[BEGIN, PARAMS, STDIN_END], &[RESPONDER, &["StdinEnd", "end"]]),
        (&[BEGIN, PARAMS, STDIN, ABORT], &[RESPONDER, &["stdin ab", "Abort", "Incomplete"]]),
        (&[BEGIN, ABORT], &[&["Abort", "end"]]),
        (
            &[BEGIN_FILTER, PARAMS, STDIN, STDIN_END, DATA, DATA_END],
            &[&["Filter Close", "A=1", "stdin ab", "StdinEnd", "data c", "DataEnd", "end"]],
        ),
        (&[BEGIN_AUTHORIZER, PARAMS], &[&["Authorizer Close", "A=1", "end"]]),
        (&[GET_VALUES], &[&[r#"GetValues({"Q": ""})"#, "end"]]),
        (&[b"\x01\x99\0\0\0\x01\0\0x"], &[&["UnknownType(153)", "end"]]),
        // Of a request that has ended.
        (&[STDIN, STDIN_END, ABORT, BEGIN, PARAMS, STDIN_END], &[RESPONDER, &["StdinEnd", "end"]]),
        // Violations.
        (&[BEGIN, BEGIN], &[&["UnexpectedRecord(1)"]]),
        (&[BEGIN, PARAMS, b"\x01\x01\0\x06\0\x08\0\0\0\x01\0\0\0\0\0\0"], &[RESPONDER, &["OtherRequest(6)"]]),
        (&[BEGIN, STDIN_END], &[&["UnexpectedRecord(5)"]]),
        (&[BEGIN, PARAMS, STDIN_END, STDIN], &[RESPONDER, &["StdinEnd", "UnexpectedRecord(5)"]]),
        (&[BEGIN, PARAMS, DATA], &[RESPONDER, &["UnexpectedRecord(8)"]]),
        (&[BEGIN, b"\x01\x04\0\x05\0\x09\0\0\x01\x06A123456"], &[&["ParamsTooLong"]]),
        (&[BEGIN, b"\x01\x04\0\x05\0\x02\0\0\x01\x06\x01\x04\0\x05\0\0\0\0"], &[&["Pair"]]),
        (&[b"\x01\x01\0\x05\0\x09\0\0\0\x01\x01\0\0\0\0\0\0"], &[&["RecordLength(1)"]]),
        (&[b"\x01\x06\0\x05\0\0\0\0"], &[&["UnexpectedRecord(6)"]]),
        (&[b"GET / HTTP/1.1"], &[&["Version(71)"]]),
        (&[BEGIN, PARAMS, &STDIN[..9]], &[RESPONDER, &["stdin a", "Incomplete"]]),
    ];
    for (parts, expected) in cases {
        let input = parts.concat();
        assert_eq!(every_way(|| RequestReader::new(8), &input), expected.concat(), "{}", input.escape_ascii());
    }
}
