//! The fuzzer of `serow_fuzzing::operations`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::operations::target(data));
