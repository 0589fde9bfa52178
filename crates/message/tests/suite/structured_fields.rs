//! The field `priority` is a structured field (RFC 9651): the HTTP working group's cases through the crate that judges
//! our reader, the cases that a dictionary can show through our reader, and both against each other on anything else.
#![allow(clippy::unwrap_used)]

mod json;
mod reference;

use crate::suites::Suite;
use proptest::prelude::*;
use serde_json::Value;
use serow_message::PartialPriority;
use sfv::{Dictionary, FieldType, Item, List, Parser};

/// All cases of the suite that have what this says.
fn cases(suite: &Suite, with: &str) -> Vec<Value> {
    let mut cases = Vec::new();
    for (name, text) in suite.files("httpwg+structured-field-tests") {
        if name.ends_with(".json") && !name.starts_with("schema") && name != "package.json" {
            let file: Value = serde_json::from_slice(&text).unwrap();
            cases.extend(file.as_array().unwrap().iter().filter(|case| case.get(with).is_some()).cloned());
        }
    }
    cases
}

fn is(case: &Value, what: &str) -> bool {
    case.get(what).and_then(Value::as_bool).unwrap_or(false)
}

/// The value of all lines.
fn joined(lines: &Value) -> String {
    let lines: Vec<_> = lines.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    lines.join(", ")
}

/// Parsed, it is what is expected, and is written as it should be.
fn check<T: FieldType + PartialEq>(case: &Value, expected: impl Fn(&Value) -> Option<T>) -> bool {
    let Ok(parsed) = Parser::new(&joined(&case["raw"])).parse::<T>() else { return is(case, "must_fail") };
    let canonical = case.get("canonical").unwrap_or(&case["raw"]);
    let written: Option<String> = parsed.serialize().into();
    !is(case, "must_fail")
        && Some(parsed) == expected(&case["expected"])
        && written.unwrap_or_default() == joined(canonical)
}

#[test]
fn the_suite_passes() {
    let Some(suite) = Suite::unpack("structured-field-tests") else { return };
    the_judge_passes_what_is_parsed(&suite);
    the_judge_passes_what_is_written(&suite);
    our_reader_passes_what_a_dictionary_shows(&suite);
}

fn the_judge_passes_what_is_parsed(suite: &Suite) {
    let cases = cases(suite, "raw");
    let passes = |case: &&Value| match case["header_type"].as_str().unwrap() {
        "item" => check::<Item>(case, json::item),
        "list" => check::<List>(case, json::list),
        _ => check::<Dictionary>(case, json::dictionary),
    };
    let failed: Vec<_> = cases.iter().filter(|case| !passes(case)).collect();
    assert!(failed.iter().all(|case| is(case, "can_fail")), "{failed:#?}");
    assert_eq!((cases.len(), failed.len()), (1591, 0));
}

fn the_judge_passes_what_is_written(suite: &Suite) {
    let cases: Vec<_> = cases(suite, "name").into_iter().filter(|case| case.get("raw").is_none()).collect();
    for case in &cases {
        let expected = &case["expected"];
        let written: Option<String> = match case["header_type"].as_str().unwrap() {
            "item" => json::item(expected).map(|item| item.serialize()),
            "list" => json::list(expected).and_then(|list| list.serialize()),
            _ => json::dictionary(expected).and_then(|dictionary| dictionary.serialize()),
        };
        let canonical = case.get("canonical").map(joined);
        assert_eq!(written, canonical.filter(|_| !is(case, "must_fail")), "{case}");
    }
    assert_eq!(cases.len(), 544);
}

/// Whether the reader understands a value. It passes over unknown members, so that it sees `u=5` only behind a value
/// that it understands.
fn is_understood(value: &str) -> bool {
    PartialPriority::parse(format!("{value}, u=5").as_bytes()).urgency == Some(5)
}

fn our_reader_passes_what_a_dictionary_shows(suite: &Suite) {
    let (mut counted, mut failed) = (0, Vec::new());
    for case in cases(suite, "raw") {
        let value = joined(&case["raw"]);
        let trimmed = value.trim_matches(' ');
        let understood = match case["header_type"].as_str().unwrap() {
            // An empty dictionary has no member that another could stand behind.
            "dictionary" if trimmed.is_empty() => true,
            "dictionary" => is_understood(&value),
            // As the value of a member. A tab behind it, and what begins as an inner list, would be right there.
            "item" if trimmed.ends_with('\t') || trimmed.starts_with('(') || trimmed.contains(',') => continue,
            "item" => is_understood(&format!("k={trimmed}")),
            // An inner list alone is a member's value too.
            _ if trimmed.starts_with('(') && !trimmed.contains(',') => is_understood(&format!("k={trimmed}")),
            _ => continue,
        };
        counted += 1;
        if understood == is(&case, "must_fail") {
            failed.push(case);
        }
        assert_eq!(PartialPriority::parse(value.as_bytes()), reference::read(value.as_bytes()).unwrap_or_default());
    }
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!(counted, 1273, "of 1,591; the others are lists");
}

/// Parts of dictionaries, valid and invalid.
const PARTS: &[&str] = &[
    "u",
    "i",
    "=",
    ",",
    ", ",
    ";",
    "(",
    ")",
    "?0",
    "?1",
    "1",
    "7",
    "8",
    "-",
    ".",
    "0",
    " ",
    "\t",
    "a",
    "*b",
    "A",
    "\"",
    "\\",
    "\"x\"",
    ":",
    "aGk=",
    ":aGk:",
    "@",
    "@1",
    "%\"",
    "%c3",
    "%a4",
    "%C3",
    "ä",
    "u=1",
    "i=?0",
    "u=2, i",
    "x=(1 \"a\");b",
];

proptest! {
    #[test]
    fn ours_is_the_judges(parts in prop::collection::vec(prop::sample::select(PARTS), 0..10)) {
        let value = parts.concat();
        let judged = reference::read(value.as_bytes());
        prop_assert_eq!(PartialPriority::parse(value.as_bytes()), judged.unwrap_or_default(), "{}", value);
    }

    #[test]
    fn also_on_members(parts in prop::collection::vec("(u|i|x|\\*y)(=(-?[0-9]{1,17}|[0-9]{1,13}\\.[0-9]{1,4}|\\?[0-2]|:[A-Za-z0-9+/]{0,6}={0,3}:|\"[ -~]{0,4}\"|[a-z:/]{1,4}|@[0-9]{1,3}|%\"(%[0-9a-f]{2}|z){0,4}\"|\\([a-z ]{0,4}\\)))?(; ?a(=1)?)?", 0..5)) {
        let value = parts.join(", ");
        let judged = reference::read(value.as_bytes());
        prop_assert_eq!(PartialPriority::parse(value.as_bytes()), judged.unwrap_or_default(), "{}", value);
    }

    #[test]
    fn and_on_any_bytes(value in prop::collection::vec(any::<u8>(), 0..12)) {
        prop_assert_eq!(PartialPriority::parse(&value), reference::read(&value).unwrap_or_default());
    }
}
