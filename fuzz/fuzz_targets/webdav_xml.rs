//! The fuzzer of `serow_fuzzing::webdav_xml`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::webdav_xml::target(data));
