//! Stored responses as bytes, for stores that outlive the process.
//!
//! ```text
//! "SEROWRC6" | checksum of all that follows | key | numbers of the contents in files | number of variants | variants
//! ```
//!
//! Numbers are little-endian, and texts begin with their length. The checksum finds what a crash of the machine, a full disk
//! or somebody else has left; it is not a signature.

use std::time::Duration;

use bytes::Bytes;
use serow_message::{Headers, PackedHeaders, StatusCode};
use xxhash_rust::xxh3::xxh3_64;

use crate::{
    content_range::ContentRange,
    extent::Extent,
    freshness::Freshness,
    key::Key,
    persistence::Persistence,
    reuse_rules::{ReuseRules, StaleSpan, ValidationRule},
    store::Resource,
    stored::{Storable, Stored, StoredHead},
    stored_body::StoredBody,
    stored_content::{ContentReference, StoredContent},
    storing::StorableHead,
    tags::TagNames,
    time::{Span, Time},
    vary::Variant,
};

/// A response that was read from bytes.
#[derive(Clone, Debug)]
pub(crate) struct RecordedResponse {
    pub(crate) response: Storable,
    /// The version of the store when it was requested.
    pub(crate) version: u64,
    /// Since when a purge has it stale.
    pub(crate) outdated_at: Option<Time>,
}

/// All variants that are stored for a URI, as bytes.
#[must_use]
pub fn encode(key: &Key, resource: &Resource) -> Vec<u8> {
    let variants: Vec<_> = resource.variants().collect();
    let mut output =
        Output(Vec::with_capacity(variants.iter().map(|stored| stored.body.memory_size() + 512).sum::<usize>()));
    output.0.extend_from_slice(MAGIC);
    output.number(0);
    output.text(key.as_bytes());
    let files: Vec<_> = variants.iter().filter_map(|stored| stored.body.file()).collect();
    output.number(files.len() as u64);
    files.into_iter().for_each(|file| output.number(file.reference().number));
    output.number(variants.len() as u64);
    variants.into_iter().for_each(|stored| output.response(stored));
    let checksum = xxh3_64(&output.0[HEADER..]);
    output.0[MAGIC.len()..HEADER].copy_from_slice(&checksum.to_le_bytes());
    output.0
}

/// The responses of this key; nothing if the bytes are damaged, or about another key.
pub(crate) fn decode(key: &Key, bytes: &Bytes, files: &dyn Persistence) -> Option<Vec<RecordedResponse>> {
    let checksum = bytes.get(MAGIC.len()..HEADER).filter(|_| bytes.starts_with(MAGIC))?;
    if xxh3_64(&bytes[HEADER..]).to_le_bytes() != *checksum {
        return None;
    }
    let mut input = Input { bytes, position: HEADER };
    if input.text()? != key.as_bytes() {
        return None;
    }
    for _ in 0..input.number()? {
        input.number()?;
    }
    let count = input.number()?;
    let content_of = |reference| StoredContent::File(files.content(key, reference));
    let responses = (0..count).map(|_| input.response(&content_of)).collect::<Option<Vec<_>>>()?;
    (input.position == bytes.len()).then_some(responses)
}

/// The key of a record, whose checksum is not looked at.
#[must_use]
pub fn key_of(beginning: &[u8]) -> Option<Key> {
    let bytes = Bytes::copy_from_slice(beginning.strip_prefix(MAGIC)?.get(size_of::<u64>()..)?);
    let mut input = Input { bytes: &bytes, position: 0 };
    Some(Key::of_bytes(input.text()?))
}

/// The numbers of the contents in files that a record refers to; its checksum is not looked at.
#[must_use]
pub fn content_numbers_of(beginning: &[u8]) -> Option<Vec<u64>> {
    let bytes = Bytes::copy_from_slice(beginning.strip_prefix(MAGIC)?.get(size_of::<u64>()..)?);
    let mut input = Input { bytes: &bytes, position: 0 };
    input.text()?;
    (0..input.number()?).map(|_| input.number()).collect()
}

struct Output(Vec<u8>);

