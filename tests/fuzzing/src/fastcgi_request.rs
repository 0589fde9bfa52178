//! A FastCGI application sees the same requests and the same error, wherever the bytes are split.

use crate::cgi_readers::{RequestReader, split_at};

/// The target. The last four bytes say where to split; the first of them also the limit of variables.
pub fn target(data: &[u8]) {
    let (input, choice) = data.split_at(data.len().saturating_sub(4));
    let new = || RequestReader::new(if choice.first() == Some(&1) { 16 } else { 1 << 16 });
    let seen = split_at(new(), input, []);
    let mut places: Vec<usize> = choice.iter().map(|&place| usize::from(place) * input.len() / 256).collect();
    places.sort_unstable();
    assert_eq!(split_at(new(), input, places.iter().copied()), seen, "split at {places:?}");
    assert_eq!(split_at(new(), input, 1..input.len()), seen, "byte by byte");
}
