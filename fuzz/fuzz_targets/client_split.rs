//! The fuzzer of `serow_fuzzing::client_split`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::client_split::target(data));
