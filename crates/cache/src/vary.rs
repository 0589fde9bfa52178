//! Which requests a stored response matches: the secondary key of Vary (RFC 9111 §4.1).

use serow_message::{Headers, KnownHeader, PackedHeaders, weight::weighted};

/// The fields of requests that a response depends on, with the values of the request that it answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variant {
    /// In a second box, since most responses depend on none.
    fields: Option<Box<Box<[SelectingField]>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SelectingField {
    /// In lower case.
    name: Box<[u8]>,
    /// Normalised; `None` if the request did not have the field.
    value: Option<Box<[u8]>>,
}

impl Variant {
    /// The fields that a response to this request depends on; `None` if it depends on more than fields (`Vary: *`).
    #[must_use]
    pub fn of(response: &Headers, request: &Headers) -> Option<Self> {
        if !response.contains(KnownHeader::Vary) {
            return Some(Self::default());
        }
        let mut fields: Vec<SelectingField> = Vec::new();
        for name in response.list(KnownHeader::Vary) {
            if name == b"*" {
                return None;
            }
            let name = name.to_ascii_lowercase().into_boxed_slice();
            if fields.iter().all(|field| field.name != name) {
                fields.push(SelectingField { value: normalised(request, &name), name });
            }
        }
        Some(Self::of_fields(fields))
    }

    /// Whether requests that match it accept the content coding of the response, if it depends on that: codings that no server is
    /// known to use are not told apart in requests.
    pub(crate) fn tells_coding_apart(&self, response: &Headers) -> bool {
        let is_known = |coding: &[u8]| CODINGS.iter().any(|(name, _)| coding.eq_ignore_ascii_case(name.as_bytes()));
        !response.contains(KnownHeader::ContentEncoding)
            || self.parts().all(|(name, _)| name != b"accept-encoding")
            || response.list(KnownHeader::ContentEncoding).all(is_known)
    }

    /// The same, by this request, and by all fields of another one as well: what a content was selected by still counts when a
    /// validation names other fields.
    pub(crate) fn with_fields_of(self, before: &Self, request: &Headers) -> Self {
        let mut fields = self.fields().to_vec();
        for SelectingField { name, .. } in before.fields() {
            if fields.iter().all(|field| field.name != *name) {
                fields.push(SelectingField { value: normalised(request, name), name: name.clone() });
            }
        }
        Self::of_fields(fields)
    }

    /// Whether it matches every request.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.fields.is_none()
    }

    /// Whether a request with these headers gets this variant.
    #[must_use]
    pub fn matches(&self, request: &Headers) -> bool {
        self.fields().iter().all(|field| normalised(request, &field.name) == field.value)
    }

    /// The fields with their values, normalised.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        self.fields().iter().map(|field| (&*field.name, field.value.as_deref()))
    }

    /// The variant with these fields, of [`parts`](Self::parts).
    pub(crate) fn of_parts<'a>(parts: impl IntoIterator<Item = (&'a [u8], Option<&'a [u8]>)>) -> Self {
        let field =
            |(name, value): (&[u8], Option<&[u8]>)| SelectingField { name: name.into(), value: value.map(Into::into) };
        Self::of_fields(parts.into_iter().map(field).collect())
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn size(&self) -> usize {
        let field = |field: &SelectingField| {
            size_of::<SelectingField>() + field.name.len() + field.value.as_ref().map_or(0, |value| value.len())
        };
        self.fields().iter().map(field).sum()
    }

    fn of_fields(fields: Vec<SelectingField>) -> Self {
        Self { fields: (!fields.is_empty()).then(|| Box::new(fields.into())) }
    }

    fn fields(&self) -> &[SelectingField] {
        self.fields.as_deref().map_or(&[], |fields| fields)
    }
}

/// Whether a client with this request accepts the content coding of a response. Without Accept-Encoding it might accept all of
/// them (RFC 9110 §12.5.3), but clients that know none do not send the field either.
#[must_use]
pub fn accepts_coding(request: &Headers, response: &PackedHeaders) -> bool {
    if response.get(KnownHeader::ContentEncoding).is_none() {
        return true;
    }
    let is_accepted = |coding: &[u8]| {
        let weight = |wanted: &[u8]| {
            let mut members = request.list(KnownHeader::AcceptEncoding).map(weighted);
            members.find(|(name, _)| alias(name).eq_ignore_ascii_case(wanted)).map(|(_, weight)| weight)
        };
        weight(alias(coding)).or_else(|| weight(b"*")).is_some_and(|weight| weight > 0)
    };
    let response = response.to_headers();
    response
        .list(KnownHeader::ContentEncoding)
        .all(|coding| coding.eq_ignore_ascii_case(b"identity") || is_accepted(coding))
}

