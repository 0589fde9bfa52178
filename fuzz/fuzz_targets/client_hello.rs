//! The fuzzer of `serow_fuzzing::client_hello`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::client_hello::target(data));
