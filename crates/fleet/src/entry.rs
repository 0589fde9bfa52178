//! A server's knowledge of one key, and how the requests of the other servers change it.

use serow_limits::{Decision, Limit, Weight};

use crate::{Consumption, KeyName, Standing};

/// An entry as its table has it: numbers, of which the system provides many zeros at once. The first is the key's hash.
pub(crate) type Slot = [u64; 9];

/// A server's knowledge of one key.
///
/// It has two ends, times as of the generic cell rate algorithm. `known` counts the requests that have been served: by
/// this server up to now, and by the others up to the last exchange. `expected` adds those that the others are expected
/// to have served since, and decides. Each exchange replaces expectation by knowledge, so errors do not accumulate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Identifies the key in the table; 0 marks a free place.
    pub(crate) hash: u64,
    pub(crate) name: KeyName,
    known: u64,
    expected: u64,
    /// When the first request came that Redis does not know of.
    since: u64,
    /// When the last exchange was sent, in units of 2^20 ns; 0 for never.
    exchanged: u32,
    admitted: i32,
    demand: u32,
    /// The requests of all servers, as of the last exchange.
    total: u32,
    /// How many requests of all servers came for each of this one's.
    weight: Weight,
    /// Whether it is in the list of keys that have something for Redis.
    pub(crate) is_listed: bool,
}

impl Entry {
    /// The entry in a place of a table.
    pub(crate) fn load(slot: &Slot) -> Self {
        let [hash, first, second, known, expected, since, sent, counts, rest] = *slot;
        let mut name = KeyName::default();
        name[..8].copy_from_slice(&first.to_le_bytes());
        name[8..].copy_from_slice(&second.to_le_bytes());
        let ((exchanged, admitted), (demand, total), (weight, listed)) = (halves(sent), halves(counts), halves(rest));
        let (admitted, weight) = (admitted.cast_signed(), Weight::from_bits(weight));
        let is_listed = listed != 0;
        Self { hash, name, known, expected, since, exchanged, admitted, demand, total, weight, is_listed }
    }

    /// Puts the entry into a place of a table.
    pub(crate) fn store(&self, slot: &mut Slot) {
        let (first, second) = self.name.split_at(8);
        let half = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        *slot = [
            self.hash,
            half(first),
            half(second),
            self.known,
            self.expected,
            self.since,
            word(self.exchanged, self.admitted.cast_unsigned()),
            word(self.demand, self.total),
            word(self.weight.to_bits(), u32::from(self.is_listed)),
        ];
    }

    /// A key without requests.
    pub(crate) fn new(hash: u64, name: KeyName, is_listed: bool) -> Self {
        Self { hash, name, is_listed, ..Self::load(&[0; 9]) }
    }

    /// When its requests will have ended: the later, the more its loss would matter.
    pub(crate) fn end(&self) -> u64 {
        self.expected.max(self.known)
    }

    /// Decides about a request; out of contact with the others, by the weight of this server's share.
    pub(crate) fn decide(&mut self, limit: &Limit, cost: u32, now: u64, share: Option<Weight>) -> Decision {
        let weight = share.unwrap_or_else(|| self.weight(now));
        let (expected, decision) = limit.decide_for_others(self.expected, cost, weight, now);
        self.touch(now);
        self.demand = self.demand.saturating_add(cost);
        if decision.is_allowed() {
            let time = limit.rate().interval().saturating_mul(u64::from(cost));
            self.expected = expected;
            self.known = self.known.max(now).saturating_add(time);
            self.admitted = self.admitted.saturating_add_unsigned(cost);
        }
        decision
    }

    /// Counts `cost` more requests, or fewer.
    pub(crate) fn charge(&mut self, limit: &Limit, cost: i32, now: u64) {
        self.touch(now);
        self.known = limit.charge(self.known, cost, now);
        self.expected = limit.charge(self.expected, cost, now);
        self.admitted = self.admitted.saturating_add(cost);
    }

