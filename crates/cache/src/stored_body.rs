//! The body of a stored response: all of a representation, or a part (RFC 9111 §3.3).

use std::sync::Arc;

use bytes::Bytes;

use crate::{
    content_range::ContentRange,
    extent::Extent,
    stored_content::{ContentFile, StoredContent},
};

/// The body of a stored response.
#[derive(Clone, Debug)]
pub enum StoredBody {
    /// All of the representation.
    Whole(StoredContent),
    /// A part of it; in a box, since nearly all are whole.
    Part(Box<StoredPart>),
}

/// A part of a representation: not all of it, and exactly the bytes that its place says.
#[derive(Clone, Debug)]
pub struct StoredPart {
    content: StoredContent,
    place: ContentRange,
}

impl StoredBody {
    /// This content, of which the response has said that it is so much; nothing if it has another length. A part that has
    /// every byte is the whole.
    #[must_use]
    pub fn new(content: StoredContent, extent: Extent) -> Option<Self> {
        match extent {
            Extent::Whole => Some(Self::Whole(content)),
            Extent::Part(place) if content.length() != place.length() => None,
            Extent::Part(place) if place.is_whole() => Some(Self::Whole(content)),
            Extent::Part(place) => Some(Self::Part(Box::new(StoredPart { content, place }))),
        }
    }

    /// Bytes of the whole representation, whether they are all stored or not.
    #[must_use]
    pub fn complete_length(&self) -> u64 {
        match self {
            Self::Whole(content) => content.length(),
            Self::Part(part) => part.place.complete_length(),
        }
    }

    /// How much of the representation it is.
    #[must_use]
    pub fn extent(&self) -> Extent {
        match self {
            Self::Whole(_) => Extent::Whole,
            Self::Part(part) => Extent::Part(part.place),
        }
    }

    /// Bytes that it takes in memory.
    #[must_use]
    pub fn memory_size(&self) -> usize {
        self.stored().memory_size()
    }

    /// The file with its bytes, if they are in one.
    #[must_use]
    pub fn file(&self) -> Option<&Arc<dyn ContentFile>> {
        self.stored().file()
    }

    /// Its bytes, if they are in memory, whatever they are a part of.
    pub(crate) fn memory(&self) -> Option<&Bytes> {
        self.stored().memory()
    }

    /// The stored content, whatever it is a part of.
    pub(crate) fn stored(&self) -> &StoredContent {
        match self {
            Self::Whole(content) => content,
            Self::Part(part) => &part.content,
        }
    }
}

impl StoredPart {
    /// Its bytes.
    #[must_use]
    pub fn content(&self) -> &StoredContent {
        &self.content
    }

    /// Where they lie in the whole.
    #[must_use]
    pub fn place(&self) -> ContentRange {
        self.place
    }

    /// All bytes of this part and of one that was stored before, of the same version of the representation, if they are in
    /// memory, adjoin or overlap, and are not more than so many (RFC 9111 §3.4).
    pub(crate) fn combined(&self, before: &Self, most: usize) -> Option<StoredBody> {
        let place = self.place.united(&before.place).filter(|place| place.length() <= most as u64)?;
        let (first, second) =
            if self.place.range().start < before.place.range().start { (self, before) } else { (before, self) };
        let (head, tail) = (first.content.memory()?, second.content.memory()?);
        let offset = usize::try_from(second.place.range().start - first.place.range().start).ok()?;
        let shared = (head.len() - offset).min(tail.len());
        // An origin that has sent other bytes with the same validator errs.
        if head[offset..offset + shared] != tail[..shared] {
            return None;
        }
        let content = match shared == tail.len() {
            true => head.clone(),
            // All is copied: for a few bytes, that would be a lever for an attacker.
            false if self.place.length() * MAX_COPIES < place.length() => return None,
            false => [head, &tail[shared..]].concat().into(),
        };
        StoredBody::new(StoredContent::Memory(content), Extent::Part(place))
    }
}

impl From<StoredContent> for StoredBody {
    fn from(content: StoredContent) -> Self {
        Self::Whole(content)
    }
}

impl From<Bytes> for StoredBody {
    fn from(bytes: Bytes) -> Self {
        Self::Whole(bytes.into())
    }
}

/// Bytes that are copied for each byte that has arrived.
const MAX_COPIES: u64 = 16;

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;

    #[test]
    fn a_body_has_the_length_that_its_response_has_said() {
        for (length, range, is_part) in
            [(5, 0..5, Some(true)), (4, 0..5, None), (6, 0..5, None), (10, 0..10, Some(false)), (0, 0..10, None)]
        {
            let place = ContentRange::new(range.clone(), 10).unwrap();
            let body = StoredBody::new(Bytes::from(vec![0; length]).into(), Extent::Part(place));
            let found = body.as_ref().map(|body| matches!(body, StoredBody::Part(_)));
            assert_eq!(found, is_part, "{length} {range:?}");
            assert!(body.is_none_or(|body| body.complete_length() == 10));
        }
    }

    fn part(start: u64, bytes: &'static str) -> StoredPart {
        let place = ContentRange::new(start..start + bytes.len() as u64, 40).unwrap();
        StoredPart { content: Bytes::from_static(bytes.as_bytes()).into(), place }
    }

    #[test]
    fn parts_that_adjoin_or_overlap_are_combined() {
        let all = "0123456789abcdefghij0123456789abcdefghij";
        let of = |range: Range<usize>| part(range.start as u64, &all[range]);
        for (before, new, expected) in [
            (0..10, 10..20, Some(0..20)),
            (10..20, 0..10, Some(0..20)),
            (0..10, 5..20, Some(0..20)),
            (5..20, 0..10, Some(0..20)),
            (0..20, 5..10, Some(0..20)),
            (5..10, 0..20, Some(0..20)),
            (0..10, 0..10, Some(0..10)),
            (0..10, 11..20, None),
            // More than is stored.
            (0..10, 10..31, None),
            // So much is copied only for a part that is not much smaller.
            (0..28, 28..29, None),
            (0..28, 28..30, Some(0..30)),
            (0..28, 10..11, Some(0..28)),
        ] {
            let found = of(new.clone()).combined(&of(before.clone()), 30);
            let found = found.map(|body| match body {
                StoredBody::Part(part) => (part.place.range(), part.content.memory().cloned()),
                StoredBody::Whole(_) => panic!("{before:?} {new:?}"),
            });
            let expected = expected.map(|range: Range<usize>| {
                (range.start as u64..range.end as u64, Some(Bytes::from_static(all[range].as_bytes())))
            });
            assert_eq!(found, expected, "{before:?} {new:?}");
        }
        let body = of(10..40).combined(&of(0..10), 40).unwrap();
        let StoredBody::Whole(content) = body else { panic!("{body:?}") };
        assert_eq!(content.memory().unwrap(), all);
        assert!(part(3, "xx").combined(&of(0..5), 40).is_none(), "other bytes of the same version");
    }
}
