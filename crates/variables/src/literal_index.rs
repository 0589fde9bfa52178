//! An index of patterns by the literals that they need: which patterns a text may match.

use std::{
    collections::{BTreeMap, HashMap},
    iter,
};

use aho_corasick::{AhoCorasick, Anchored, Input, MatchKind, StartKind};
use smallvec::SmallVec;

use crate::literals::{Literal, LiteralPlace, Literals};

/// Which of many patterns a text may match, in the order of the patterns. It leaves out patterns whose literals a text
/// does not contain; whether the others match is up to them.
///
/// ```
/// use serow_variables::{LiteralIndex, Literals};
///
/// let patterns = ["/a/*", "*.css", "/b", "/*"];
/// let index = LiteralIndex::new(patterns.into_iter().map(Literals::of_path_pattern));
/// assert_eq!(index.candidates(b"/a/x.css").collect::<Vec<_>>(), [0, 1, 3]);
/// ```
#[derive(Clone, Debug)]
pub struct LiteralIndex {
    starts: LiteralTable,
    /// By their literals from the end to the start.
    ends: LiteralTable,
    anywhere: Option<(AhoCorasick, Vec<Box<[u32]>>)>,
    /// Patterns that need no literal.
    always: Box<[u32]>,
}

/// The numbers of patterns that a text may match, in their order.
#[derive(Clone, Debug, Default)]
pub struct Candidates<'i> {
    /// Each in its order; a number may be in several.
    lists: SmallVec<[&'i [u32]; 8]>,
}

/// Literals in their order, with the patterns that need a text to be one of them or to begin with it.
#[derive(Clone, Debug, Default)]
struct LiteralTable {
    /// All literals, one after another.
    bytes: Box<[u8]>,
    entries: Box<[TableEntry]>,
    numbers: Box<[u32]>,
}

/// A literal: its end, and those of its lists; each begins where the one before it ends.
#[derive(Clone, Copy, Debug, Default)]
struct TableEntry {
    text_end: usize,
    whole_end: usize,
    start_end: usize,
    /// The longest other literal that it begins with.
    parent: Option<u32>,
}

/// The patterns of a literal: those whose texts are the literal, and those whose texts begin with it.
#[derive(Debug, Default)]
struct Numbers {
    whole: Vec<u32>,
    start: Vec<u32>,
}

impl LiteralIndex {
    /// An index of patterns by these literals of theirs.
    #[must_use]
    pub fn new(patterns: impl Iterator<Item = Literals>) -> Self {
        let patterns: Vec<Literals> = patterns.collect();
        let mut shared: HashMap<&Literal, u32> = HashMap::new();
        for literal in patterns.iter().flat_map(|pattern| pattern.cases.iter().flatten()) {
            *shared.entry(literal).or_default() += 1;
        }
        let mut building = Building::default();
        for (number, pattern) in (0..).zip(&patterns) {
            // The literal that the fewest patterns share leaves out the most; a longer one leaves out more.
            let rarest = |case: &Vec<Literal>| {
                let rarity =
                    |literal: &&Literal| (shared.get(literal).copied(), usize::MAX - literal.text.len(), literal.place);
                case.iter().min_by_key(rarity).cloned()
            };
            let needed: Option<Vec<Literal>> = pattern.cases.iter().map(rarest).collect();
            building.push(number, needed);
        }
        building.build()
    }

    /// An index of patterns, unless they are so few that it is faster to try each.
    #[must_use]
    pub fn of_many(patterns: impl ExactSizeIterator<Item = Literals>) -> Option<Self> {
        (patterns.len() > FEW).then(|| Self::new(patterns))
    }

