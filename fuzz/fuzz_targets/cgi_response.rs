//! The fuzzer of `serow_fuzzing::cgi_response`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::cgi_response::target(data));
