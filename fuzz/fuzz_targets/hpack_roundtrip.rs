//! The fuzzer of `serow_fuzzing::hpack_roundtrip`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::hpack_roundtrip::target(data));
