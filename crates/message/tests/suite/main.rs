//! Messages from outside: conversion, and structured fields.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod conversion;
mod responses;
mod structured_fields;
#[path = "../../../http1/tests/suite/suites/mod.rs"]
mod suites;
