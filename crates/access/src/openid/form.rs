//! application/x-www-form-urlencoded: queries and bodies.

use std::{borrow::Cow, fmt::Write};

/// Writes pairs.
pub(crate) fn encode(pairs: &[(&str, &str)]) -> String {
    let mut output = String::new();
    for (name, value) in pairs {
        if !output.is_empty() {
            output.push('&');
        }
        encode_text(name, &mut output);
        output.push('=');
        encode_text(value, &mut output);
    }
    output
}

/// Writes a text; everything that is not unreserved is encoded (RFC 3986 §2.3).
pub(crate) fn encode_text(text: &str, output: &mut String) {
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => output.push(byte as char),
            // A String takes everything.
            byte => drop(write!(output, "%{byte:02X}")),
        }
    }
}

/// The value of a parameter in a query; `Err` if it is duplicate, or not encoded properly (RFC 6749 §3.1).
pub(crate) fn find(query: &str, name: &str) -> Result<Option<String>, ()> {
    let mut found = None;
    for pair in query.split('&') {
        let (other, value) = pair.split_once('=').unwrap_or((pair, ""));
        if decode(other)? == name && found.replace(decode(value)?.into_owned()).is_some() {
            return Err(());
        }
    }
    Ok(found)
}

fn decode(text: &str) -> Result<Cow<'_, str>, ()> {
    if !text.contains(['%', '+']) {
        return Ok(text.into());
    }
    let mut output = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        output.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || bytes.next().and_then(|byte| (byte as char).to_digit(16)).ok_or(());
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(output).map(Cow::Owned).map_err(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_encoded_and_found_again() {
        let text = encode(&[("a b", "c&d=é"), ("scope", "openid email"), ("empty", "")]);
        assert_eq!(text, "a%20b=c%26d%3D%C3%A9&scope=openid%20email&empty=");
        for (query, name, expected) in [
            (&*text, "a b", Ok(Some("c&d=é"))),
            (&text, "empty", Ok(Some(""))),
            (&text, "other", Ok(None)),
            ("", "a", Ok(None)),
            ("a=1+2&b", "a", Ok(Some("1 2"))),
            ("a=1&b", "b", Ok(Some(""))),
            ("a=1&a=2", "a", Err(())),
            ("a=1&%61=2", "a", Err(())),
            ("a=1&b=2&b=3", "a", Ok(Some("1"))),
            ("a=%4", "a", Err(())),
            ("a=%zz", "a", Err(())),
            ("a=%ff", "a", Err(())),
        ] {
            assert_eq!(find(query, name), expected.map(|value| value.map(str::to_owned)), "{query} {name}");
        }
    }
}
