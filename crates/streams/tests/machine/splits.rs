//! An input is taken in whole and in pieces, which makes no difference.

use std::fmt::Debug;

/// Takes an input of this length whole, in a few pieces and, if it is shorter than `most`, byte by byte; gives what was
/// seen each time.
pub(crate) fn check<Seen: PartialEq + Debug>(
    name: &str,
    length: usize,
    most: usize,
    take_split: impl Fn(Vec<usize>) -> Seen,
) -> Seen {
    let seen = take_split(Vec::new());
    for parts in [2, 3, 7, 64] {
        let places = (1..parts).map(|part| length * part / parts).collect();
        assert_eq!(take_split(places), seen, "{name} in {parts} pieces");
    }
    if length < most {
        assert_eq!(take_split((1..length).collect()), seen, "{name} byte by byte");
    }
    seen
}
