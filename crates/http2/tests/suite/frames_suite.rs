//! The cases of http2-frame-test-case: good frames of each kind, and errors with the codes they may have.

use crate::frames::taken::{take_split, take_whole};
use crate::suites::Suite;

/// The good frames, as this crate shows them.
const GOOD: [(&str, &str); 12] = [
    ("continuation/header.json", "CONTINUATION 50 \"this is dummy\""),
    ("continuation/normal.json", "CONTINUATION 50 \"\""),
    ("data/normal.json", "DATA 2 \"Hello, world!\" padding 7"),
    ("goaway/normal.json", "GOAWAY 30 COMPRESSION_ERROR \"hpack is broken\""),
    ("headers/normal.json", "HEADERS 1 \"this is dummy\" end_headers"),
    ("headers/priority.json", "HEADERS 3 \"this is dummy\" end_headers on 20 weight 10 exclusive"),
    ("ping/normal.json", "PING \"deadbeef\""),
    ("priority/normal.json", "PRIORITY 9 on 11 weight 8"),
    ("push_promise/normal.json", "PUSH_PROMISE 10 of 12 \"this is dummy\" end_headers"),
    ("rst_stream/normal.json", "RST_STREAM 5 CANCEL"),
    ("settings/normal.json", "SETTINGS 0x1=8192 0x3=5000"),
    ("window_update/normal.json", "WINDOW_UPDATE 50 by 1000"),
];

#[test]
fn frames_of_the_suite() {
    let Some(suite) = Suite::unpack("http2-frame-test-case") else { return };
    let mut good = 0;
    let mut wrong = 0;
    for (name, text) in suite.files("http2jp+http2-frame-test-case") {
        let text = String::from_utf8(text).expect("JSON is UTF-8");
        if !name.ends_with(".json") {
            continue;
        }
        let wire = bytes(value(&text, "wire").trim_matches('"'));
        let seen = take_whole(&wire, 16_384);
        assert_eq!(take_split(&wire, 1..wire.len(), 16_384), seen, "{name}, byte by byte");
        let [line] = &seen.lines[..] else { panic!("{name}: {:?}", seen.lines) };
        match value(&text, "error") {
            "null" => {
                let known = GOOD.iter().find(|(known, _)| *known == name);
                let (_, expected) = known.unwrap_or_else(|| panic!("{name} is new: {line}"));
                assert_eq!(line, expected, "{name}");
                good += 1;
            }
            codes => {
                let code = line.strip_prefix("refused ").and_then(|line| line.rsplit(' ').next());
                let number = match code {
                    Some("PROTOCOL_ERROR") => "1",
                    Some("FRAME_SIZE_ERROR") => "6",
                    _ => panic!("{name}: {line}"),
                };
                let mut codes = codes.trim_matches(['[', ']']).split(',').map(str::trim);
                assert!(codes.any(|code| code == number), "{name}: {line}");
                wrong += 1;
            }
        }
    }
    assert_eq!((good, wrong), (GOOD.len(), 22));
}

/// The value of a key that stands once in this text: a string, `null` or a list.
fn value<'a>(text: &'a str, key: &str) -> &'a str {
    let (_, value) = text.split_once(&format!("\"{key}\":")).unwrap_or_else(|| panic!("no {key} in {text}"));
    let value = value.trim_start();
    let end = match value.starts_with('[') {
        true => value.find(']').map(|end| end + 1),
        false => value.find([',', '\n', '}']),
    };
    &value[..end.expect("an end of the value")]
}

fn bytes(digits: &str) -> Vec<u8> {
    let byte = |place| u8::from_str_radix(&digits[place..place + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}
