//! The fuzzer of `serow_fuzzing::webdav_if`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::webdav_if::target(data));