/// The usual name of a coding that has another one (RFC 9110 §8.4.1).
fn alias(name: &[u8]) -> &[u8] {
    let known = CODINGS.iter().find(|(other, _)| name.eq_ignore_ascii_case(other.as_bytes()));
    known.map_or(name, |(_, usual)| usual.as_bytes())
}

/// The value of a field, such that values that mean the same are the same. `None` if there is no such field.
fn normalised(request: &Headers, name: &[u8]) -> Option<Box<[u8]>> {
    if !request.contains(name) {
        return None;
    }
    Some(match name {
        b"accept-encoding" => codings(request),
        b"accept-language" => weighted_list(request, name),
        name if SINGLE.iter().any(|single| single.as_bytes() == name) => joined(request, name, b", "),
        name => list(request, name),
    })
}

/// The content codings that servers use, each with its weight: others are in the fields of some clients only, and would
/// multiply the variants.
fn codings(request: &Headers) -> Box<[u8]> {
    let mut members: Vec<_> = request
        .list(KnownHeader::AcceptEncoding)
        .map(weighted)
        .filter_map(|(name, weight)| {
            let name = CODINGS.iter().find(|(alias, _)| name.eq_ignore_ascii_case(alias.as_bytes()))?.1;
            Some((name, weight))
        })
        .collect();
    members.sort_unstable();
    members.dedup_by_key(|(name, _)| *name);
    // A coding that is not named and one that is refused are the same, unless a star allows those that are not named.
    let has_star = members.iter().any(|(name, weight)| *name == "*" && *weight > 0);
    members.retain(|(name, weight)| *weight > 0 || has_star || *name == "identity");
    let text: Vec<_> = members.iter().map(|(name, weight)| format!("{name};{weight}")).collect();
    text.join(",").into_bytes().into()
}

/// A list by weight, in lower case. The order of equal weights stays: servers may take it for a preference (RFC 9110 §12.5.4).
fn weighted_list(request: &Headers, name: &[u8]) -> Box<[u8]> {
    let mut members: Vec<_> = request
        .list(name)
        .map(weighted)
        .map(|(name, weight)| (std::cmp::Reverse(weight), name.to_ascii_lowercase()))
        .collect();
    members.sort_by_key(|(weight, _)| *weight);
    members.dedup();
    let text: Vec<_> =
        members.iter().map(|(weight, name)| [name, format!(";{}", weight.0).as_bytes()].concat()).collect();
    text.join(&b","[..]).into()
}

/// The lines of a field as one value (RFC 9110 §5.2).
fn joined(request: &Headers, name: &[u8], separator: &[u8]) -> Box<[u8]> {
    request.get_all(name).map(<[u8]>::trim_ascii).collect::<Vec<_>>().join(separator).into()
}

/// The lines of a field as one list, without the white space around commas that are outside of quotes (§4.1).
fn list(request: &Headers, name: &[u8]) -> Box<[u8]> {
    let value = joined(request, name, b",");
    let (mut text, mut is_quoted, mut is_escaped) = (Vec::with_capacity(value.len()), false, false);
    for byte in &value {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b' ' | b'\t' if !is_quoted && text.last() == Some(&b',') => continue,
            b',' if !is_quoted => {
                let end = text.iter().rposition(|byte| !matches!(byte, b' ' | b'\t')).map_or(0, |last| last + 1);
                text.truncate(end);
            }
            _ => {}
        }
        text.push(*byte);
    }
    text.into()
}

/// Codings, and the name that each has in a variant (RFC 9110 §8.4.1: x-gzip is gzip).
const CODINGS: [(&str, &str); 8] = [
    ("br", "br"),
    ("compress", "compress"),
    ("deflate", "deflate"),
    ("gzip", "gzip"),
    ("x-gzip", "gzip"),
    ("identity", "identity"),
    ("zstd", "zstd"),
    ("*", "*"),
];