    /// The patterns that a text may match.
    #[must_use]
    pub fn candidates(&self, text: &[u8]) -> Candidates<'_> {
        let mut lower: SmallVec<[u8; 256]> = SmallVec::from_slice(text);
        lower.make_ascii_lowercase();
        let mut candidates = Candidates::default();
        candidates.push(&self.always);
        if let Some((literals, numbers)) = &self.anywhere {
            for found in literals.find_overlapping_iter(Input::new(&lower[..]).anchored(Anchored::No)) {
                candidates.push_new(&numbers[found.pattern().as_usize()]);
            }
        }
        self.starts.find(&lower, &mut candidates);
        if !self.ends.entries.is_empty() {
            lower.reverse();
            self.ends.find(&lower, &mut candidates);
        }
        candidates
    }
}

impl<'i> Candidates<'i> {
    /// Adds numbers, which are in their order.
    pub fn push(&mut self, numbers: &'i [u32]) {
        if !numbers.is_empty() {
            self.lists.push(numbers);
        }
    }

    /// Adds the numbers of a literal, which a text may contain several times.
    fn push_new(&mut self, numbers: &'i [u32]) {
        if !self.lists.iter().any(|list| std::ptr::eq(*list, numbers)) {
            self.push(numbers);
        }
    }

    /// Leaves out the numbers below this one.
    #[must_use]
    pub fn from(mut self, first: u32) -> Self {
        if first > 0 {
            for list in &mut self.lists {
                *list = &list[list.partition_point(|number| *number < first)..];
            }
        }
        self
    }
}

impl Iterator for Candidates<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let next = self.lists.iter().filter_map(|list| list.first()).min().copied()?;
        for list in &mut self.lists {
            if let Some((_, rest)) = list.split_first().filter(|(first, _)| **first == next) {
                *list = rest;
            }
        }
        Some(next)
    }
}

impl LiteralTable {
    fn new(literals: BTreeMap<Box<[u8]>, Numbers>) -> Self {
        let (mut bytes, mut numbers) = (Vec::new(), Vec::new());
        let mut entries: Vec<TableEntry> = Vec::with_capacity(literals.len());
        let mut parents: Vec<(u32, &[u8])> = Vec::new();
        for (number, (literal, patterns)) in (0..).zip(&literals) {
            while parents.pop_if(|(_, parent)| !literal.starts_with(parent)).is_some() {}
            let parent = parents.last().map(|(parent, _)| *parent);
            parents.push((number, literal));
            bytes.extend_from_slice(literal);
            numbers.extend(&patterns.whole);
            let whole_end = numbers.len();
            numbers.extend(&patterns.start);
            entries.push(TableEntry { text_end: bytes.len(), whole_end, start_end: numbers.len(), parent });
        }
        Self { bytes: bytes.into(), entries: entries.into(), numbers: numbers.into() }
    }

