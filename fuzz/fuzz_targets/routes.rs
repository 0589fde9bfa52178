//! The fuzzer of `serow_fuzzing::routes`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::routes::target(data));
