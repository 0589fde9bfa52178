//! The user who sends a request: the one that access control has checked, or the one that the client names by Basic
//! authentication (RFC 7617).

use serow_message::{Headers, Served};
use serow_variables::values;

use super::escape;

/// Appends the name of the checked user. Without one, it is what the client says, as in nginx: so that the log shows
/// which names are tried. A dash where there is no name.
pub(super) fn write(served: &Served<'_>, line: &mut Vec<u8>) {
    let start = line.len();
    let checked = served.note.is_some_and(|note| {
        note.with_access(|access| match &access.user {
            Some(user) => {
                line.extend_from_slice(user.as_bytes());
                true
            }
            None => false,
        })
    });
    match checked && line.len() > start {
        true => escape::behind(start, true, line),
        false => write_claimed(served.request.map(|request| &request.headers), line),
    }
}

/// Appends the name that the client claims.
fn write_claimed(headers: Option<&Headers>, line: &mut Vec<u8>) {
    let start = line.len();
    match headers.is_some_and(|headers| values::append_user(headers, line)) {
        true => escape::behind(start, true, line),
        false => line.push(b'-'),
    }
}

#[cfg(test)]
mod tests {
    use serow_message::KnownHeader;

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
            write_claimed(Some(&headers), &mut line);
            assert_eq!(String::from_utf8(line).unwrap(), format!("x {expected}"), "{authorization}");
        }
        let mut line = Vec::new();
        write_claimed(None, &mut line);
        assert_eq!(line, b"-");
    }
}
