//! Header fields that are kept for a long time: in as little memory as their text needs.

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use crate::{
    Headers,
    field::{FieldName, KnownHeader},
    list::List,
};

/// Header fields in one allocation of exactly their size, for messages that are kept. They cannot be changed;
/// [`to_headers`](Self::to_headers) makes [`Headers`] of them, to which others can be added.
///
/// ```
/// use serow_message::{Headers, KnownHeader, PackedHeaders};
///
/// let mut headers = Headers::new();
/// headers.append("Content-Type", "text/plain").unwrap();
/// let packed = PackedHeaders::new(&headers);
/// assert_eq!(packed.get(KnownHeader::ContentType), Some(&b"text/plain"[..]));
/// assert_eq!(packed.to_headers(), headers);
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PackedHeaders {
    /// The number of fields in four bytes, seven bytes for each of them, and their lines `name: value\r\n`.
    bytes: Box<[u8]>,
}

/// Fields that are looked for by well-known names, however they are kept.
pub trait KnownFields {
    /// The value of the first field of this name.
    fn first(&self, name: KnownHeader) -> Option<&[u8]>;
}

/// Where a field stands in the lines.
#[derive(Clone, Copy)]
pub(crate) struct PackedField {
    pub(crate) known: Option<KnownHeader>,
    pub(crate) name_length: u16,
    pub(crate) value_length: u32,
}

impl PackedHeaders {
    /// These fields. Those behind four gigabytes of text are left out; no message has so much.
    #[must_use]
    pub fn new(headers: &Headers) -> Self {
        if headers.is_empty() {
            return Self::default();
        }
        let (count, text) = packable(headers);
        let mut bytes = Vec::with_capacity(COUNT + count * FIELD + text);
        bytes.extend_from_slice(&(count as u32).to_le_bytes());
        for (name, known, value) in headers.iter_known().take(count) {
            bytes.push(known.map_or(UNKNOWN, |known| known as u8));
            // A longer name is refused where it is added or received.
            bytes.extend_from_slice(&(name.len() as u16).to_le_bytes());
            bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
        }
        for (name, value) in headers.iter().take(count) {
            [name, b": ", value, b"\r\n"].into_iter().for_each(|part| bytes.extend_from_slice(part));
        }
        Self { bytes: bytes.into() }
    }

    /// The fields as a list that can be changed, with room for some more.
    #[must_use]
    pub fn to_headers(&self) -> Headers {
        if self.is_empty() {
            return Headers::new();
        }
        Headers::of(Arc::new(List::of_lines(self.lines(), self.fields())))
    }

    /// How many fields there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes.first_chunk().map_or(0, |count| u32::from_le_bytes(*count) as usize)
    }

    /// Whether there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Bytes that they take.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Whether a field of this name occurs.
    pub fn contains(&self, name: impl FieldName) -> bool {
        self.get(name).is_some()
    }

    /// The value of the first field of this name.
    pub fn get(&self, name: impl FieldName) -> Option<&[u8]> {
        let known = name.known();
        let is_named = |other: &[u8], other_known: Option<KnownHeader>| match known {
            Some(_) => other_known == known,
            None => other_known.is_none() && other.eq_ignore_ascii_case(name.bytes()),
        };
        self.iter_known().find(|(name, known, _)| is_named(name, *known)).map(|(_, _, value)| value)
    }

    /// Name, which well-known name that is, and value of each field, in order.
    pub fn iter_known(&self) -> impl Iterator<Item = (&[u8], Option<KnownHeader>, &[u8])> {
        let (lines, mut start) = (self.lines(), 0);
        self.fields().map(move |field| {
            let colon = start + usize::from(field.name_length);
            let end = colon + ": ".len() + field.value_length as usize;
            let parts = lines.get(start..colon).zip(lines.get(colon + ": ".len()..end)).unwrap_or_default();
            start = end + "\r\n".len();
            (parts.0, field.known, parts.1)
        })
    }

    fn fields(&self) -> impl ExactSizeIterator<Item = PackedField> {
        let fields = self.bytes.get(COUNT..self.lines_start()).unwrap_or_default();
        fields.as_chunks().0.iter().map(|[known, name_0, name_1, value @ ..]: &[u8; FIELD]| PackedField {
            known: KnownHeader::of_number(*known),
            name_length: u16::from_le_bytes([*name_0, *name_1]),
            value_length: u32::from_le_bytes(*value),
        })
    }

    fn lines(&self) -> &[u8] {
        self.bytes.get(self.lines_start()..).unwrap_or_default()
    }

    fn lines_start(&self) -> usize {
        COUNT + self.len() * FIELD
    }
}

