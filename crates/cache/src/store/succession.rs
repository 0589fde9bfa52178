//! What becomes of a stored response when another one for the same requests arrives.

use crate::{extent::strong_validator, stored::Stored, stored_body::StoredBody};

/// Whether a new response takes the place of one that is stored for the same requests. Of those, there is one at any time:
/// a client that asks for many ranges of one URI has one part stored.
pub(super) fn takes_place(new: &Stored, before: &Stored) -> bool {
    if matches!(new.body, StoredBody::Whole(_)) {
        return true;
    }
    let is_fresh = before.current_head().freshness.is_fresh(new.head.freshness.received);
    match (&new.body, &before.body) {
        // Whoever asks for ranges must not have others lose what is whole. What is stale and another version is of no use.
        (StoredBody::Part(_), StoredBody::Whole(_)) => !is_fresh && !are_same_version(new, before),
        // Nor must who asks for a byte have them lose a longer part.
        (StoredBody::Part(part), StoredBody::Part(stored)) => {
            !is_fresh || !are_same_version(new, before) || part.place().length() >= stored.place().length()
        }
        (StoredBody::Whole(_), _) => true,
    }
}

/// All bytes of a new part and of the stored one for the same requests, if they are one part, or the whole, and of at most
/// so many bytes. The head is that of the new one (RFC 9111 §3.4).
pub(super) fn combined(new: &Stored, before: &Stored, most: usize) -> Option<StoredBody> {
    match (&new.body, &before.body) {
        (StoredBody::Part(part), StoredBody::Part(stored)) if are_same_version(new, before) => {
            part.combined(stored, most)
        }
        _ => None,
    }
}

/// Whether they have the same strong validator.
fn are_same_version(new: &Stored, before: &Stored) -> bool {
    let validator = strong_validator(&new.head.headers);
    validator.is_some() && validator == strong_validator(&before.head.headers)
}
