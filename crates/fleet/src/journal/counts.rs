//! The state of the journal, for the status.

use super::{EntryState, FleetJournal};

/// How the journal of a server is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalCounts {
    /// Commands that it keeps.
    pub entries: usize,
    /// Commands that it knows of and has not executed.
    pub behind: usize,
    /// Commands that it has executed and Redis does not have.
    pub unsent: usize,
    /// Commands that it refused.
    pub refused: usize,
    /// The subject of the last of them, and why.
    pub last_refusal: Option<(String, String)>,
    /// Commands that were not taken, since they are invalid or too many.
    pub invalid: u64,
    /// Commands that were not taken, since the clock of their server is ahead by more than an hour, or this one's is behind.
    pub ahead: u64,
    /// By how many seconds the last of them was.
    pub seconds_ahead: u64,
}

impl FleetJournal {
    /// How it is.
    #[must_use]
    pub fn counts(&self) -> JournalCounts {
        let waiting = self.iter().filter(|held| held.state == EntryState::Waiting).count();
        let refused = self.iter().filter_map(|held| match &held.state {
            EntryState::Refused(reason) => Some((held.entry.stamp, &held.entry.subject, reason)),
            _ => None,
        });
        let (refused, last) = refused.fold((0, None), |(count, last), one| (count + 1, last.max(Some(one))));
        JournalCounts {
            entries: self.iter().len(),
            behind: waiting + self.view.on_the_way(),
            unsent: self.view.unsent(),
            refused,
            last_refusal: last.map(|(_, subject, reason)| (subject.clone(), reason.clone())),
            invalid: self.counts.invalid,
            ahead: self.counts.ahead,
            seconds_ahead: self.counts.seconds_ahead,
        }
    }
}
