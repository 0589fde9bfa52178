//! The fuzzer of `serow_fuzzing::dns_updates`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::dns_updates::target(data));
