//! The field `priority` read through the crate `sfv`, against which ours is judged. The fuzz target uses it too.

use serow_message::PartialPriority;
use sfv::{BareItem, Dictionary, ListEntry, Parser};

/// `None` if it is not a dictionary.
pub(crate) fn read(value: &[u8]) -> Option<PartialPriority> {
    let dictionary: Dictionary = Parser::new(value).parse().ok()?;
    let item = |key| match dictionary.get(key) {
        Some(ListEntry::Item(item)) => Some(&item.bare_item),
        _ => None,
    };
    let urgency = item("u").and_then(BareItem::as_integer).and_then(|urgency| u8::try_from(i64::from(urgency)).ok());
    let urgency = urgency.filter(|&urgency| urgency <= 7);
    Some(PartialPriority { urgency, incremental: item("i").and_then(BareItem::as_boolean) })
}
