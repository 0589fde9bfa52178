//! The fuzzer of `serow_fuzzing::fastcgi_request`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::fastcgi_request::target(data));
