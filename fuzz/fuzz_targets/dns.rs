//! The fuzzer of `serow_fuzzing::dns`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::dns::target(data));
