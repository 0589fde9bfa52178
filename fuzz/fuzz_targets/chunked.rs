//! The fuzzer of `serow_fuzzing::chunked`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::chunked::target(data));
