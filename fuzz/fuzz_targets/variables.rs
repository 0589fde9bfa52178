//! The fuzzer of `serow_fuzzing::variables`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::variables::target(data));
