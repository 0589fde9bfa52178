//! The part of the journal that Redis has, as far as this server knows: what to send, what to fetch, and when to compare
//! everything.
//!
//! Redis numbers the entries as they come, and a server asks for what is later than it has seen. That is not enough where
//! Redis has lost entries: an emptied one has another epoch; one that is replaced by a copy that is behind is on another
//! connection. Then, and once in a minute, a server lists all subjects with their stamps, fetches what is later there, and
//! sends what is later here.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use super::{FleetJournal, JournalEntry, MAX_ENTRIES, Stamp};

/// The entries that Redis has, as far as this server knows.
#[derive(Debug, Default)]
pub(super) struct RedisView {
    epoch: Option<String>,
    /// The number of the last entry that was listed.
    seen: u64,
    /// Whether there is more of the list than has been read.
    is_listing: bool,
    /// When this began, in microseconds since 1970.
    compared: u64,
    /// The entries of this server that Redis does not have.
    missing: BTreeSet<(Stamp, String)>,
    /// The entries that Redis has and this server does not.
    wanted: BTreeSet<(Stamp, String)>,
    /// The entries that were fetched. They are taken in together, once there are no others on the way: if Redis lost those
    /// others, the entries that were given before these would come after them.
    fetched: BTreeMap<String, JournalEntry>,
    /// Entries that have expired, to be removed from Redis.
    expired: BTreeSet<(Stamp, String)>,
}

/// A question to Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JournalRequest {
    /// Add these entries if Redis has the epoch, each if it is later than the one about its subject.
    Add { epoch: String, entries: Vec<JournalEntry> },
    /// Send the values of these subjects; at least the first.
    Get { subjects: Vec<(Stamp, String)> },
    /// Remove these, if they are what there is about their subjects.
    Remove { entries: Vec<(Stamp, String)> },
    /// List the subjects and stamps after this number.
    List { after: u64 },
}

/// An answer of Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JournalAnswer {
    /// To [`JournalRequest::Add`]: the epoch that Redis has.
    Added { epoch: String },
    /// The values of the first subjects; `None` where there is none, or something else.
    Got { values: Vec<Option<String>> },
    /// The entries are removed.
    Removed,
    /// The epoch, the number of the last entry that Redis has got, and a page.
    Listed { epoch: String, last: u64, page: Vec<Listed>, is_full: bool },
}

/// A line of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The subject and the stamp; `None` for something else.
    pub(crate) entry: Option<(String, Stamp)>,
    pub(crate) number: u64,
}

impl RedisView {
    /// Whether no entry is on its way that may be before another one.
    pub(super) fn is_settled(&self) -> bool {
        !self.is_listing && self.wanted.is_empty()
    }

    /// Entries that Redis has and this server has not taken in.
    pub(super) fn on_the_way(&self) -> usize {
        self.wanted.len() + self.fetched.len()
    }

    pub(super) fn unsent(&self) -> usize {
        if self.is_listing { 0 } else { self.missing.len() }
    }

    /// This server has an entry, in the place of another one.
    pub(super) fn note_entry(&mut self, subject: String, stamp: Stamp, before: Option<Stamp>) {
        if let Some(before) = before {
            self.missing.remove(&(before, subject.clone()));
        }
        self.missing.insert((stamp, subject));
    }

    /// Redis has this entry.
    pub(super) fn note_in_redis(&mut self, subject: &str, stamp: Stamp) {
        self.missing.remove(&(stamp, subject.to_owned()));
    }

    /// An entry has expired.
    pub(super) fn forget(&mut self, subject: &str, stamp: Stamp) {
        let entry = (stamp, subject.to_owned());
        self.missing.remove(&entry);
        if self.expired.len() < MAX_EXPIRED {
            self.expired.insert(entry);
        }
    }
}

impl FleetJournal {
    /// There is a new connection: at its other end may be a Redis that does not have what the one before had.
    pub(crate) fn handle_connected(&mut self, now: u64) {
        self.compare(now);
    }

    /// Whether an exchange should follow at once.
    pub(crate) fn has_more(&self) -> bool {
        let RedisView { is_listing, missing, wanted, .. } = &self.view;
        *is_listing || !wanted.is_empty() || !missing.is_empty()
    }

    /// The questions of the next exchange, at this time in microseconds since 1970.
    pub(crate) fn poll_requests(&mut self, now: u64) -> Vec<JournalRequest> {
        self.remove_expired(now);
        if now.abs_diff(self.view.compared) >= COMPARISON_INTERVAL {
            self.compare(now);
        }
        let mut requests = Vec::new();
        let view = &self.view;
        if view.is_settled() {
            if let Some(epoch) = view.epoch.clone().filter(|_| !view.missing.is_empty()) {
                requests.push(JournalRequest::Add { epoch, entries: self.next_missing() });
            }
            if !view.expired.is_empty() {
                let entries = view.expired.iter().take(MAX_REMOVED).cloned().collect();
                requests.push(JournalRequest::Remove { entries });
            }
        }
        if !view.wanted.is_empty() {
            requests.push(JournalRequest::Get { subjects: view.wanted.iter().take(MAX_FETCHED).cloned().collect() });
        }
        requests.push(JournalRequest::List { after: view.seen });
        requests
    }

