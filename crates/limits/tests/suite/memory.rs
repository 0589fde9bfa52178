//! The memory of a table with many keys.

use std::{fs, time::Instant};

use serow_limits::{KeyTable, Limit};

/// Resident memory of this process, in MB.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// docs/measurements/access.md: cargo test --release -p serow-limits --test suite memory -- --ignored --nocapture
#[test]
#[ignore = "a measurement, which takes seconds in an optimised build"]
fn ten_million_keys_take_less_than_512_megabytes() {
    const KEYS: usize = 10_000_000;
    let (before, table) = (resident(), KeyTable::new(KEYS));
    let limit = Limit::new("10/s".parse().unwrap()).with_burst(99);
    let begun = Instant::now();
    // The second half displaces the first.
    for number in 0..2 * KEYS as u64 {
        let key = table.key(&number.to_be_bytes());
        assert!(table.decide(&limit, key, 1, 1_000_000_000).is_allowed());
    }
    let (time, memory) = (begun.elapsed() / (2 * KEYS as u32), resident() - before);
    println!("{memory} MB for {KEYS} keys; {time:?} for a decision; {} keys displaced", table.displaced());
    assert!(memory <= 512, "{memory} MB");
}
