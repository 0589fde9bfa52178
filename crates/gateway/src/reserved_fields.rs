//! Header fields that only this server sets in a request.

use std::sync::Arc;

use serow_message::Headers;

use crate::field_names::reads_as;

/// The names of fields that only this server sets in a request, such as the one with the name of the user: what a client
/// sends in them is removed from the head, and from the trailers, which applications may merge with it (RFC 9110 §6.5.1).
/// So is what CGI would confuse with them: `Remote_User` is `HTTP_REMOTE_USER` as `Remote-User` is (RFC 3875 §4.1.18).
///
/// The extensions of a request have them for those who forward its body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReservedFields(Arc<[Arc<str>]>);

impl ReservedFields {
    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their names.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|name| &**name)
    }

    /// Whether this is one of them, or is read as one.
    #[must_use]
    pub fn contains(&self, name: &[u8]) -> bool {
        self.iter().any(|own| reads_as(name, own.as_bytes()))
    }

    /// Removes them.
    pub fn remove_from(&self, headers: &mut Headers) {
        if headers.iter().any(|(name, _)| self.contains(name)) {
            headers.retain(|name, _| !self.contains(name));
        }
    }
}

impl<'a> FromIterator<&'a str> for ReservedFields {
    fn from_iter<T: IntoIterator<Item = &'a str>>(names: T) -> Self {
        let mut unique: Vec<Arc<str>> = Vec::new();
        for name in names {
            if !unique.iter().any(|other| other.eq_ignore_ascii_case(name)) {
                unique.push(name.into());
            }
        }
        Self(unique.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_removed_in_every_spelling() {
        let mut headers = Headers::new();
        for name in ["remote-user", "Remote_User", "REMOTE.USER", "remote-user-id", "remote"] {
            headers.append(name, "1").unwrap();
        }
        let reserved: ReservedFields = ["Remote-User", "x", "remote-user"].into_iter().collect();
        assert_eq!(reserved.iter().collect::<Vec<_>>(), ["Remote-User", "x"]);
        reserved.remove_from(&mut headers);
        let names: Vec<_> = headers.iter().map(|(name, _)| name.escape_ascii().to_string()).collect();
        assert_eq!(names, ["remote-user-id", "remote"]);
    }
}
