//! The user who sends a request: whom the server has identified, otherwise whom the client names by Basic
//! authentication (RFC 7617).

use serow::Served;
use serow_variables::values;

use super::escape;

/// Appends the name, or a dash where there is none. Unless the server identifies users, nobody has checked it: it is what
/// the client says.
pub(super) fn write(served: &Served<'_>, line: &mut Vec<u8>) {
    let start = line.len();
    let found = match served.note.and_then(|note| note.identity().0) {
        Some(user) => {
            line.extend_from_slice(user.0.as_bytes());
            true
        }
        None => served.request.is_some_and(|request| values::append_user(&request.headers, line)),
    };
    match found {
        true => escape::behind(start, true, line),
        false => line.push(b'-'),
    }
}

#[cfg(test)]
mod tests {
    use serow_message::{RouteNote, User};

    use super::*;
    use crate::example::Example;

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
            let mut example = Example::new("127.0.0.1:4711");
            example.header("authorization", authorization.as_bytes());
            let mut line = b"x ".to_vec();
            write(&example.served(), &mut line);
            assert_eq!(String::from_utf8(line).unwrap(), format!("x {expected}"), "{authorization}");
            let note = RouteNote::new();
            note.set_identity(Some(User("alice b".into())), None);
            let mut line = Vec::new();
            write(&Served { note: Some(&note), ..example.served() }, &mut line);
            assert_eq!(String::from_utf8(line).unwrap(), "alice\\x20b", "{authorization}");
        }
        let mut line = Vec::new();
        write(&Served { request: None, ..Example::new("127.0.0.1:4711").served() }, &mut line);
        assert_eq!(line, b"-");
    }
}
