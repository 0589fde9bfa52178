//! Where requests have their tokens.

use serow_message::{KnownHeader, Request};
use serow_variables::values;

/// Where requests have their tokens (RFC 6750 §2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenPlace {
    /// `Authorization: Bearer`.
    Header,
    /// A cookie with this name.
    Cookie(Box<str>),
    /// An argument of the query with this name.
    Query(Box<str>),
}

/// The outcome of the search for a token in a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FoundToken<'a> {
    /// Nothing, or credentials of another kind.
    Nothing,
    /// This.
    Token(&'a str),
    /// Several, of which handlers may see another one than we; or none in ASCII.
    Ambiguous,
}

impl TokenPlace {
    /// Looks for the token of a request in this place.
    pub(crate) fn find<'a>(&'a self, request: &'a Request) -> FoundToken<'a> {
        let headers = &request.headers;
        match self {
            Self::Header => {
                let mut fields = headers.get_all(KnownHeader::Authorization);
                match (fields.next(), fields.next()) {
                    (Some(field), None) => bearer(field).map_or(FoundToken::Nothing, found),
                    (None, _) => FoundToken::Nothing,
                    (Some(_), Some(_)) => FoundToken::Ambiguous,
                }
            }
            Self::Cookie(name) => single(values::cookies(headers, name, false)),
            Self::Query(name) => {
                let query = request.target.query().unwrap_or_default();
                single(
                    query
                        .split('&')
                        .filter_map(|argument| argument.strip_prefix(&**name)?.strip_prefix('='))
                        .map(str::as_bytes),
                )
            }
        }
    }
}

/// RFC 9110 §11.4: the name of the scheme has no case, and one or more spaces follow it.
fn bearer(field: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = field.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| rest.trim_ascii())
}

fn single<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> FoundToken<'a> {
    match (values.next(), values.next()) {
        (Some(value), None) => found(value),
        (None, _) => FoundToken::Nothing,
        (Some(_), Some(_)) => FoundToken::Ambiguous,
    }
}

fn found(value: &[u8]) -> FoundToken<'_> {
    match std::str::from_utf8(value) {
        Ok("") => FoundToken::Nothing,
        Ok(token) => FoundToken::Token(token),
        Err(_) => FoundToken::Ambiguous,
    }
}

const SCHEME: &[u8] = b"Bearer ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_in_their_places_and_only_once() {
        let [header, cookie, query] =
            [TokenPlace::Header, TokenPlace::Cookie("t".into()), TokenPlace::Query("t".into())];
        for (place, target, name, values, expected) in [
            (&header, "/", "authorization", &["Bearer a.b.c"][..], FoundToken::Token("a.b.c")),
            (&header, "/", "authorization", &["bEARER   a "], FoundToken::Token("a")),
            (&header, "/", "authorization", &["Bearer "], FoundToken::Nothing),
            (&header, "/", "authorization", &["Bearer"], FoundToken::Nothing),
            (&header, "/", "authorization", &["Basic YTpi"], FoundToken::Nothing),
            (&header, "/", "authorization", &["Bearera"], FoundToken::Nothing),
            (&header, "/", "authorization", &["Bearer a", "Bearer a"], FoundToken::Ambiguous),
            (&header, "/", "authorization", &["Basic YTpi", "Bearer a"], FoundToken::Ambiguous),
            (&header, "/?t=a", "cookie", &["t=a"], FoundToken::Nothing),
            (&cookie, "/?t=b", "cookie", &["s=1; t=a; u=2"], FoundToken::Token("a")),
            (&cookie, "/", "cookie", &["T=a"], FoundToken::Nothing),
            (&cookie, "/", "cookie", &["t="], FoundToken::Nothing),
            (&cookie, "/", "cookie", &["t=a; t=b"], FoundToken::Ambiguous),
            (&cookie, "/", "cookie", &["t=a", "t=b"], FoundToken::Ambiguous),
            (&cookie, "/", "cookie", &["t=\u{e9}"], FoundToken::Token("\u{e9}")),
            (&query, "/?a=1&t=x", "cookie", &["t=a"], FoundToken::Token("x")),
            (&query, "/?t=x&t=y", "x", &[], FoundToken::Ambiguous),
            (&query, "/?t", "x", &[], FoundToken::Nothing),
            (&query, "/?tt=x&T=y", "x", &[], FoundToken::Nothing),
            (&query, "/", "x", &[], FoundToken::Nothing),
        ] {
            let mut request = Request::get(target);
            for value in values {
                request.headers.append(name, *value).unwrap();
            }
            assert_eq!(place.find(&request), expected, "{place:?} {target} {values:?}");
        }
    }
}
