//! The fuzzer of `serow_fuzzing::tls_records`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::tls_records::target(data));
