//! Bans as text: one in each line, with the end in milliseconds, the origin, the client and the reason.

use std::{fmt::Write, time::Duration};

use crate::{Ban, ban::clean_reason};

/// Writes bans.
pub(crate) fn write<'a>(bans: impl Iterator<Item = &'a Ban>) -> String {
    let mut text = String::new();
    for Ban { client, until, reason, origin } in bans {
        // A string takes everything.
        let _ = writeln!(text, "{} {} {client} {reason}", until.as_millis(), origin.name());
    }
    text
}

/// Reads bans, and skips lines that are invalid: they come from a process that talks to clients.
pub(crate) fn read(text: &str) -> impl Iterator<Item = Ban> {
    text.lines().filter_map(|line| {
        let mut words = line.splitn(4, ' ');
        let until = Duration::from_millis(words.next()?.parse().ok()?);
        let origin = words.next()?.parse().ok()?;
        let client = words.next()?.parse().ok()?;
        Some(Ban { client, until, reason: clean_reason(words.next()?), origin })
    })
}
