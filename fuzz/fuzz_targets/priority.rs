//! The fuzzer of `serow_fuzzing::priority`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::priority::target(data));
