//! Replacement of a stored response when another one for the same requests arrives.

use crate::{
    content_range::ContentRange,
    extent::{Extent, strong_validator},
    stored::{Stored, StoredHead},
    stored_body::StoredBody,
};

/// Whether a new response with this head takes the place of one that is stored for the same requests. Of those, there is
/// one at any time: a client that asks for many ranges of one URI has one part stored.
pub(super) fn takes_place(head: &StoredHead, extent: Extent, before: &Stored) -> bool {
    let Extent::Part(part) = extent else { return true };
    let is_fresh = before.current_head().freshness.is_fresh(head.freshness.received);
    match &before.body {
        // A client that asks for ranges must not cost others a whole response, unless that is stale and of another
        // version, and so of no use.
        StoredBody::Whole(_) => !is_fresh && !are_same_version(head, &before.head),
        // Nor must a client that asks for a byte cost them a longer part.
        StoredBody::Part(stored) => {
            !is_fresh || !are_same_version(head, &before.head) || part.length() >= stored.place().length()
        }
    }
}

/// All bytes of a new part and of the stored one for the same requests, if they are one part, or the whole, and of at most
/// so many bytes. The head is that of the new one (RFC 9111 §3.4).
pub(super) fn combined(new: &Stored, before: &Stored, most: usize) -> Option<StoredBody> {
    match (&new.body, &before.body) {
        (StoredBody::Part(part), StoredBody::Part(stored)) if are_same_version(&new.head, &before.head) => {
            part.combined(stored, most)
        }
        _ => None,
    }
}

/// Whether a part with this head may be stored beside what is stored for the same requests: in its place, or with it as one.
#[must_use]
pub fn is_part_of_use(head: &StoredHead, part: ContentRange, before: &Stored) -> bool {
    let may_be_combined = matches!(&before.body, StoredBody::Part(stored) if part.united(&stored.place()).is_some());
    may_be_combined || takes_place(head, Extent::Part(part), before)
}

/// Whether they have the same strong validator.
fn are_same_version(new: &StoredHead, before: &StoredHead) -> bool {
    let validator = strong_validator(&new.headers);
    validator.is_some() && validator == strong_validator(&before.headers)
}
