//! The targets in the tests, in the fuzzer's workspace and in its folders are the same.

use std::{collections::BTreeSet, fs};

use crate::{
    TARGETS,
    corpus::{folder, names},
};

#[test]
fn each_target_has_a_fuzzer() {
    let expected: Vec<String> = TARGETS.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(names("fuzz_targets"), expected);
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).unwrap();
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    for name in TARGETS {
        assert!(manifest.contains(&format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"\n")), "{name}");
        let fuzzer = fs::read_to_string(folder().join("fuzz_targets").join(format!("{name}.rs"))).unwrap();
        assert!(
            fuzzer.contains(&format!("fuzz_target!(|data: &[u8]| serow_fuzzing::{name}::target(data));")),
            "{name}"
        );
    }
}

#[test]
fn all_seeds_are_of_a_target() {
    let targets: BTreeSet<&str> = TARGETS.iter().copied().collect();
    for folder in names("seeds") {
        assert!(targets.contains(folder.as_str()), "no target {folder} for fuzz/seeds/{folder}");
    }
}