impl Output {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        self.number(text.len() as u64);
        self.0.extend_from_slice(text);
    }

    fn stale_span(&mut self, span: StaleSpan) {
        self.number(span.get().map_or(u64::MAX, |span| span.as_secs()));
    }

    fn response(&mut self, stored: &Stored) {
        self.number(stored.version().0);
        self.number(stored.outdated_since().map_or(0, Time::as_millis));
        self.number(stored.scope.into());
        let StoredHead { status, headers, variant, freshness, reuse } = &stored.head;
        self.number(status.as_u16().into());
        self.number(headers.len() as u64);
        for (name, _, value) in headers.iter_known() {
            self.text(name);
            self.text(value);
        }
        let parts: Vec<_> = variant.parts().collect();
        self.number(parts.len() as u64);
        for (name, value) in parts {
            self.text(name);
            self.number(value.is_some().into());
            self.text(value.unwrap_or_default());
        }
        let Freshness { lifetime, initial_age, received } = *freshness;
        self.number(lifetime.as_millis());
        self.number(initial_age.as_millis());
        self.number(received.as_millis());
        let ReuseRules { validation, is_immutable, stale_while_revalidate, stale_if_error } = *reuse;
        self.number(match validation {
            ValidationRule::Usually => USUALLY,
            ValidationRule::IfStale => IF_STALE,
            ValidationRule::Always => ALWAYS,
        });
        self.number(is_immutable.into());
        self.stale_span(stale_while_revalidate);
        self.stale_span(stale_if_error);
        self.number(stored.tags().len() as u64);
        stored.tags().iter().for_each(|tag| self.text(tag.name()));
        match stored.body.extent() {
            Extent::Whole => self.number(WHOLE),
            Extent::Part(place) => {
                let range = place.range();
                let numbers = [PART, range.start, range.end, place.complete_length()];
                numbers.into_iter().for_each(|number| self.number(number));
            }
        }
        match stored.body.stored() {
            StoredContent::Memory(bytes) => {
                self.number(IN_RECORD);
                self.text(bytes);
            }
            StoredContent::File(file) => {
                let ContentReference { number, length, modified } = file.reference();
                [IN_FILE, number, length, modified].into_iter().for_each(|number| self.number(number));
            }
        }
    }
}

struct Input<'a> {
    bytes: &'a Bytes,
    position: usize,
}

impl<'a> Input<'a> {
    fn number(&mut self) -> Option<u64> {
        let end = self.position.checked_add(size_of::<u64>())?;
        let number = u64::from_le_bytes(self.bytes.get(self.position..end)?.try_into().ok()?);
        self.position = end;
        Some(number)
    }

    fn range(&mut self) -> Option<std::ops::Range<usize>> {
        let length = usize::try_from(self.number()?).ok()?;
        let range = self.position..self.position.checked_add(length)?;
        self.bytes.get(range.clone())?;
        self.position = range.end;
        Some(range)
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let range = self.range()?;
        self.bytes.get(range)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn validation_rule(&mut self) -> Option<ValidationRule> {
        match self.number()? {
            USUALLY => Some(ValidationRule::Usually),
            IF_STALE => Some(ValidationRule::IfStale),
            ALWAYS => Some(ValidationRule::Always),
            _ => None,
        }
    }

    fn stale_span(&mut self) -> Option<StaleSpan> {
        let number = self.number()?;
        Some(Some(number).filter(|number| *number != u64::MAX).map(Duration::from_secs).into())
    }

    fn span(&mut self) -> Option<Span> {
        self.number().map(Span::from_millis)
    }

    fn extent(&mut self) -> Option<Extent> {
        match self.number()? {
            WHOLE => Some(Extent::Whole),
            PART => {
                let (range, complete) = (self.number()?..self.number()?, self.number()?);
                let place = ContentRange::new(range, complete)?;
                (!place.is_whole()).then_some(Extent::Part(place))
            }
            _ => None,
        }
    }

    fn content(&mut self, content_of: &dyn Fn(ContentReference) -> StoredContent) -> Option<StoredContent> {
        match self.number()? {
            IN_RECORD => {
                let range = self.range()?;
                // A slice keeps all of the record in memory, with its heads and other variants.
                let is_most = self.bytes.len() - range.len() <= range.len() / MAX_REST_PART;
                let content = &self.bytes[range.clone()];
                Some(if is_most { self.bytes.slice(range) } else { Bytes::copy_from_slice(content) }.into())
            }
            IN_FILE => {
                let (number, length, modified) = (self.number()?, self.number()?, self.number()?);
                Some(content_of(ContentReference { number, length, modified }))
            }
            _ => None,
        }
    }

    fn response(&mut self, content_of: &dyn Fn(ContentReference) -> StoredContent) -> Option<RecordedResponse> {
        let (version, outdated_at, scope) = (self.number()?, self.number()?, u32::try_from(self.number()?).ok()?);
        let status = StatusCode::from_u16(u16::try_from(self.number()?).ok()?).ok()?;
        let mut headers = Headers::new();
        for _ in 0..self.number()? {
            headers.append(self.text()?, self.text()?).ok()?;
        }
        let mut parts = Vec::new();
        for _ in 0..self.number()? {
            let (name, is_there, value) = (self.text()?, self.flag()?, self.text()?);
            parts.push((name, is_there.then_some(value)));
        }
        let (headers, variant) = (PackedHeaders::new(&headers), Variant::of_parts(parts));
        let freshness = Freshness {
            lifetime: self.span()?,
            initial_age: self.span()?,
            received: Time::from_millis(self.number()?),
        };
        let reuse = ReuseRules {
            validation: self.validation_rule()?,
            is_immutable: self.flag()?,
            stale_while_revalidate: self.stale_span()?,
            stale_if_error: self.stale_span()?,
        };
        let mut tags = TagNames::default();
        for _ in 0..self.number()? {
            tags.push(self.text()?);
        }
        let extent = self.extent()?;
        let body = StoredBody::new(self.content(content_of)?, extent)?;
        let head = StorableHead::of_stored(StoredHead { status, headers, variant, freshness, reuse });
        let response = Storable { head, body, scope, tags };
        let outdated_at = (outdated_at > 0).then(|| Time::from_millis(outdated_at));
        Some(RecordedResponse { response, version, outdated_at })
    }
}

/// Of this layout: another one has another number, and its records are misses (2: without the extent of bodies, 3: with the source of the lifetime, 4 and 5: with other numbers of routes).
const MAGIC: &[u8; 8] = b"SEROWRC6";

/// A content that shares the memory of its record has at least so many times as many bytes as the rest.
const MAX_REST_PART: usize = 16;

/// How much of the whole a body is.
const WHOLE: u64 = 0;
const PART: u64 = 1;

/// When a response has to be validated.
const USUALLY: u64 = 0;
const IF_STALE: u64 = 1;
const ALWAYS: u64 = 2;

/// Where a content is.
const IN_RECORD: u64 = 0;
const IN_FILE: u64 = 1;

/// Where the checksum ends, and what it is about begins.
const HEADER: usize = MAGIC.len() + size_of::<u64>();

#[cfg(test)]
mod tests {
    use serow_message::Scheme;