    /// Takes what Redis does not know yet.
    pub(crate) fn collect(&mut self, now: u64) -> Consumption {
        let ahead = i64::try_from(self.known / 1000).unwrap_or(MAX_AHEAD) - i64::try_from(now / 1000).unwrap_or(0);
        let consumption = Consumption {
            name: self.name,
            admitted: self.admitted,
            demand: self.demand,
            span: now.saturating_sub(self.since).min(MAX_SPAN) / 1000,
            ahead: ahead.clamp(-MAX_AHEAD, MAX_AHEAD),
            at: now,
        };
        (self.admitted, self.demand, self.since, self.is_listed) = (0, 0, 0, false);
        consumption
    }

    /// Takes in what Redis has answered to a consumption, by a clock that may have gone on since. Nothing ends later than
    /// `most` after the consumption, whatever Redis says.
    pub(crate) fn merge(&mut self, limit: &Limit, sent: &Consumption, standing: Standing, most: u64) {
        self.observe(sent, standing.total);
        // As if Redis had answered at once: the end that it returns is never later than the true one, so repeated
        // exchanges do not add up their latencies.
        let ahead = standing.ahead.clamp(-MAX_AHEAD, MAX_AHEAD);
        let time = ahead.unsigned_abs().saturating_mul(1000);
        let end = if ahead < 0 { sent.at.saturating_sub(time) } else { sent.at.saturating_add(time.min(most)) };
        // The answer does not include the requests that this server has served in the meantime.
        let since = limit.rate().interval().saturating_mul(u64::try_from(self.admitted).unwrap_or(0));
        let end = if since > 0 { end.max(sent.at).saturating_add(since) } else { end };
        // Redis may have lost something, which this server still knows.
        self.known = self.known.max(end);
        self.expected = self.known;
    }

    /// Notes how many requests of all came for each of this server's.
    fn observe(&mut self, sent: &Consumption, total: u32) {
        let (at, before) = (units(sent.at), self.exchanged);
        let of_all = total.wrapping_sub(self.total) & MAX_TOTAL;
        (self.exchanged, self.total) = (at, total);
        let is_next = before != 0 && at.wrapping_sub(before) < units(MEMORY);
        // Less than this server's own demand: Redis has begun to count again.
        if is_next && sent.demand > 0 && (sent.demand..=MAX_TOTAL / 2).contains(&of_all) {
            self.weight = self.weight.approach(Weight::ratio(of_all, sent.demand));
        } else if !is_next {
            self.weight = Weight::ONE;
        }
    }

    /// The weight of a request now, judging by the requests of a moment ago. A client's first requests have weight one.
    fn weight(&self, now: u64) -> Weight {
        let is_recent = self.exchanged != 0 && units(now).wrapping_sub(self.exchanged) < units(MEMORY);
        if is_recent { self.weight } else { Weight::ONE }
    }

    fn touch(&mut self, now: u64) {
        if self.since == 0 {
            self.since = now.max(1);
        }
    }
}

fn word(upper: u32, lower: u32) -> u64 {
    u64::from(upper) << 32 | u64::from(lower)
}

/// Splits what [`word`] has made.
fn halves(word: u64) -> (u32, u32) {
    ((word >> 32) as u32, word as u32)
}

/// A time in a form that takes less memory; never 0.
fn units(time: u64) -> u32 {
    ((time >> 20) as u32).max(1)
}

/// How long the requests of other servers let expect more of them, in nanoseconds.
const MEMORY: u64 = 1_000_000_000;

/// Requests that came over a longer time than this count as if they came within it, in nanoseconds.
const MAX_SPAN: u64 = 120_000_000_000;

/// Farther from now is nothing, in microseconds: 100 years, and exact as a number of Lua when added to the present.
const MAX_AHEAD: i64 = 3_000_000_000_000_000;

/// Totals are smaller than 2^31.
pub(crate) const MAX_TOTAL: u32 = 0x7fff_ffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_the_same_after_a_stay_in_their_table() {
        let slot = [1, 0x0807_0605_0403_0201, u64::MAX, 4, 5, 6, 7 << 32 | 8, 9 << 32 | 10, 11 << 32 | 1];
        let entry = Entry::load(&slot);
        assert_eq!(entry.name[..8], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((entry.exchanged, entry.admitted, entry.demand, entry.total, entry.is_listed), (7, 8, 9, 10, true));
        let mut stored = [0; 9];
        entry.store(&mut stored);
        assert_eq!(stored, slot);
        Entry { admitted: -5, ..entry }.store(&mut stored);
        assert_eq!(Entry::load(&stored).admitted, -5);
    }
}
