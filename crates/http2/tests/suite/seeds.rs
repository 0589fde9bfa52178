//! The seeds of other servers' fuzzers, read whole and split.

use std::collections::BTreeSet;

use crate::{frames::taken::take_split, machine::splits, suites::Suite};
use serow_http2::PREFACE;

#[test]
fn fuzz_seeds_make_no_difference_when_split() {
    let Some(suite) = Suite::unpack("fuzz-seeds") else { return };
    let mut seeds = suite.files("h2o+h2o/fuzz/http2-corpus");
    seeds.extend(suite.files("nghttp2+nghttp2/fuzz/corpus"));
    assert!(seeds.len() > 1_400, "only {} seeds", seeds.len());
    let mut seen = Totals::default();
    for (name, seed) in &seeds {
        let frames = seed.strip_prefix(PREFACE).unwrap_or(seed);
        for largest in [16_384, 100] {
            seen.add(name, frames, largest);
        }
    }
    println!("{} seeds, {} frames of {:?}, {} refused", seeds.len(), seen.frames, seen.kinds, seen.refused);
    assert!(seen.frames > 10_000, "only {} frames", seen.frames);
    assert!(seen.refused > 500, "only {} seeds refused", seen.refused);
    // Ten kinds, an unknown one, and errors.
    assert!(seen.kinds.len() >= 12, "only {:?}", seen.kinds);
}

#[derive(Default)]
struct Totals {
    frames: usize,
    refused: usize,
    kinds: BTreeSet<String>,
}

impl Totals {
    fn add(&mut self, name: &str, input: &[u8], largest: usize) {
        let seen = splits::check(name, input.len(), 4_000, |places| take_split(input, places, largest));
        self.frames += seen.frames.len();
        self.refused += usize::from(seen.has_ended);
        for line in &seen.lines {
            self.kinds.insert(line.split(' ').next().unwrap_or_default().into());
        }
    }
}
