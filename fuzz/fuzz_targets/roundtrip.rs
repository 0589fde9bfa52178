//! The fuzzer of `serow_fuzzing::roundtrip`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::roundtrip::target(data));
