//! What becomes of a stored response when another one for the same requests arrives.

use crate::{extent::strong_validator, stored::Stored, stored_body::StoredBody};

/// Whether a new response takes the place of one that is stored for the same requests. Of those, there is one at any time:
/// a client that asks for many ranges of one URI has one part stored.
pub(super) fn takes_place(new: &Stored, before: &Stored) -> bool {
    match (&new.body, &before.body) {
        // Whoever asks for ranges must not have others lose what is whole. What is stale and another version is of no use.
        (StoredBody::Part(_), StoredBody::Whole(_)) => {
            let is_fresh = before.current_head().freshness.is_fresh(new.head.freshness.received);
            !is_fresh && strong_validator(&before.head.headers) != strong_validator(&new.head.headers)
        }
        (StoredBody::Whole(_), _) | (StoredBody::Part(_), StoredBody::Part(_)) => true,
    }
}
