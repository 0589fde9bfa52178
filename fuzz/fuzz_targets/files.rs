//! The fuzzer of `serow_fuzzing::files`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::files::target(data));
