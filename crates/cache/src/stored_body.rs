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
    /// A part of it.
    Part(StoredPart),
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
            Extent::Part(place) => Some(Self::Part(StoredPart { content, place })),
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

    /// What is stored, whatever it is a part of.
    pub(crate) fn stored(&self) -> &StoredContent {
        match self {
            Self::Whole(content) | Self::Part(StoredPart { content, .. }) => content,
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

#[cfg(test)]
mod tests {
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
}
