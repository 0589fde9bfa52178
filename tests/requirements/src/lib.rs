//! Programs and libraries that tests need: where one is missing, the test is skipped with a message, or fails in CI.
//!
//! The table in `tests/install` says which package has what; a requirement is written as there.
#![forbid(unsafe_code)]

use std::{
    collections::HashMap,
    env,
    fs::File,
    io::{self, Write},
    process::Command,
    sync::{Mutex, PoisonError},
    thread,
};

/// Leaves the test, with a message on standard error, where something that it needs is missing:
/// `requires!("ruby:rack", "program:curl");` as its first line.
#[macro_export]
macro_rules! requires {
    ($($requirement:literal),+) => {
        if !$crate::are_met(&[$($requirement),+]) {
            return;
        }
    };
}

/// Whether all of these are installed; where one is not, says that the test is skipped, and which package is missing.
///
/// # Panics
///
/// If `SEROW_CI` is set and something is missing, or if `tests/install` does not know a requirement.
#[must_use]
pub fn are_met(requirements: &[&str]) -> bool {
    requirements.iter().all(|requirement| {
        let Some(missing) = missing(requirement) else { return true };
        let test = thread::current().name().unwrap_or("a test").to_owned();
        assert!(env::var_os("SEROW_CI").is_none(), "{test} needs {requirement}: {missing}");
        skip(&test, &format!("{requirement} is {missing}"));
        false
    })
}

/// Says on standard error that a test is skipped, and why; adds the reason to the file that `SEROW_SKIPPED` names, of which
/// `./test` makes its summary.
pub fn skip(test: &str, reason: &str) {
    // Not by `eprintln!`: the test harness keeps that to itself where a test passes.
    let _ = writeln!(io::stderr(), "SKIPPED {test}: {reason}");
    if let Some(mut file) = env::var_os("SEROW_SKIPPED").and_then(|path| File::options().append(true).open(path).ok()) {
        let _ = file.write_all(format!("{reason}\n").as_bytes());
    }
}

/// Whether the user may do what a test needs; says that the test is skipped where the answer was `EPERM` or `EACCES`.
///
/// # Panics
///
/// If `SEROW_CI` is set and it is not permitted.
#[must_use]
pub fn is_permitted<T>(outcome: &io::Result<T>, action: &str) -> bool {
    let denied = outcome.as_ref().err().filter(|error| error.kind() == io::ErrorKind::PermissionDenied);
    let Some(error) = denied else { return true };
    let test = thread::current().name().unwrap_or("a test").to_owned();
    assert!(env::var_os("SEROW_CI").is_none(), "{test} needs {action}: {error}");
    skip(&test, &format!("{action} is not permitted to this user"));
    false
}

/// The message of `tests/install` about a requirement that is not installed. A process looks for each only once.
fn missing(requirement: &str) -> Option<String> {
    static LOOKED_FOR: Mutex<Option<HashMap<String, Option<String>>>> = Mutex::new(None);
    let mut found = LOOKED_FOR.lock().unwrap_or_else(PoisonError::into_inner);
    found.get_or_insert_default().entry(requirement.to_owned()).or_insert_with(|| look_for(requirement)).clone()
}

fn look_for(requirement: &str) -> Option<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../install");
    let output = Command::new(script).args(["--check", requirement]).output();
    let output = output.unwrap_or_else(|error| panic!("{script} cannot be run: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim_end().trim_start_matches("install: ").to_owned();
    match output.status.code() {
        Some(0) => None,
        Some(1) => Some(said),
        _ => panic!("{said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the table in tests/install has no ruby:no-such-library")]
    fn requirements_that_no_package_has_are_mistakes_of_the_test() {
        let _ = are_met(&["ruby:no-such-library"]);
    }
}
