//! Whatever maps, text and request: maps end, values are never parsed again, and what is escaped for a header, a page or
//! JSON cannot leave its place.
//!
//! The input has two maps of three lines each (what is looked up, a value or pattern, and what it stands for), a text with
//! variables in a line, and behind them a request: `/path?query`, then a field on each line.

use std::sync::Arc;

use bytes::Bytes;
use serow_message::{Request, Target};
use serow_variables::{Form, MapEntries, MapTable, Maps, Part, Scope, Source, Text};

/// The target.
pub fn target(data: &[u8]) {
    let Ok(data) = std::str::from_utf8(data) else { return };
    let mut lines = data.lines();
    let mut line = || lines.next().unwrap_or_default();
    let mut table = |to: &str| MapTable {
        from: line().to_owned(),
        to: to.to_owned(),
        entries: MapEntries::Values(vec![(line().to_owned(), line().to_owned())]),
        default: "$http_default".to_owned(),
    };
    let tables = [table("one"), table("two")];
    let (text, target) = (line(), line());
    let Ok(target) = Target::parse(Bytes::copy_from_slice(target.as_bytes()), false) else { return };
    let mut request = Request::get("/");
    request.target = target;
    for field in lines {
        if let Some((name, value)) = field.split_once(':') {
            let _ = request.headers.append(name, value.trim());
        }
    }
    let Ok(maps) = Maps::new(&tables) else { return };
    let scope = Scope::new(Arc::new(maps)).of_site("site.example").of_stars(2);
    let Ok(text) = Text::parse(text, &scope) else { return };
    let path = request.target.path_bytes().to_vec();
    let source = Source { captures: &[b"$uri", b"a\r\nb: <c>\"'\\"], ..Source::of(&request, &path) };
    check(&text, &source);
}

fn check(text: &Text, source: &Source<'_>) {
    // The values of the parts, one by one, are all that there is: no `$` in them means anything.
    let mut expected = Vec::new();
    let mut values = Vec::new();
    for part in text.parts() {
        match part {
            Part::Text(text) => expected.extend_from_slice(text.as_bytes()),
            Part::Variable(variable) => {
                let mut value = Vec::new();
                variable.append(source, &mut value);
                expected.extend_from_slice(&value);
                values.push(value);
            }
        }
    }
    assert_eq!(filled(text, source, Form::Raw), expected);
    let constant: Vec<u8> = text.parts().iter().flat_map(constant_of).collect();
    for (form, forbidden) in
        [(Form::Field, &b"\0\r\n\x01\x1f\x7f"[..]), (Form::Html, b"<>\"'\0"), (Form::Json, b"<>\"'&\0\r\n\t\x7f\xe2")]
    {
        let output = filled(text, source, form);
        for &byte in forbidden {
            // The text may contain the byte itself; values add none.
            let count = |text: &[u8]| text.iter().filter(|&&other| other == byte).count();
            assert_eq!(count(&output), count(&constant), "{form:?} {byte} {values:?}");
        }
    }
    let html = filled(text, source, Form::Html);
    let entities = |text: &[u8]| text.iter().filter(|&&byte| byte == b'&').count();
    let special = values.iter().flatten().filter(|byte| b"<>&\"'".contains(byte)).count();
    assert_eq!(entities(&html), entities(&constant) + special);
}

fn constant_of(part: &Part) -> Vec<u8> {
    match part {
        Part::Text(text) => text.as_bytes().to_vec(),
        Part::Variable(_) => Vec::new(),
    }
}

fn filled(text: &Text, source: &Source<'_>, form: Form) -> Vec<u8> {
    let mut output = Vec::new();
    text.append(source, form, &mut output);
    output
}
