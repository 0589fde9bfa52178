//! The cases that only HTTP/3 has.

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
fn settings() {
    run("settings.txt");
}

#[test]
fn qpack() {
    run("qpack.txt");
}

#[test]
fn priorities() {
    run("priorities.txt");
}
