//! Allowed names of header fields in requests: CGI and its successors turn them into variables, in which `X_User`,
//! `X.User` and `X-User` are the same.

use serow_message::{Headers, KnownHeader, TrustedProxies, hop_by_hop};

use crate::reserved_fields::ReservedFields;

/// Allowed names of header fields in requests, and of their trailers.
///
/// Neither allows `Proxy`: CGI turns it into `HTTP_PROXY`, which libraries take for a setting of their own (httpoxy,
/// CVE-2016-5385), and no client has a use for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldNames {
    /// Letters, digits and hyphens, as in nginx (`ignore_invalid_headers on`, `underscores_in_headers off`); fields
    /// with other names are dropped.
    ///
    /// RFC 3875 §4.1.18 makes an underscore of a hyphen, so WSGI, Rack and PSGI servers do. PHP does the same with a
    /// dot, and lighttpd with everything that is neither letter nor digit.
    #[default]
    Unambiguous,
    /// All names that RFC 9110 §5.6.2 allows, except those that CGI would confuse with a well-known field or with one
    /// in which proxies describe the client.
    Any,
}

impl FieldNames {
    /// Whether a field of this name is passed on.
    #[inline]
    pub fn allow(self, name: &[u8], known: Option<KnownHeader>) -> bool {
        known.is_some() || (is_unambiguous(name) && !name.eq_ignore_ascii_case(b"proxy")) || self.allow_other(name)
    }

    #[cold]
    fn allow_other(self, name: &[u8]) -> bool {
        let allowed = match self {
            Self::Unambiguous => false,
            Self::Any => !is_unambiguous(name) && !passes_for_another(name),
        };
        if !allowed {
            tracing::debug!(name = %name.escape_ascii(), "header field dropped because of its name");
        }
        allowed
    }

    /// Removes fields that CGI would confuse with this one, which the settings set.
    pub fn remove_look_alikes(self, name: &str, headers: &mut Headers) {
        let is_look_alike =
            |other: &[u8]| !other.eq_ignore_ascii_case(name.as_bytes()) && reads_as(other, name.as_bytes());
        if self == Self::Any && headers.iter().any(|(other, _)| is_look_alike(other)) {
            headers.retain(|other, _| !is_look_alike(other));
        }
    }
}

/// Which trailers of a request are passed on. A server may merge them with the head (RFC 9110 §6.5.1), so the same
/// fields are dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrailerRule {
    /// The allowed names.
    pub names: FieldNames,
    /// Whether the peer is a trusted proxy.
    pub trusted: bool,
    /// The fields that only this server sets.
    pub reserved: ReservedFields,
}

impl TrailerRule {
    /// The trailers in this frame of a body; `None` if none of them is left.
    pub fn apply(&self, frame: &http_body::Frame<bytes::Bytes>) -> Option<Headers> {
        let mut trailers: Headers = frame.trailers_ref()?.try_into().ok()?;
        trailers.retain_known(|name, known, _| {
            self.names.allow(name, known)
                && (self.trusted || !TrustedProxies::is_client_field(name, known))
                && !self.reserved.contains(name)
        });
        (!trailers.is_empty()).then_some(trailers)
    }
}

fn is_unambiguous(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
}

/// Whether a name would be that of a field that proxies and servers rely on, if it had hyphens.
fn passes_for_another(name: &[u8]) -> bool {
    let hyphenated: Vec<u8> =
        name.iter().map(|byte| if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() } else { b'-' }).collect();
    KnownHeader::recognise(&hyphenated).is_some() || hop_by_hop::tells_of_client(&hyphenated)
}

/// Whether CGI makes the same variable of both names.
pub(crate) fn reads_as(name: &[u8], other: &[u8]) -> bool {
    let folded = |byte: &u8| if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() } else { b'_' };
    name.iter().map(folded).eq(other.iter().map(folded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_underscores_and_dots_pass_only_where_they_are_kept() {
        // A name, whether it passes by default, and whether it passes with `Any`.
        let cases = [
            ("x-user", true, true),
            ("X-Request-Id2", true, true),
            ("api_key", false, true),
            ("x.user", false, true),
            ("x!user~", false, true),
            ("_", false, true),
            ("x_forwarded_for", false, false),
            ("X_FORWARDED-Proto", false, false),
            ("X.Forwarded.Port", false, false),
            ("x-real_ip", false, false),
            ("content_length", false, false),
            ("Transfer_Encoding", false, false),
            ("host", true, true),
            ("Proxy", false, false),
            ("proxy", false, false),
            ("proxy-authorization", true, true),
        ];
        for (name, by_default, kept) in cases {
            let known = KnownHeader::recognise(name.as_bytes());
            assert_eq!(FieldNames::Unambiguous.allow(name.as_bytes(), known), by_default, "{name}");
            assert_eq!(FieldNames::Any.allow(name.as_bytes(), known), kept, "{name}");
        }
    }

    #[test]
    fn look_alikes_of_set_fields_are_removed() {
        let mut headers = Headers::new();
        for name in ["x_user", "X-User", "x.USER", "x_user_id"] {
            headers.append(name, "1").unwrap();
        }
        FieldNames::Any.remove_look_alikes("x-user", &mut headers);
        let names: Vec<_> = headers.iter().map(|(name, _)| name.escape_ascii().to_string()).collect();
        assert_eq!(names, ["X-User", "x_user_id"]);
    }

    #[test]
    fn trailers_that_name_the_client_pass_from_trusted_proxies_only() {
        let mut trailers = Headers::new();
        for name in ["x-sum", "x-forwarded-for", "X-Real-IP", "x_sum", "Remote-User"] {
            trailers.append(name, "1").unwrap();
        }
        let frame = http_body::Frame::trailers(trailers.into());
        for (trusted, expected) in [(false, 1), (true, 3)] {
            let reserved = ["remote-user"].into_iter().collect();
            let rule = TrailerRule { names: FieldNames::default(), trusted, reserved };
            assert_eq!(rule.apply(&frame).map(|trailers| trailers.len()), Some(expected), "{trusted}");
        }
    }
}