    use super::*;
    use crate::{MemoryStore, persistence::tests::References, stored::tests::stored};

    fn key() -> Key {
        Key::new(Scheme::Https, "a", "/", Some("q"), &[b"x y"])
    }

    fn encoded() -> Bytes {
        let store = MemoryStore::new(1 << 20, 1 << 10);
        let reference = ContentReference { number: 77, length: 1 << 40, modified: 5 };
        let in_file = StoredContent::File(References.content(&key(), reference)).into();
        let place = ContentRange::new(2..5, 10).unwrap();
        let part = StoredBody::new(Bytes::from("one").into(), Extent::Part(place)).unwrap();
        for (value, body) in [("1", part), ("2", Bytes::new().into()), ("3", in_file)] {
            let (mut request, mut response) = (Headers::new(), Headers::new());
            request.append("a", value).unwrap();
            response.append("vary", "a, b").unwrap();
            let variant = Variant::of(&response, &request).unwrap();
            let head = StoredHead { variant, ..stored(404, &[("etag", "\"e\""), ("x-a", "\u{e9}")]) };
            let reuse = ReuseRules {
                stale_if_error: Some(Duration::from_secs(7)).into(),
                is_immutable: true,
                ..ReuseRules::default()
            };
            let mut tags = TagNames::default();
            tags.push(b"t1");
            tags.push(b"t2");
            let response = Storable { head: StoredHead { reuse, ..head }.into(), body, scope: 9, tags };
            assert!(store.insert(key(), store.version(), response));
        }
        encode(&key(), &store.find(&key()).unwrap()).into()
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let bytes = encoded();
        let found = decode(&key(), &bytes, &References).unwrap();
        assert_eq!(found.len(), 3);
        let Storable { head, body, scope, tags } = &found[0].response;
        let StoredBody::Part(part) = body else { panic!("{body:?}") };
        assert_eq!((part.place().range(), part.place().complete_length()), (2..5, 10));
        let body = part.content().memory().unwrap();
        assert!(found[1..].iter().all(|found| found.response.body.extent() == Extent::Whole));
        let file = found[2].response.body.file().unwrap().reference();
        assert_eq!((file.number, file.length, file.modified), (77, 1 << 40, 5));
        assert_eq!(content_numbers_of(&bytes), Some(vec![77]));
        assert_eq!((&body[..], *scope, tags.iter().collect::<Vec<_>>()), (&b"one"[..], 9, vec![&b"t1"[..], b"t2"]));
        let expected = stored(404, &[("etag", "\"e\""), ("x-a", "\u{e9}")]);
        assert_eq!(
            (head.status, &head.headers, head.freshness),
            (expected.status, &expected.headers, expected.freshness)
        );
        let ReuseRules { stale_if_error, stale_while_revalidate, .. } = head.reuse;
        assert_eq!((stale_if_error.get(), stale_while_revalidate.get()), (Some(Duration::from_secs(7)), None));
        let mut request = Headers::new();
        request.append("a", "1").unwrap();
        assert!(head.variant.matches(&request) && !head.variant.matches(&Headers::new()));
        assert_eq!(key_of(&bytes[..60]).as_ref(), Some(&key()));
    }

