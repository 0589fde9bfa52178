//! The seeds of other servers' fuzzers, read as requests and as responses, whole and split.

use crate::splitter::{Reader, Requests, Responses, split_at, whole};
use crate::suites::Suite;
use serow_http1::Limits;
use serow_message::Method;

#[test]
fn fuzz_seeds_make_no_difference_when_split() {
    let Some(suite) = Suite::unpack("fuzz-seeds") else { return };
    let seeds = suite.files("h2o+h2o/fuzz/http1-corpus");
    assert!(seeds.len() > 1_900, "only {} seeds", seeds.len());
    let small = Limits { head: 200, fields: 8, target: 40, body: 64, chunk_extensions: 8, informational: 4 };
    let mut messages = 0;
    for (name, seed) in &seeds {
        for limits in [Limits::default(), small] {
            messages += read(name, seed, || Requests::new(limits));
            messages += read(name, seed, || Responses::new(limits, &Method::GET));
        }
    }
    println!("{} seeds, {messages} messages", seeds.len());
    assert!(messages > 500, "only {messages} messages");
}

/// Reads a seed whole, in a few pieces and, if it is not large, byte by byte; says how many messages it holds.
fn read<R: Reader>(name: &str, seed: &[u8], new: impl Fn() -> R) -> usize {
    let seen = whole(new(), seed);
    for parts in [2, 3, 7, 64] {
        let places = (1..parts).map(|part| seed.len() * part / parts);
        assert_eq!(split_at(new(), seed, places), seen, "{name} in {parts} pieces");
    }
    if seed.len() < 4_000 {
        assert_eq!(split_at(new(), seed, 1..seed.len()), seen, "{name} byte by byte");
    }
    seen.complete()
}