/// Fields whose commas do not separate members: their values are compared as they are.
const SINGLE: [&str; 6] = ["authorization", "cookie", "origin", "referer", "user-agent", "range"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stored::tests::headers;

    #[test]
    fn requests_that_get_the_same_variant_and_others() {
        let cases: [(&str, &[&str], &[&str], bool); 27] = [
            // RFC 9111 §4.1
            ("foo", &["1"], &["1"], true),
            ("foo", &["1"], &["2"], false),
            ("foo", &["1"], &[], false),
            ("foo", &[], &[], true),
            ("foo", &[], &[""], false),
            ("foo", &["1, 2"], &["1,2"], true),
            ("foo", &["1, 2"], &["1", "2"], true),
            ("foo", &["1 ,\t2"], &["1, 2"], true),
            ("foo", &["1, 2"], &["2, 1"], false),
            ("foo", &["\"a, b\""], &["\"a,b\""], false),
            ("foo", &["\"a\\\", b\""], &["\"a\\\",b\""], false),
            ("foo", &["A"], &["a"], false),
            ("cookie", &["a=1,2"], &["a=1, 2"], false),
            ("accept-language", &["de, en"], &["EN,de"], false),
            ("accept-language", &["de, en;q=0.5"], &["en;q=0.5,DE"], true),
            ("accept-language", &["de, en, de"], &["DE ,en, de;q=1"], true),
            ("accept-language", &["de, en;q=0.5"], &["de;q=0.5, en"], false),
            ("accept-encoding", &["gzip, br"], &["br,gzip"], true),
            ("accept-encoding", &["gzip, br"], &["gzip, deflate, br"], false),
            ("accept-encoding", &["gzip, br"], &["x-gzip", "br", "sdch"], true),
            ("accept-encoding", &["gzip"], &["gzip, br;q=0"], true),
            ("accept-encoding", &["gzip, *"], &["gzip, *, br;q=0"], false),
            ("accept-encoding", &["gzip"], &["gzip;q=0.5"], false),
            ("accept-encoding", &["gzip"], &["gzip, identity;q=0"], false),
            ("accept-encoding", &["gzip"], &["br"], false),
            ("accept-encoding", &[], &["sdch"], false),
            ("Accept-Encoding", &["gzip"], &["GZIP"], true),
        ];
        for (name, first, second, expected) in cases {
            let response = headers(&[("vary", name)]);
            let request = |values: &[&str]| headers(&values.iter().map(|value| (name, *value)).collect::<Vec<_>>());
            let variant = Variant::of(&response, &request(first)).unwrap();
            assert_eq!(variant.matches(&request(second)), expected, "{name}: {first:?} {second:?}");
        }
    }

    #[test]
    fn codings_that_clients_accept_and_others() {
        let cases: [(&[&str], Option<&str>, bool); 14] = [
            (&[], None, true),
            (&[], Some("gzip"), true),
            (&["gzip"], Some("br, GZIP"), true),
            (&["gzip"], Some("x-gzip"), true),
            (&["x-gzip"], Some("gzip;q=0.1"), true),
            (&["identity"], None, true),
            (&["gzip"], Some("*"), true),
            (&["xz"], Some("xz"), true),
            (&["gzip"], None, false),
            (&["gzip"], Some("br"), false),
            (&["gzip"], Some("identity"), false),
            (&["gzip"], Some("*, gzip;q=0"), false),
            (&["gzip"], Some("*;q=0"), false),
            (&["gzip", "br"], Some("gzip"), false),
        ];
        for (codings, accepted, expected) in cases {
            let response: Vec<_> = codings.iter().map(|coding| ("content-encoding", *coding)).collect();
            let request: Vec<_> = accepted.iter().map(|value| ("accept-encoding", *value)).collect();
            let found = accepts_coding(&headers(&request), &PackedHeaders::new(&headers(&response)));
            assert_eq!(found, expected, "{codings:?} {accepted:?}");
        }
    }

    #[test]
    fn all_fields_of_all_lines_count() {
        let response = headers(&[("vary", "a, B"), ("vary", "c, a")]);
        let variant = Variant::of(&response, &headers(&[("a", "1"), ("b", "2"), ("c", "3")])).unwrap();
        assert!(variant.matches(&headers(&[("c", "3"), ("b", "2"), ("a", "1"), ("d", "4")])));
        assert!(!variant.matches(&headers(&[("c", "4"), ("b", "2"), ("a", "1")])));
        assert_eq!(Variant::of(&headers(&[("vary", "a, *")]), &headers(&[])), None);
        assert!(Variant::of(&headers(&[("vary", ",")]), &headers(&[])).unwrap().is_any());
    }
}
