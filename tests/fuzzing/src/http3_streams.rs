//! A server makes the same of a stream of its client, of whatever kind, wherever the bytes are split.

use serow_http3::Limits;

use crate::taken_streams::take_split;

/// The target. The last four bytes say where to split, which stream it is, and which limits hold, so that any stream
/// is a seed.
pub fn target(data: &[u8]) {
    let (input, choice) = data.split_at(data.len().saturating_sub(4));
    let stream = [0, 2, 6, 10, 14, 18][choice.first().map_or(0, |&byte| usize::from(byte) % 6)];
    let limits = match choice.last() {
        Some(1) => {
            Limits { head: 64, fields: 4, target: 8, body: 16, sections: 200, qpack_table: 0, ..Limits::default() }
        }
        _ => Limits::default(),
    };
    let seen = take_split(stream, input, [], limits);
    let mut places: Vec<usize> = choice.iter().map(|&place| usize::from(place) * input.len() / 256).collect();
    places.sort_unstable();
    assert_eq!(take_split(stream, input, places.iter().copied(), limits), seen, "split at {places:?}");
    assert_eq!(take_split(stream, input, 1..input.len(), limits), seen, "byte by byte");
}
