//! The fuzzer of `serow_fuzzing::scheduler`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| serow_fuzzing::scheduler::target(data));
