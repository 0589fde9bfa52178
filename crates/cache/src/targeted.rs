//! Fields for one cache or one kind of caches, such as CDN-Cache-Control (RFC 9213): structured dictionaries (RFC 9651).

use std::borrow::Cow;

use serow_message::Headers;

use crate::directives::{Argument, Directive};

/// The members of a field; `None` if its value is not a dictionary, so that the field is ignored (RFC 9213 §2.1).
pub(crate) fn members<'a>(headers: &'a Headers, field: &str) -> Option<Vec<Directive<'a>>> {
    let mut members: Vec<Directive<'a>> = Vec::new();
    // RFC 9651 §4.2: lines are joined with commas; no member spans two of them here.
    for line in headers.get_all(field) {
        let mut text = Dictionary { rest: line.trim_ascii() };
        while !text.rest.is_empty() {
            let member = text.member()?;
            // RFC 9651 §4.2.2: the last of several members of a name counts.
            members.retain(|other| other.name != member.name);
            members.push(member);
            text.separator()?;
        }
    }
    Some(members)
}

struct Dictionary<'a> {
    rest: &'a [u8],
}

impl<'a> Dictionary<'a> {
    fn member(&mut self) -> Option<Directive<'a>> {
        let name = self.key()?;
        let argument = if self.accept(b'=') { self.value()? } else { Argument::None };
        self.parameters()?;
        Some(Directive { name, argument })
    }

    /// The comma to the next member; at the end, nothing.
    fn separator(&mut self) -> Option<()> {
        self.skip(|byte| matches!(byte, b' ' | b'\t'));
        if self.rest.is_empty() {
            return Some(());
        }
        self.accept(b',').then_some(())?;
        self.skip(|byte| matches!(byte, b' ' | b'\t'));
        (!self.rest.is_empty()).then_some(())
    }

    fn key(&mut self) -> Option<&'a [u8]> {
        matches!(self.rest.first()?, b'a'..=b'z' | b'*').then_some(())?;
        Some(self.skip(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'.' | b'*')))
    }

    fn parameters(&mut self) -> Option<()> {
        while self.accept(b';') {
            self.skip(|byte| byte == b' ');
            self.key()?;
            if self.accept(b'=') {
                self.value()?;
            }
        }
        Some(())
    }

    /// A value of any type. Directives have integers, or nothing: other types are valid, but say nothing to a cache.
    fn value(&mut self) -> Option<Argument<'a>> {
        match self.rest.first()? {
            b'?' => match self.skip(|byte| matches!(byte, b'?' | b'0' | b'1')) {
                b"?1" => Some(Argument::None),
                b"?0" => Some(Argument::Invalid),
                _ => None,
            },
            b'"' => {
                let end = self.rest.iter().skip(1).position(|byte| *byte == b'"')?;
                let text = &self.rest[1..=end];
                // A string with an escape is not a list of field names.
                let is_plain = text.iter().all(|byte| matches!(byte, b' '..=b'~') && *byte != b'\\');
                self.rest = &self.rest[end + 2..];
                // Only lists of fields are strings: `no-cache="a"`; they do not consist of digits.
                let is_number = text.iter().all(u8::is_ascii_digit);
                is_plain.then_some(if is_number { Argument::Invalid } else { Argument::Text(Cow::Borrowed(text)) })
            }
            b'0'..=b'9' => {
                let digits = self.skip(|byte| byte.is_ascii_digit() || byte == b'.');
                match digits.contains(&b'.') {
                    false if digits.len() <= 15 => Some(Argument::Text(Cow::Borrowed(digits))),
                    true => Some(Argument::Invalid),
                    false => None,
                }
            }
            b'-' => {
                self.accept(b'-');
                (!self.skip(|byte| byte.is_ascii_digit() || byte == b'.').is_empty()).then_some(Argument::Invalid)
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'*' => {
                self.skip(|byte| serow_message::is_token_byte(byte) || matches!(byte, b':' | b'/'));
                Some(Argument::Invalid)
            }
            _ => None,
        }
    }

    fn accept(&mut self, byte: u8) -> bool {
        let rest = self.rest.strip_prefix(&[byte]);
        rest.inspect(|rest| self.rest = rest).is_some()
    }

    fn skip(&mut self, is_part: impl Fn(u8) -> bool) -> &'a [u8] {
        let length = self.rest.iter().position(|byte| !is_part(*byte)).unwrap_or(self.rest.len());
        let (part, rest) = self.rest.split_at(length);
        self.rest = rest;
        part
    }
}

#[cfg(test)]
#[allow(clippy::type_complexity, reason = "tables of cases")]
mod tests {
    use super::*;

    #[test]
    fn dictionaries_and_other_values() {
        let number = |digits: &'static str| Argument::Text(Cow::Borrowed(digits.as_bytes()));
        let cases: [(&str, Option<Vec<(&str, Argument<'_>)>>); 16] = [
            ("max-age=60", Some(vec![("max-age", number("60"))])),
            ("max-age=60, no-store", Some(vec![("max-age", number("60")), ("no-store", Argument::None)])),
            ("max-age=60;a=b;c ,\tno-store", Some(vec![("max-age", number("60")), ("no-store", Argument::None)])),
            ("max-age=1, max-age=2", Some(vec![("max-age", number("2"))])),
            ("no-store=?1", Some(vec![("no-store", Argument::None)])),
            ("max-age=1.5", Some(vec![("max-age", Argument::Invalid)])),
            ("max-age=-1", Some(vec![("max-age", Argument::Invalid)])),
            ("max-age=\"60\"", Some(vec![("max-age", Argument::Invalid)])),
            ("no-cache=\"a, b\"", Some(vec![("no-cache", number("a, b"))])),
            ("max-age=token", Some(vec![("max-age", Argument::Invalid)])),
            ("", Some(vec![])),
            ("MAX-AGE=60", None),
            ("max-age =60", None),
            ("max-age=60,", None),
            ("max-age=60 no-store", None),
            ("max-age=1234567890123456", None),
        ];
        for (value, expected) in cases {
            let mut headers = Headers::new();
            headers.append("cdn-cache-control", value).unwrap();
            let found = members(&headers, "cdn-cache-control");
            let found = found.map(|found| {
                found.into_iter().map(|member| (std::str::from_utf8(member.name).unwrap(), member.argument)).collect()
            });
            assert_eq!(found, expected, "{value}");
        }
    }
}
