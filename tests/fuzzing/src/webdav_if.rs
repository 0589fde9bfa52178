//! The field If: what is accepted is read alike when it is written again, and its lists are judged one by one.

use serow_webdav::{IfHeader, ResourceState};

use crate::with_value;

/// The target.
pub fn target(data: &[u8]) {
    with_value(data, run);
}

fn run(value: &str) {
    let Ok(header) = IfHeader::parse(value) else { return };
    assert_eq!(IfHeader::parse(&header.to_string()).as_ref(), Ok(&header));
    let conditions = || header.lists().iter().flat_map(|list| &list.conditions);
    assert!(header.lists().iter().all(|list| !list.conditions.is_empty()));
    assert!(conditions().count() <= 100);
    assert!(header.tokens().count() <= conditions().count());
    // Whatever holds: the definition of RFC 4918 §10.4.3, over the lists.
    for seed in 0..4_u8 {
        let holds = |resource: Option<&str>, state: &ResourceState| {
            let text = match state {
                ResourceState::Token(text) | ResourceState::Tag(text) => text,
            };
            text.bytes().chain(resource.unwrap_or_default().bytes()).fold(seed, u8::wrapping_add) % 2 == 0
        };
        let expected = header.lists().iter().any(|list| {
            let holds = |state| holds(list.resource.as_deref(), state);
            list.conditions.iter().all(|condition| holds(&condition.state) ^ condition.negated)
        });
        assert_eq!(header.is_fulfilled(holds), expected);
    }
}
