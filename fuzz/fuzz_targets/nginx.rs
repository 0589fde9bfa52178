//! The fuzzer of `serow_fuzzing::nginx`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::nginx::target(data));
