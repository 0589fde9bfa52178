//! The authority of a request, host and port: in `Host`, `:authority` and the target.

/// RFC 9110 §7.2: uri-host [ ":" port ], with the host as RFC 3986 §3.2.2 has it.
#[inline]
#[must_use]
pub fn is_valid(text: &[u8]) -> bool {
    // Nearly all are letters, digits, dots and a port, which costs no more than this look.
    let plain = text.iter().position(|&byte| !PLAIN[usize::from(byte)]).unwrap_or(text.len());
    match &text[plain..] {
        [] => true,
        [b':', port @ ..] if port.iter().all(u8::is_ascii_digit) => true,
        _ => is_unusual(text),
    }
}

#[cold]
fn is_unusual(text: &[u8]) -> bool {
    let (is_host, rest) = match text {
        [b'[', inner @ ..] => {
            let end = inner.iter().position(|&byte| byte == b']');
            let (address, rest) = inner.split_at(end.unwrap_or_default());
            (is_address(address), rest.get(1..).unwrap_or_default())
        }
        _ => {
            let end = text.iter().position(|&byte| byte == b':').unwrap_or(text.len());
            let (name, rest) = text.split_at(end);
            (is_name(name), rest)
        }
    };
    is_host && matches!(rest, [] | [b':', ..]) && rest.iter().skip(1).all(u8::is_ascii_digit)
}

/// A registered name or an IPv4 address: letters, digits, `-._~`, sub-delims and percent-encoded bytes.
fn is_name(name: &[u8]) -> bool {
    name.iter().enumerate().all(|(place, byte)| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => true,
        b'!' | b'$' | b'&'..=b',' | b';' | b'=' => true,
        b'%' => matches!(name.get(place + 1..place + 3), Some(digits) if digits.iter().all(u8::is_ascii_hexdigit)),
        _ => false,
    })
}

/// The text between the brackets: an IPv6 address, or one of a future version (`v1.text`).
fn is_address(address: &[u8]) -> bool {
    let is_later_byte = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:".contains(byte);
    match address {
        [b'v' | b'V', digit, rest @ ..] => digit.is_ascii_hexdigit() && rest.iter().all(is_later_byte),
        _ => core::str::from_utf8(address).is_ok_and(|text| text.parse::<core::net::Ipv6Addr>().is_ok()),
    }
}

/// The bytes that most host names consist of.
static PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        plain[byte] = (byte as u8).is_ascii_alphanumeric() || matches!(byte as u8, b'-' | b'.' | b'_' | b'~');
        byte += 1;
    }
    plain
};

#[cfg(test)]
mod tests {
    use super::is_valid;

    #[test]
    fn hosts_and_ports() {
        for text in [
            "",
            "a",
            "a.example",
            "a:",
            "a:80",
            "127.0.0.1:8080",
            "[::1]",
            "[::1]:443",
            "[::ffff:1.2.3.4]",
            "[v1.a:b]",
            "a%2Db",
            "a_b",
            "x,y",
        ] {
            assert!(is_valid(text.as_bytes()), "{text:?}");
        }
        for text in [
            "a b", "a/b", "a?b", "u@a", "a:b", "a:80:80", "[::1", "::1", "[]", "[::1]x", "[::1]80", "[g]", "a]", "a%2",
            "a%zz", "ä", "a\\b", "\"a\"", "[v]", "a#",
        ] {
            assert!(!is_valid(text.as_bytes()), "{text:?}");
        }
    }
}
