//! How many passwords were checked, and how many were not.

use std::{
    net::IpAddr,
    sync::atomic::{AtomicU64, Ordering},
};

use serow_net::WarningPace;

/// How many passwords of a server's users were checked, and how many were not. Those that are remembered are not
/// counted.
#[derive(Debug, Default)]
pub struct PasswordCounts {
    /// Right ones.
    pub right: AtomicU64,
    /// Wrong ones, and those of unknown users.
    pub wrong: AtomicU64,
    /// Not checked, since so many of their client waited.
    pub too_many: AtomicU64,
    /// Not checked, since so many of all clients waited.
    pub busy: AtomicU64,
    warnings: [WarningPace; 3],
}

/// The outcome for a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PasswordOutcome {
    Right,
    Wrong,
    TooMany,
    Busy,
}

impl PasswordCounts {
    /// Counts one, and logs that there are some that were not right, at most once in a minute. Neither the password nor
    /// the name appears in the log: people type one in place of the other.
    pub(crate) fn note(&self, outcome: PasswordOutcome, client: Option<IpAddr>) {
        let (count, warning, text) = match outcome {
            PasswordOutcome::Right => {
                self.right.fetch_add(1, Ordering::Relaxed);
                return;
            }
            PasswordOutcome::Wrong => (&self.wrong, &self.warnings[0], "a password or a name is wrong"),
            PasswordOutcome::TooMany => {
                (&self.too_many, &self.warnings[1], "a password is not checked, since many of its client wait")
            }
            PasswordOutcome::Busy => {
                (&self.busy, &self.warnings[2], "a password is not checked, since many of all clients wait")
            }
        };
        let so_far = count.fetch_add(1, Ordering::Relaxed) + 1;
        if warning.is_due() {
            let client = client.map_or_else(|| "a unix socket".to_owned(), |client| client.to_string());
            tracing::warn!(client, "{text}: {so_far} so far");
        }
    }
}
