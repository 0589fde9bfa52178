//! The attempts of a request on upstream servers: one value for each, in nginx's format.

use serow_message::{Attempt, Attempts, Served};

use super::escape;

/// The attempts on upstream servers; empty if there were none.
pub(super) fn of(served: &Served<'_>) -> Option<Vec<Attempt>> {
    let attempts = served.extensions?.get::<Attempts>()?.list();
    (!attempts.is_empty()).then_some(attempts)
}

/// Appends a value for each, separated by commas; a dash if there were no attempts.
pub(super) fn write(served: &Served<'_>, line: &mut Vec<u8>, value: impl Fn(&Attempt, &mut Vec<u8>)) {
    let Some(attempts) = of(served) else { return line.push(b'-') };
    for (number, attempt) in attempts.iter().enumerate() {
        if number > 0 {
            line.extend_from_slice(b", ");
        }
        value(attempt, line);
    }
}

pub(super) fn server(attempt: &Attempt, line: &mut Vec<u8>) {
    escape::text(attempt.server().as_bytes(), line);
}

pub(super) fn status(attempt: &Attempt, line: &mut Vec<u8>) {
    match attempt.status {
        Some(status) => line.extend_from_slice(status.as_str().as_bytes()),
        None => line.push(b'-'),
    }
}
