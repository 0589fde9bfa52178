//! The fuzzer of `serow_fuzzing::server_split`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::server_split::target(data));
