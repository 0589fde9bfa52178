//! The field `priority`, read as the crate `sfv` reads any dictionary.

use serow_message::{PartialPriority, Priority};

use crate::reference;

/// The target.
pub fn target(value: &[u8]) {
    let said = PartialPriority::parse(value);
    assert_eq!(said, reference::read(value).unwrap_or_default());
    let priority = Priority::parse(value);
    assert_eq!(priority, Priority::DEFAULT.merge(said));
    assert_eq!(Priority::parse(priority.as_str().as_bytes()), priority);
}
