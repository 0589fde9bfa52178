//! The fuzzer of `serow_fuzzing::qpack_roundtrip`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::qpack_roundtrip::target(data));
