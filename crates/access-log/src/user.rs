//! The user that a client names, by Basic authentication (RFC 7617).

use serow::Headers;
use serow_variables::values;

use super::escape;

/// Appends the name, or a dash where there is none. Nobody has checked it: it is what the client says.
pub(super) fn write(headers: Option<&Headers>, line: &mut Vec<u8>) {
    let start = line.len();
    match headers.is_some_and(|headers| values::append_user(headers, line)) {
        true => escape::behind(start, true, line),
        false => line.push(b'-'),
    }
}

#[cfg(test)]
mod tests {
    use serow::KnownHeader;

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
