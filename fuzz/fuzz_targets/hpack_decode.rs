//! The fuzzer of `serow_fuzzing::hpack_decode`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::hpack_decode::target(data));
