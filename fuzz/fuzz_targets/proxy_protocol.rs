//! The fuzzer of `serow_fuzzing::proxy_protocol`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::proxy_protocol::target(data));
