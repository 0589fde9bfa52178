//! The fuzzer of `serow_fuzzing::http3_connection`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::http3_connection::target(data));
