//! The seeds of other implementations' fuzzers, read whole and split, as each kind of stream.

use serow_http3::Limits;

use crate::{machine::splits, suites::Suite, taken::take_split};

#[test]
fn fuzz_seeds_make_no_difference_when_split() {
    let Some(suite) = Suite::unpack("http3-seeds") else { return };
    let seeds = suite.files("http3-seeds");
    assert!(seeds.len() > 500, "only {} seeds", seeds.len());
    let small = Limits { head: 100, fields: 4, target: 8, body: 16, ..Limits::default() };
    let (mut events, mut refused) = (0, 0);
    for (name, seed) in &seeds {
        // A request stream, the control stream, the QPACK streams, and one whose type comes first.
        for stream in [0, 2, 6, 10, 14] {
            for limits in [Limits::default(), small] {
                let name = format!("{name} as {stream}");
                let take = |places: Vec<usize>| take_split(stream, seed, places, limits);
                let seen = splits::check(&name, seed.len(), 2_000, take);
                events += seen.events.len();
                refused += usize::from(seen.error.is_some());
            }
        }
    }
    println!("{} seeds, {events} events, {refused} refused", seeds.len());
    assert!(events > 100 && refused > 500, "{events} events, {refused} refused");
}
