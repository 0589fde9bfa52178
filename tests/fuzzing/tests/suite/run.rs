//! One target with all its inputs.

use std::{env, fs, panic, path::Path};

use crate::{corpus::Corpus, mutation::Mutations};

/// Runs a target with its seeds and with so many mutations, unless the environment says otherwise.
pub(crate) fn run(name: &str, target: impl Fn(&[u8]), mutations: usize) {
    let number = |variable: &str| env::var(variable).ok().map(|text| text.parse::<u64>().expect("a number"));
    let mutations = number("FUZZING_MUTATIONS").map_or(mutations, |number| number as usize);
    run_with(name, target, number("FUZZING_SEED").unwrap_or(1), mutations);
}

/// If the target panics, the input is kept in a file.
fn run_with(name: &str, target: impl Fn(&[u8]), seed: u64, mutations: usize) {
    let corpus = Corpus::of(name);
    let attempt = |label: &str, input: &[u8]| {
        if let Err(reason) = panic::catch_unwind(panic::AssertUnwindSafe(|| target(input))) {
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{label}"));
            fs::write(&file, input).unwrap();
            eprintln!("{name} panics for {label}: {}; the input is in {}", input.escape_ascii(), file.display());
            panic::resume_unwind(reason);
        }
    };
    attempt("empty", b"");
    for (file, input) in &corpus.seeds {
        attempt(&format!("seed-{file}"), input);
    }
    for (number, input) in Mutations::new(&corpus, seed).take(mutations).enumerate() {
        attempt(&format!("mutation-{seed}-{number}"), &input);
    }
}

#[test]
#[should_panic(expected = "a finding")]
fn a_panic_for_a_seed_fails_the_test() {
    let seed = &Corpus::of("chunked").seeds[26].1;
    run_with("chunked", |input| assert!(input != seed, "a finding"), 1, 0);
}

#[test]
#[should_panic(expected = "a finding")]
fn a_panic_for_a_mutation_fails_the_test() {
    let target = |input: &[u8]| assert!(!input.windows(2).any(|pair| pair == b"\xff\xff"), "a finding");
    run_with("chunked", target, 1, 10_000);
}
