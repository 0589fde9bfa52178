//! The fuzzer of `serow_fuzzing::http3_streams`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::http3_streams::target(data));