    /// Handles the answer to a question.
    pub(crate) fn handle_answer(&mut self, request: &JournalRequest, answer: JournalAnswer, now: u64) {
        match (request, answer) {
            (JournalRequest::Add { epoch, entries }, JournalAnswer::Added { epoch: found }) => {
                if found == *epoch {
                    entries.iter().for_each(|entry| self.view.note_in_redis(&entry.subject, entry.stamp));
                } else {
                    self.compare(now);
                }
            }
            (JournalRequest::Get { subjects }, JournalAnswer::Got { values }) => {
                self.handle_values(subjects, values, now)
            }
            (JournalRequest::Remove { entries }, JournalAnswer::Removed) => {
                self.view.expired.retain(|entry| !entries.contains(entry));
            }
            (JournalRequest::List { after }, JournalAnswer::Listed { epoch, last, page, is_full }) => {
                self.handle_list(*after, (epoch, last), &page, is_full, now);
            }
            // The exchange reads each answer by its question.
            _ => {}
        }
    }

    fn handle_values(&mut self, subjects: &[(Stamp, String)], values: Vec<Option<String>>, now: u64) {
        for (wanted, value) in subjects.iter().zip(values) {
            let (stamp, subject) = wanted;
            self.view.wanted.remove(wanted);
            match value.map(|value| JournalEntry::parse(subject, &value)) {
                Some(Some(entry)) => {
                    // A later one: those that were given before it may be behind the end of the last page.
                    self.view.is_listing |= entry.stamp > *stamp;
                    self.view.fetched.insert(subject.clone(), entry);
                }
                Some(None) => self.counts.invalid += 1,
                // Redis has lost it, and maybe others; or it has expired.
                None => return self.compare(now),
            }
        }
        self.take_fetched(now);
    }

    /// Takes in the fetched entries, if no others are on the way.
    fn take_fetched(&mut self, now: u64) {
        if self.view.is_settled() {
            let mut fetched: Vec<_> = mem::take(&mut self.view.fetched).into_values().collect();
            fetched.sort_by_key(|entry| entry.stamp);
            fetched.into_iter().for_each(|entry| self.receive(entry, now));
        }
    }

    fn handle_list(&mut self, after: u64, (epoch, last): (String, u64), page: &[Listed], is_full: bool, now: u64) {
        let is_other = self.view.epoch.as_ref() != Some(&epoch);
        if is_other || last < self.view.seen {
            self.view.epoch = Some(epoch);
            self.compare(now);
        }
        // Another exchange has begun meanwhile, or the list is read from the beginning from now on.
        if after != self.view.seen {
            return;
        }
        for Listed { entry, number } in page {
            // Numbers grow. An entry with a smaller one would be listed again and again.
            self.view.seen = self.view.seen.max(*number);
            let Some((subject, stamp)) = entry else { continue };
            if self.view.fetched.get(subject).is_some_and(|fetched| fetched.stamp >= *stamp) {
                continue;
            }
            match self.entries.get(subject).map(|held| held.entry.stamp) {
                Some(held) if held > *stamp => drop(self.view.missing.insert((held, subject.clone()))),
                Some(held) => {
                    self.view.note_in_redis(subject, held);
                    if held < *stamp {
                        self.want(subject, *stamp);
                    }
                }
                None => self.want(subject, *stamp),
            }
        }
        self.view.is_listing = is_full;
        self.take_fetched(now);
    }

    fn want(&mut self, subject: &str, stamp: Stamp) {
        if self.view.wanted.len() < MAX_ENTRIES {
            self.view.wanted.insert((stamp, subject.to_owned()));
        } else {
            self.counts.invalid += 1;
        }
    }

    /// Begins to compare all entries with those in Redis.
    fn compare(&mut self, now: u64) {
        let view = &mut self.view;
        (view.seen, view.is_listing, view.compared) = (0, true, now);
        view.wanted.clear();
        view.fetched.clear();
        let entries = self.entries.values().map(|held| &held.entry);
        view.missing = entries.map(|entry| (entry.stamp, entry.subject.clone())).collect();
    }

    /// The first entries that Redis does not have, in the order in which they were given.
    fn next_missing(&self) -> Vec<JournalEntry> {
        let mut bytes = 0;
        let entries = self.view.missing.iter().filter_map(|(_, subject)| self.entries.get(subject));
        let fits = |held: &&super::HeldEntry| {
            bytes += held.entry.bytes();
            bytes <= MAX_SENT_BYTES
        };
        entries.take(MAX_SENT).take_while(fits).map(|held| held.entry.clone()).collect()
    }
}

/// A minute, in microseconds: whatever has happened to Redis, all servers agree after that time.
const COMPARISON_INTERVAL: u64 = 60_000_000;

/// Entries that are sent at once, and their bytes: one at least, since none has more. Redis takes a millisecond for them.
const MAX_SENT: usize = 200;
const MAX_SENT_BYTES: usize = 1 << 20;

/// Values that are fetched at once; Redis sends as many of them as fit into an answer.
const MAX_FETCHED: usize = 200;

/// Entries that are removed at once.
const MAX_REMOVED: usize = 200;

/// Expired entries that wait to be removed: comparisons find the others.
const MAX_EXPIRED: usize = 10_000;
