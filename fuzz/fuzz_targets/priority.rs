//! The field `priority`, read as the crate `sfv` reads any dictionary.
#![no_main]

#[path = "../../crates/message/tests/suite/structured_fields/reference.rs"]
mod reference;

use libfuzzer_sys::fuzz_target;
use serow_message::{PartialPriority, Priority};

fuzz_target!(|value: &[u8]| {
    let said = PartialPriority::parse(value);
    assert_eq!(said, reference::read(value).unwrap_or_default());
    let priority = Priority::parse(value);
    assert_eq!(priority, Priority::DEFAULT.merge(said));
    assert_eq!(Priority::parse(priority.as_str().as_bytes()), priority);
});