impl KnownFields for PackedHeaders {
    fn first(&self, name: KnownHeader) -> Option<&[u8]> {
        self.get(name)
    }
}

impl KnownFields for Headers {
    fn first(&self, name: KnownHeader) -> Option<&[u8]> {
        self.get(name)
    }
}

impl core::fmt::Debug for PackedHeaders {
    fn fmt(&self, formatter: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.to_headers().fmt(formatter)
    }
}

/// How many fields have a text of less than four gigabytes together, and its length.
fn packable(headers: &Headers) -> (usize, usize) {
    let (mut count, mut text) = (0, 0);
    for (name, value) in headers.iter() {
        let end = text + name.len() + value.len() + ": \r\n".len();
        if u32::try_from(end).is_err() {
            break;
        }
        (count, text) = (count + 1, end);
    }
    (count, text)
}

/// Bytes of the number of fields.
const COUNT: usize = 4;

/// Bytes for a field beside its line: the number of its well-known name, and the lengths of name and value.
const FIELD: usize = 7;

/// The number of a name that is not well known.
const UNKNOWN: u8 = u8::MAX;

#[cfg(test)]
mod tests {
    use alloc::vec;

    use bytes::Bytes;

    use super::*;
    use crate::{ReceivedFields, Span};

    fn lines(headers: &Headers) -> Vec<u8> {
        let mut output = Vec::new();
        headers.write_lines(&mut output, &[]);
        output
    }

    #[test]
    fn fields_are_the_same_when_they_are_unpacked() {
        let long = "v".repeat(70_000);
        for fields in [
            vec![],
            vec![("etag", "\"a\"")],
            vec![("ETag", "\"a\""), ("x-A", ""), ("vary", "b"), ("X-a", "\u{e9}"), ("vary", "c")],
            vec![("x", &*long), ("Date", "d")],
        ] {
            let mut headers = Headers::new();
            fields.iter().for_each(|(name, value)| headers.append(*name, value).unwrap());
            let packed = PackedHeaders::new(&headers);
            let mut unpacked = packed.to_headers();
            assert_eq!((&unpacked, packed.len()), (&headers, headers.len()));
            assert_eq!(lines(&unpacked), lines(&headers));
            assert!(packed.iter_known().eq(headers.iter_known()));
            for name in ["etag", "x-a", "vary", "date", "x", "y"] {
                assert_eq!(packed.get(name), headers.get(name), "{name}");
                assert_eq!(unpacked.contains(name), headers.contains(name), "{name}");
            }
            unpacked.append("age", "1").unwrap();
            headers.append("age", "1").unwrap();
            assert_eq!(lines(&unpacked), lines(&headers));
            assert_eq!(unpacked.get(KnownHeader::Age), Some(&b"1"[..]));
        }
    }

    #[test]
    fn received_fields_are_packed_whatever_stands_between_them() {
        let mut fields = <ReceivedFields>::default();
        let span = |name_start, name_length, value_start, value_length| Span {
            name_start,
            name_length,
            value_start,
            value_length,
            is_line: false,
        };
        fields.push_known(KnownHeader::Etag, 0, 1).unwrap();
        fields.push(b"x", span(1, 1, 4, 2)).unwrap();
        let mut headers = fields.into_headers(Bytes::from_static(b"ax:\tbc")).unwrap();
        headers.append("te", "d").unwrap();
        let packed = PackedHeaders::new(&headers);
        assert_eq!(lines(&packed.to_headers()), b"etag: a\r\nx: bc\r\nte: d\r\n");
        assert_eq!(packed.size(), COUNT + 3 * FIELD + b"etag: a\r\nx: bc\r\nte: d\r\n".len());
    }
}
