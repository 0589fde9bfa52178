//! The cases of `tests/frames/cases.txt`, each taken whole, byte by byte, and with another frame behind it.
//!
//! ```text
//! # A comment.
//! == RFC 9113 §6.1: what the case shows
//! @ largest 64             our SETTINGS_MAX_FRAME_SIZE, 16,384 where nothing is said
//! > 000005 00 01 00000001  input: hexadecimal digits,
//! > "hello" 00*3           text, and bytes that are repeated
//! = DATA 1 "hello" end_stream       what is seen, a line for each frame or error
//! ```
//!
//! `incomplete` is the last line of a case that ends inside of a frame.

pub(crate) mod taken;

use taken::{Seen, take_split, take_whole};

struct Case {
    name: String,
    largest: usize,
    input: Vec<u8>,
    expected: Vec<String>,
}

#[test]
fn cases() {
    let cases = parse(include_str!("../frames/cases.txt"));
    assert!(cases.len() > 90, "only {} cases", cases.len());
    let wrong = cases.iter().filter(|case| !case.holds()).count();
    assert_eq!(wrong, 0, "{wrong} of {} cases are wrong", cases.len());
}

impl Case {
    fn holds(&self) -> bool {
        let whole = take_whole(&self.input, self.largest);
        let split = take_split(&self.input, 1..self.input.len(), self.largest);
        let mut ok = self.agrees("whole", &whole, &self.expected) & self.agrees("split", &split, &self.expected);
        ok &= whole.frames == split.frames;
        if self.expected.last().is_some_and(|line| line == "incomplete") {
            return ok;
        }
        let tail = [&self.input, TAIL].concat();
        let mut expected = self.expected.clone();
        if !whole.has_ended {
            expected.push("PING \"the tail\" ack".into());
        }
        ok &= self.agrees("with a tail", &take_whole(&tail, self.largest), &expected);
        ok & self.agrees("with a tail, split", &take_split(&tail, 1..tail.len(), self.largest), &expected)
    }

    fn agrees(&self, way: &str, seen: &Seen, expected: &[String]) -> bool {
        if seen.lines == expected {
            return true;
        }
        println!("{} ({way})\n  expected {expected:#?}\n  seen {:#?}", self.name, seen.lines);
        false
    }
}

fn parse(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix("== ") {
            cases.push(Case { name: name.into(), largest: 16_384, input: Vec::new(), expected: Vec::new() });
            continue;
        }
        let case = cases.last_mut().expect("a name comes first");
        match line.split_at(2) {
            ("@ ", setting) => {
                let value = setting.strip_prefix("largest ").expect("there is no other setting");
                case.largest = value.parse().expect("a number");
            }
            ("> ", input) => read_bytes(input, &mut case.input),
            ("= ", seen) => case.expected.push(seen.into()),
            _ => panic!("a line of no kind: {line}"),
        }
    }
    cases
}

/// Words of hexadecimal digits, `XX*COUNT`, or text in quotes, which has no spaces.
fn read_bytes(line: &str, input: &mut Vec<u8>) {
    for word in line.split_whitespace() {
        if let Some(text) = word.strip_prefix('"') {
            input.extend_from_slice(text.strip_suffix('"').expect("a quote at the end").as_bytes());
            continue;
        }
        let (digits, count) = word.split_once('*').unwrap_or((word, "1"));
        let byte = |place| u8::from_str_radix(&digits[place..place + 2], 16).expect("hexadecimal digits");
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        input.extend(bytes.repeat(count.parse().expect("a number")));
    }
}

/// A frame of eight bytes, so that it fits any limit of the cases.
const TAIL: &[u8] = b"\0\0\x08\x06\x01\0\0\0\0the tail";
