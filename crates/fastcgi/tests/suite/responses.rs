//! Responses of FastCGI applications, each read whole, byte by byte, and in two pieces at every place.

use serow_fastcgi::{ResponseForm, SectionLimits};
use serow_message::Method;

use crate::readers::{CgiReader, ResponseReader, every_way};

const STDOUT: &[u8] = b"\x01\x06\0\x01\0\x03\x05\0abc\0\0\0\0\0";
const STDOUT_END: &[u8] = b"\x01\x06\0\x01\0\0\0\0";
const STDERR: &[u8] = b"\x01\x07\0\x01\0\x04\0\0oops";
const STDERR_END: &[u8] = b"\x01\x07\0\x01\0\0\x01\0?";
const END: &[u8] = b"\x01\x03\0\x01\0\x08\0\0\0\0\0\0\0\0\0\0";

#[test]
fn records_are_judged_alike_wherever_they_are_split() {
    let cases: [(&[&[u8]], &[&str]); 20] = [
        (&[END], &["end 0"]),
        (&[STDOUT, STDOUT, END], &["stdout abcabc", "end 0"]),
        (&[STDERR, STDOUT, STDERR, END], &["stderr oops", "stdout abc", "stderr oops", "end 0"]),
        (&[STDOUT, STDOUT_END, STDERR_END, END], &["stdout abc", "end 0"]),
        // Padding of any length, that of the end as well; the reserved byte is ignored.
        (&[b"\x01\x06\0\x01\0\x01\x03\xffa...\x01\x03\0\x01\0\x08\x02\0\0\0\0\x07\0...??"], &["stdout a", "end 7"]),
        (&[b"\x01\x06\0\x01\0\0\x03\0...", END], &["end 0"]),
        // As after a crash of the application.
        (&[], &["Incomplete"]),
        (&[STDOUT], &["stdout abc", "Incomplete"]),
        (&[&STDOUT[..10]], &["stdout ab", "Incomplete"]),
        (&[&END[..15]], &["Incomplete"]),
        // Refusals.
        (&[b"\x01\x03\0\x01\0\x08\0\0\0\0\0\0\x02\0\0\0"], &["Refused(Overloaded)"]),
        (&[b"\x01\x03\0\x01\0\x08\0\0\0\0\0\0\x09\0\0\0"], &["Refused(Unknown(9))"]),
        // Violations.
        (&[END, b"x"], &["end 0", "AfterEnd"]),
        (&[END, END], &["end 0", "AfterEnd"]),
        (&[b"HTTP/1.1 400 Bad Request"], &["Version(72)"]),
        (&[b"\x01\x06\0\x02\0\x01\0\0a"], &["OtherRequest(2)"]),
        (&[b"\x01\x0b\0\0\0\x08\0\0\x09......."], &["UnexpectedRecord(11)"]),
        (&[b"\x01\x0c\0\x01\0\0\0\0"], &["UnexpectedRecord(12)"]),
        (&[b"\x01\x05\0\x01\0\0\0\0"], &["UnexpectedRecord(5)"]),
        (&[b"\x01\x03\0\x01\0\x07\0\0......."], &["RecordLength(3)"]),
    ];
    for (parts, expected) in cases {
        let input = parts.concat();
        assert_eq!(every_way(|| ResponseReader::new(None), &input), expected, "{}", input.escape_ascii());
    }
}

#[test]
fn a_header_section_may_span_records_and_follow_messages() {
    let parts: [&[u8]; 6] = [
        STDERR,
        b"\x01\x06\0\x01\0\x06\x02\0Status??",
        b"\x01\x06\0\x01\0\x07\x01\0: 404\r\n?",
        STDERR,
        b"\x01\x06\0\x01\0\x06\x02\0\r\nbody??",
        END,
    ];
    let limits = SectionLimits { bytes: 100, fields: 10 };
    let new = || ResponseReader::new(Some(CgiReader::new(limits, ResponseForm::Cgi, &Method::GET)));
    assert_eq!(every_way(new, &parts.concat()), ["stderr oopsoops", "end 0", "404", "data body", "end"]);
    // A child that dies behind the header section.
    assert_eq!(every_way(new, &parts[..5].concat()), ["stderr oopsoops", "Incomplete", "404", "data body"]);
}
