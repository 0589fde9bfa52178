//! The tests that HTTP/2 and HTTP/3 share. The suite of each includes this module by its path, beside a module
//! `protocol` with its own types of the same names, and with the traits and functions that differ, and beside `described`.

pub(crate) mod attacks;
pub(crate) mod both_ends;
pub(crate) mod cases;
pub(crate) mod client;
pub(crate) mod compression;
pub(crate) mod script;
pub(crate) mod splits;
pub(crate) mod turns;
