//! A server sees the same requests and the same error, wherever the bytes are split.

use serow_http1::Limits;

use crate::splitter::{Requests, split_at, whole};

/// The target. The last four bytes say where to split and which limits hold, so that any stream of requests is a seed.
pub fn target(data: &[u8]) {
    let (input, choice) = data.split_at(data.len().saturating_sub(4));
    let limits = match choice.first() {
        Some(1) => Limits { head: 128, fields: 4, target: 32, body: 16, chunk_extensions: 8, informational: 4 },
        _ => Limits::default(),
    };
    let seen = whole(Requests::new(limits), input);
    let mut places: Vec<usize> = choice.iter().map(|&place| usize::from(place) * input.len() / 256).collect();
    places.sort_unstable();
    assert_eq!(split_at(Requests::new(limits), input, places.iter().copied()), seen, "split at {places:?}");
    assert_eq!(split_at(Requests::new(limits), input, 1..input.len()), seen, "byte by byte");
}
