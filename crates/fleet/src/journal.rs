//! The commands that are given to all servers of a fleet: each has a subject, and the latest command about a subject counts.
//!
//! Every server keeps all of them, so that it starts without Redis from what it last knew, and fills a Redis that has lost
//! everything. This is pure: it does no I/O and asks no clock; times are arguments.
//!
//! | subject | file |
//! | --- | --- |
//! | when a command was given | `journal/stamp.rs` |
//! | one command, and what became of it here | `journal/entry.rs` |
//! | what Redis has, as far as this server knows | `journal/redis_view.rs` |
//! | how the entries outlive the process | `journal/file.rs` |
//! | the state of the journal for the status | `journal/counts.rs` |

mod counts;
mod entry;
mod error;
mod file;
mod redis_view;
#[cfg(test)]
mod simulation;
mod stamp;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, btree_map};

pub(crate) use self::redis_view::{JournalAnswer, JournalRequest, Listed};
pub use self::{
    counts::JournalCounts,
    entry::{EntryState, HeldEntry, JournalEntry, MAX_COMMAND, MAX_SUBJECT, journal_subject},
    error::JournalError,
    file::{JournalFile, JournalFileError},
    stamp::{ServerId, Stamp, StampError},
};
use self::{
    entry::{is_command, is_subject},
    redis_view::RedisView,
};

/// The commands to the fleet that one server knows.
#[derive(Debug)]
pub struct FleetJournal {
    server: ServerId,
    /// The latest stamp that this server has given or seen.
    latest: u64,
    entries: BTreeMap<String, HeldEntry>,
    bytes: usize,
    view: RedisView,
    counts: ReceivedCounts,
}

/// How many entries were received that were not taken.
#[derive(Clone, Copy, Debug, Default)]
struct ReceivedCounts {
    /// They are not entries, or there are too many.
    invalid: u64,
    /// Their time is too far ahead of this server's clock; by how many seconds the last of them is.
    ahead: u64,
    seconds_ahead: u64,
}

impl FleetJournal {
    /// That of this server, without entries.
    #[must_use]
    pub fn new(server: ServerId) -> Self {
        let (entries, view) = (BTreeMap::new(), RedisView::default());
        Self { server, latest: 0, entries, bytes: 0, view, counts: ReceivedCounts::default() }
    }

    /// The server whose journal this is.
    #[must_use]
    pub fn server(&self) -> ServerId {
        self.server
    }

    /// Takes in an entry that this server has kept, unless it knows a later one about the subject.
    pub fn restore(&mut self, held: HeldEntry) {
        if self.entries.get(&held.entry.subject).is_none_or(|other| other.entry.stamp <= held.entry.stamp) {
            self.insert(held);
        }
    }

    /// Whether a command with this subject and so many bytes can be given.
    ///
    /// # Errors
    ///
    /// It is too long, or there are too many.
    pub fn check(&self, subject: &str, command: &str) -> Result<(), JournalError> {
        if command.len() > MAX_COMMAND {
            return Err(JournalError::TooLong);
        }
        if !is_subject(subject) || !is_command(command) {
            return Err(JournalError::Invalid);
        }
        if self.has_room(subject, subject.len() + command.len()) { Ok(()) } else { Err(JournalError::Full) }
    }

    /// The entry of a command that is given to this server now, in microseconds since 1970. It is forgotten after so many
    /// seconds, or never; at least not before the one that it replaces, which a server may still have that is away.
    ///
    /// # Errors
    ///
    /// As [`Self::check`].
    pub fn prepare(
        &mut self,
        subject: &str,
        command: String,
        life: Option<u64>,
        now: u64,
    ) -> Result<JournalEntry, JournalError> {
        self.check(subject, &command)?;
        self.latest = now.max(self.latest + 1);
        let stamp = Stamp { micros: self.latest, server: self.server };
        let before = self.entries.get(subject).and_then(|held| held.entry.expires);
        let expires = life.map(|life| (now / SECOND + life).max(before.unwrap_or(0)));
        Ok(JournalEntry { subject: subject.to_owned(), stamp, expires, command })
    }

    /// Adds an entry that this server has executed: from now on, the others get it.
    pub fn add_given(&mut self, entry: JournalEntry) {
        self.restore(HeldEntry { entry, state: EntryState::Applied });
    }

