//! A client sees the same responses and the same error, wherever the bytes are split.

use serow_http1::Limits;
use serow_message::Method;

use crate::splitter::{Responses, split_at, whole};

/// The target. The last four bytes say where to split, which limits hold and what was asked for, so that any stream of
/// responses is a seed.
pub fn target(data: &[u8]) {
    let (input, choice) = data.split_at(data.len().saturating_sub(4));
    let limits = match choice.first() {
        Some(1) => Limits { head: 128, fields: 4, target: 32, body: 16, chunk_extensions: 8, informational: 4 },
        _ => Limits::default(),
    };
    let method = match choice.get(1) {
        Some(1) => Method::HEAD,
        Some(2) => Method::CONNECT,
        _ => Method::GET,
    };
    let new = || Responses::new(limits, &method);
    let seen = whole(new(), input);
    let mut places: Vec<usize> = choice.iter().map(|&place| usize::from(place) * input.len() / 256).collect();
    places.sort_unstable();
    assert_eq!(split_at(new(), input, places.iter().copied()), seen, "split at {places:?}");
    assert_eq!(split_at(new(), input, 1..input.len()), seen, "byte by byte");
}