    /// Adds the patterns of all literals that a text begins with.
    fn find<'i>(&'i self, text: &[u8], candidates: &mut Candidates<'i>) {
        // The last literal that is not greater begins with the longest one that the text begins with, or is that one.
        let place = self.search(text);
        let parent = |place: &usize| self.entries[*place].parent.map(|parent| parent as usize);
        for place in iter::successors(place.checked_sub(1), parent) {
            let (literal, before, entry) = self.entry(place);
            if text.starts_with(literal) {
                if literal.len() == text.len() {
                    candidates.push(&self.numbers[before.start_end..entry.whole_end]);
                }
                candidates.push(&self.numbers[entry.whole_end..entry.start_end]);
            }
        }
    }

    /// How many literals are not greater than a text.
    fn search(&self, text: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.entries.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.entry(middle).0 <= text { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// The literal at a place, the entry before it, and its own.
    fn entry(&self, place: usize) -> (&[u8], TableEntry, TableEntry) {
        let before = place.checked_sub(1).map_or_else(TableEntry::default, |before| self.entries[before]);
        let entry = self.entries[place];
        (&self.bytes[before.text_end..entry.text_end], before, entry)
    }
}

/// An index while it is built.
#[derive(Debug, Default)]
struct Building {
    starts: BTreeMap<Box<[u8]>, Numbers>,
    ends: BTreeMap<Box<[u8]>, Numbers>,
    anywhere: BTreeMap<Box<[u8]>, Vec<u32>>,
    always: Vec<u32>,
}

impl Building {
    /// Adds a pattern, whose texts contain one of these literals; or any text, without any.
    fn push(&mut self, number: u32, needed: Option<Vec<Literal>>) {
        let Some(needed) = needed else { return self.always.push(number) };
        for Literal { mut text, place } in needed {
            let numbers = match place {
                LiteralPlace::Whole => &mut self.starts.entry(text).or_default().whole,
                LiteralPlace::Start => &mut self.starts.entry(text).or_default().start,
                LiteralPlace::End => {
                    text.reverse();
                    &mut self.ends.entry(text).or_default().start
                }
                LiteralPlace::Anywhere => self.anywhere.entry(text).or_default(),
            };
            if numbers.last() != Some(&number) {
                numbers.push(number);
            }
        }
    }

    fn build(mut self) -> LiteralIndex {
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::Standard).start_kind(StartKind::Unanchored);
        let anywhere = (!self.anywhere.is_empty()).then(|| builder.build(self.anywhere.keys()));
        let anywhere = match anywhere {
            Some(Ok(literals)) => Some((literals, self.anywhere.into_values().map(Into::into).collect())),
            // More literals than an automaton can have.
            Some(Err(_)) => {
                self.always.extend(self.anywhere.into_values().flatten());
                self.always.sort_unstable();
                self.always.dedup();
                None
            }
            None => None,
        };
        let (starts, ends) = (LiteralTable::new(self.starts), LiteralTable::new(self.ends));
        LiteralIndex { starts, ends, anywhere, always: self.always.into() }
    }
}

/// A comparison with a pattern fails at its first bytes mostly; a search in an index costs as much as some of them.
const FEW: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn index(patterns: &[&str]) -> LiteralIndex {
        LiteralIndex::new(patterns.iter().map(|pattern| match pattern.strip_prefix('~') {
            Some(expression) => Literals::of_expression(expression, false, 50),
            None => Literals::of_path_pattern(pattern),
        }))
    }

    #[test]
    fn candidates_come_in_the_order_of_their_patterns() {
        let index = index(&[
            "*.css",
            "/a/*",
            "/",
            "/a",
            "/a/b",
            "/a/b/*",
            "~/b/",
            "~^/(a|xy)/",
            "/*/c/*",
            "~[0-9]",
            "/ab",
            "/A/B",
            "~b$",
        ]);
        for (text, expected) in [
            ("/", &[2, 9][..]),
            ("/a", &[3, 9]),
            ("/a/", &[1, 7, 9]),
            ("/a/b", &[1, 4, 7, 9, 11, 12]),
            ("/A/B", &[1, 4, 7, 9, 11, 12]),
            ("/a/b/c/x.css", &[0, 1, 5, 6, 7, 8, 9]),
            ("/a/b/b/b/b", &[1, 5, 6, 7, 9, 12]),
            ("/ab", &[9, 10, 12]),
            ("/xy/c", &[7, 9]),
            ("", &[9]),
            ("zzz", &[9]),
        ] {
            assert_eq!(index.candidates(text.as_bytes()).collect::<Vec<_>>(), expected, "{text}");
            let from: Vec<u32> = expected.iter().copied().filter(|number| *number >= 7).collect();
            assert_eq!(index.candidates(text.as_bytes()).from(7).collect::<Vec<_>>(), from, "{text}");
        }
    }

    #[test]
    fn the_rarest_literal_of_a_pattern_counts() {
        let pages: Vec<String> = (0..100).map(|number| format!("/shop/en/*/page{number}")).collect();
        let index = index(&pages.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(index.candidates(b"/shop/en/x/page17").collect::<Vec<_>>(), [17]);
        assert_eq!(index.candidates(b"/page17").collect::<Vec<_>>(), [17]);
    }
}
