//! The credentials that a client sends with Basic authentication.

use data_encoding::{BASE64, BASE64_NOPAD};
use serow_message::{Headers, KnownHeader};
use zeroize::Zeroizing;

/// The name and the password that a client sends (RFC 7617).
pub struct Credentials {
    user: String,
    password: Zeroizing<Vec<u8>>,
}

impl Credentials {
    /// Those of a request; nothing where it has none, more than one, or malformed ones: not in base64, without a colon,
    /// longer than 1,024 bytes, a name that is not UTF-8, or control characters (RFC 7617 §2).
    #[must_use]
    pub fn of(headers: &Headers) -> Option<Self> {
        let mut fields = headers.get_all(KnownHeader::Authorization);
        let (field, None) = (fields.next()?, fields.next()) else { return None };
        let (scheme, encoded) = field.split_at_checked(SCHEME.len())?;
        if !scheme.eq_ignore_ascii_case(SCHEME) || encoded.len() > MAX_LENGTH * 4 / 3 + 4 {
            return None;
        }
        let encoded = encoded.trim_ascii();
        let decoded = BASE64.decode(encoded).or_else(|_| BASE64_NOPAD.decode(encoded));
        let mut decoded = Zeroizing::new(decoded.ok()?);
        if decoded.len() > MAX_LENGTH || decoded.iter().any(u8::is_ascii_control) {
            return None;
        }
        let colon = decoded.iter().position(|byte| *byte == b':')?;
        let password = Zeroizing::new(decoded.split_off(colon + 1));
        let user = str::from_utf8(&decoded[..colon]).ok()?.to_owned();
        Some(Self { user, password })
    }

    /// The name.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// The password.
    #[must_use]
    pub fn password(&self) -> &[u8] {
        &self.password
    }

    /// The same, in parts.
    pub(crate) fn into_parts(self) -> (String, Zeroizing<Vec<u8>>) {
        (self.user, self.password)
    }
}

const SCHEME: &[u8] = b"Basic ";

/// Longer ones only keep a thread busy.
const MAX_LENGTH: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_read() {
        let encode = |text: &[u8]| format!("Basic {}", BASE64.encode(text));
        let long = encode(&[b"a:", &[b'x'; 1100][..]].concat());
        for (fields, expected) in [
            (vec![], None),
            (vec![encode(b"bob:secret")], Some(("bob", "secret"))),
            (vec![encode(b"bob:a:b")], Some(("bob", "a:b"))),
            (vec![encode(b"bob:")], Some(("bob", ""))),
            (vec![encode(b":")], Some(("", ""))),
            (vec!["bAsIc Ym9iOmE".to_owned()], Some(("bob", "a"))),
            (vec!["Basic  Ym9iOmE= ".to_owned()], Some(("bob", "a"))),
            (vec![encode("björn:ü".as_bytes())], Some(("björn", "ü"))),
            (vec![encode(b"bob")], None),
            (vec![encode(b"bob:a\0")], None),
            (vec![encode(b"bob\n:a")], None),
            (vec![encode(b"b\xff:a")], None),
            (vec!["Basic".to_owned()], None),
            (vec!["Basic ".to_owned()], None),
            (vec!["Basic Ym9iOm_-".to_owned()], None),
            (vec!["Bearer Ym9iOmE=".to_owned()], None),
            (vec![long], None),
            (vec![encode(b"bob:secret"), encode(b"eve:secret")], None),
        ] {
            let mut headers = Headers::default();
            fields.iter().for_each(|field| headers.append("authorization", field.trim()).unwrap());
            let found = Credentials::of(&headers);
            let found = found.as_ref().map(|found| (found.user(), str::from_utf8(found.password()).unwrap()));
            assert_eq!(found, expected, "{fields:?}");
        }
    }
}