    /// The next entry that this server has to execute, in the order in which they were given. While entries before it may
    /// still come, there is none.
    #[must_use]
    pub fn next_waiting(&self) -> Option<JournalEntry> {
        if !self.view.is_settled() {
            return None;
        }
        let waiting = self.entries.values().filter(|held| held.state == EntryState::Waiting);
        waiting.min_by_key(|held| held.entry.stamp).map(|held| held.entry.clone())
    }

    /// Notes what became of an entry; returns whether it is still the latest about its subject.
    pub fn note_outcome(&mut self, entry: &JournalEntry, state: EntryState) -> bool {
        match self.entries.get_mut(&entry.subject) {
            Some(held) if held.entry.stamp == entry.stamp => {
                held.state = state;
                true
            }
            _ => false,
        }
    }

    /// Has the refused commands tried again: other settings may have made them possible. Returns how many there are.
    pub fn retry_refused(&mut self) -> usize {
        let refused = self.entries.values_mut().filter(|held| matches!(held.state, EntryState::Refused(_)));
        refused.map(|held| held.state = EntryState::Waiting).count()
    }

    /// Forgets the entries that have expired at this time, in microseconds since 1970; returns how many.
    pub fn remove_expired(&mut self, now: u64) -> usize {
        let expired: Vec<_> = self.entries.values().filter(|held| held.entry.is_expired(now)).collect();
        let expired: Vec<_> = expired.into_iter().map(|held| (held.entry.subject.clone(), held.entry.stamp)).collect();
        for (subject, stamp) in &expired {
            if let Some(held) = self.entries.remove(subject) {
                self.bytes -= held.entry.bytes();
            }
            self.view.forget(subject, *stamp);
        }
        expired.len()
    }

    /// The entry about this subject.
    #[must_use]
    pub fn get(&self, subject: &str) -> Option<&HeldEntry> {
        self.entries.get(subject)
    }

    /// All entries, in the order in which they were given.
    #[must_use]
    pub fn entries(&self) -> Vec<&HeldEntry> {
        let mut entries: Vec<_> = self.entries.values().collect();
        entries.sort_by_key(|held| held.entry.stamp);
        entries
    }

    /// Takes in an entry of another server.
    fn receive(&mut self, entry: JournalEntry, now: u64) {
        let known = self.entries.get(&entry.subject).map(|held| held.entry.stamp);
        if known.is_some_and(|known| known >= entry.stamp) {
            return;
        }
        if entry.stamp.micros > now.saturating_add(MAX_AHEAD) {
            self.counts.ahead += 1;
            self.counts.seconds_ahead = (entry.stamp.micros - now) / SECOND;
        } else if entry.is_expired(now) {
            self.view.forget(&entry.subject, entry.stamp);
        } else if self.has_room(&entry.subject, entry.bytes()) {
            let (subject, stamp) = (entry.subject.clone(), entry.stamp);
            self.insert(HeldEntry { entry, state: EntryState::Waiting });
            self.view.note_in_redis(&subject, stamp);
        } else {
            self.counts.invalid += 1;
        }
    }

    /// Puts an entry in the place of the one about its subject.
    fn insert(&mut self, held: HeldEntry) {
        self.latest = self.latest.max(held.entry.stamp.micros);
        self.bytes += held.entry.bytes();
        let (subject, stamp) = (held.entry.subject.clone(), held.entry.stamp);
        let before = self.entries.insert(subject.clone(), held);
        self.bytes -= before.as_ref().map_or(0, |before| before.entry.bytes());
        self.view.note_entry(subject, stamp, before.map(|before| before.entry.stamp));
    }

    fn has_room(&self, subject: &str, bytes: usize) -> bool {
        let before = self.entries.get(subject).map(|held| held.entry.bytes());
        let is_new = before.is_none();
        (!is_new || self.entries.len() < MAX_ENTRIES) && self.bytes - before.unwrap_or(0) + bytes <= MAX_BYTES
    }

    fn iter(&self) -> btree_map::Values<'_, String, HeldEntry> {
        self.entries.values()
    }
}

const SECOND: u64 = 1_000_000;

/// As many as there can be added settings files; a program that can write to Redis does not fill the memory with more.
const MAX_ENTRIES: usize = 10_000;

/// The bytes of all entries: likewise.
const MAX_BYTES: usize = 32 << 20;

/// How far the clock of another server may be ahead, in microseconds: with a stamp at the end of time, no later command would
/// count any more.
const MAX_AHEAD: u64 = 3600 * SECOND;
