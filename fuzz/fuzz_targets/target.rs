//! The fuzzer of `serow_fuzzing::target`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::target::target(data));