    #[test]
    fn a_content_keeps_a_record_in_memory_only_if_that_is_mostly_the_content() {
        for (length, is_shared) in [(0, false), (100, false), (100_000, true)] {
            let store = MemoryStore::new(1 << 20, 1 << 18);
            let body = Bytes::from(vec![7; length]);
            let (head, tags) = (stored(200, &[]).into(), TagNames::default());
            let response = Storable { head, body: body.clone().into(), scope: 0, tags };
            assert!(store.insert(key(), store.version(), response));
            let record = Bytes::from(encode(&key(), &store.find(&key()).unwrap()));
            let found = decode(&key(), &record, &References).unwrap();
            let content = found[0].response.body.memory().unwrap();
            assert_eq!(content, &body);
            assert_eq!(record.as_ptr_range().contains(&content.as_ptr()), is_shared, "{length}");
        }
    }

    #[test]
    fn a_part_whose_place_is_not_that_of_its_bytes_is_nothing() {
        let bytes = encoded();
        let place = |numbers: [u64; 4]| numbers.map(u64::to_le_bytes).concat();
        let right = place([PART, 2, 5, 10]);
        let position = bytes.windows(right.len()).position(|window| window == right).unwrap();
        let with = |numbers| {
            let mut changed = bytes.to_vec();
            changed[position..position + right.len()].copy_from_slice(&place(numbers));
            let checksum = xxh3_64(&changed[HEADER..]);
            changed[MAGIC.len()..HEADER].copy_from_slice(&checksum.to_le_bytes());
            decode(&key(), &changed.into(), &References)
        };
        assert!(with([PART, 2, 5, 10]).is_some() && with([PART, 7, 10, 10]).is_some());
        for numbers in [
            [PART, 2, 6, 10],
            [PART, 5, 2, 10],
            [PART, 2, 5, 4],
            [PART, 2, 2, 10],
            // It would be the whole.
            [PART, 0, 3, 3],
            [PART, u64::MAX - 3, u64::MAX, 10],
            [WHOLE, 2, 5, 10],
            [2, 2, 5, 10],
        ] {
            assert!(with(numbers).is_none(), "{numbers:?}");
        }
    }

    #[test]
    fn records_of_another_layout_are_nothing() {
        let mut bytes = encoded().to_vec();
        bytes[MAGIC.len() - 1] = b'2';
        assert_eq!(key_of(&bytes), None);
        assert!(decode(&key(), &bytes.into(), &References).is_none());
    }

    #[test]
    fn damaged_bytes_are_nothing() {
        let bytes = encoded();
        assert!(
            decode(&Key::new(Scheme::Https, "a", "/", Some("q"), &[]), &bytes, &References).is_none(),
            "of another key"
        );
        for length in 0..bytes.len() {
            assert!(decode(&key(), &bytes.slice(..length), &References).is_none(), "cut after {length}");
        }
        for position in 0..bytes.len() {
            let mut changed = bytes.to_vec();
            changed[position] ^= 1;
            assert!(decode(&key(), &changed.into(), &References).is_none(), "changed at {position}");
        }
        // With a checksum that fits, no length leads out of the record, and none to much memory.
        for position in (HEADER..bytes.len() - 8).step_by(1) {
            let mut changed = bytes.to_vec();
            changed[position..position + 8].copy_from_slice(&(u64::MAX - 1).to_le_bytes());
            let checksum = xxh3_64(&changed[HEADER..]);
            changed[8..HEADER].copy_from_slice(&checksum.to_le_bytes());
            let _ = decode(&key(), &changed.into(), &References);
        }
        assert!(decode(&key(), &[&bytes[..], b"x"].concat().into(), &References).is_none(), "with a tail");
    }
}
