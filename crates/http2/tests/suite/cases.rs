//! The cases that only HTTP/2 has.

use crate::machine::cases::run;

#[test]
fn streams() {
    run("streams.txt");
}

#[test]
fn frames() {
    run("frames.txt");
}

#[test]
fn windows() {
    run("windows.txt");
}
