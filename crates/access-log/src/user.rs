//! The user that a client names, by Basic authentication (RFC 7617).

use serow::{Headers, KnownHeader};

use super::escape;

/// Appends the name, or a dash where there is none. Nobody has checked it: it is what the client says.
pub(super) fn write(headers: Option<&Headers>, line: &mut Vec<u8>) {
    let before = line.len();
    let named = headers.and_then(|headers| headers.get(KnownHeader::Authorization)).and_then(credentials);
    if named.and_then(|credentials| decode_name(credentials, line)).is_none() || line.len() == before {
        line.truncate(before);
        line.push(b'-');
    }
}

/// What follows the name of the scheme.
fn credentials(authorization: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = authorization.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| rest.trim_ascii())
}

/// Appends what stands before the colon; nothing where the text is not in base64 (RFC 4648 §4) or has no colon.
fn decode_name(text: &[u8], line: &mut Vec<u8>) -> Option<()> {
    let (mut bits, mut count) = (0_u32, 0);
    for &letter in text {
        bits = bits << 6 | value(letter)?;
        count += 6;
        if count >= 8 {
            count -= 8;
            match (bits >> count) as u8 {
                b':' => return Some(()),
                byte => escape::word(&[byte], line),
            }
        }
    }
    None
}

fn value(letter: u8) -> Option<u32> {
    let value = match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

const SCHEME: &[u8] = b"Basic ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_names_are_read_from_basic_authentication() {
        let cases: [(&str, &str); 12] = [
            ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin"),
            ("basic   QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "Aladdin"),
            // user: with an empty password, and without the colon.
            ("Basic dXNlcjo=", "user"),
            ("Basic dXNlcg==", "-"),
            // An empty name.
            ("Basic OnB3", "-"),
            // a b" with a line of its own behind it.
            ("Basic YSBiIgo6eA==", "a\\x20b\\x22\\x0A"),
            // é.
            ("Basic w6k6eA==", "\\xC3\\xA9"),
            ("Basic QWxh!GRpbjpv", "-"),
            ("Basic", "-"),
            ("Basic ", "-"),
            ("Bearer QWxhZGRpbjpv", "-"),
            ("", "-"),
        ];
        for (authorization, expected) in cases {
            let mut headers = Headers::new();
            headers.append(KnownHeader::Authorization, authorization).unwrap();
            let mut line = b"x ".to_vec();
            write(Some(&headers), &mut line);
            assert_eq!(String::from_utf8(line).unwrap(), format!("x {expected}"), "{authorization}");
        }
        let mut line = Vec::new();
        write(None, &mut line);
        assert_eq!(line, b"-");
    }
}
