//! Quality values: members of a list with a weight each (RFC 9110 §12.4.2).

/// A member of a list with weights, and its quality in thousandths (RFC 9110 §12.4.2); 0 if the quality is invalid.
#[must_use]
pub fn weighted(member: &[u8]) -> (&[u8], u16) {
    let mut parts = member.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
    let name = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix(b"q=").or_else(|| part.strip_prefix(b"Q=")));
    (name, weight.map_or(1000, thousandths))
}

fn thousandths(text: &[u8]) -> u16 {
    let (whole, digits) = match text {
        [whole] | [whole, b'.'] => (*whole, &[][..]),
        [whole, b'.', digits @ ..] if digits.len() <= 3 && digits.iter().all(u8::is_ascii_digit) => (*whole, digits),
        _ => return 0,
    };
    let fraction = (0..3).fold(0, |sum, place| sum * 10 + digits.get(place).map_or(0, |digit| u16::from(digit - b'0')));
    match whole {
        b'0' => fraction,
        b'1' => 1000,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_their_weights() {
        let cases: [(&str, &str, u16); 9] = [
            ("gzip", "gzip", 1000),
            ("gzip;q=0.5", "gzip", 500),
            ("text/html;level=1 ; Q=0.05", "text/html", 50),
            ("a;q=1.000", "a", 1000),
            ("a;q=1.001", "a", 1000),
            ("a;q=0.", "a", 0),
            ("a;q=0.1234", "a", 0),
            ("a;q=2", "a", 0),
            ("a;q=\"0.5\"", "a", 0),
        ];
        for (member, name, weight) in cases {
            assert_eq!(weighted(member.as_bytes()), (name.as_bytes(), weight), "{member}");
        }
    }
}
