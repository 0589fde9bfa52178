//! The static tables (RFC 7541, Appendix A; RFC 9204, Appendix A): fields that both ends know before they speak.

use serow_message::KnownHeader;

use super::Line;
use crate::fields::{Name, Pseudo};

/// Entries by their place; the first has place 0.
#[derive(Debug)]
pub struct StaticTable<const COUNT: usize> {
    entries: [Line<'static>; COUNT],
    /// For each name, one more than the place of its first entry; zero where there is none.
    of_pseudo: [u8; PSEUDO_NAMES],
    of_known: [u8; KNOWN_NAMES],
    /// The same for the first of all entries whose names are neither.
    of_others: u8,
    /// For each entry, one more than the place of the next with its name, or of the next with any of the other names.
    next: [u8; COUNT],
}

impl<const COUNT: usize> StaticTable<COUNT> {
    /// From its entries, of which there are 255 at most.
    #[must_use]
    pub const fn new(entries: [Line<'static>; COUNT]) -> Self {
        let (mut of_pseudo, mut of_known, mut of_others) = ([0; PSEUDO_NAMES], [0; KNOWN_NAMES], 0);
        let mut next = [0; COUNT];
        let mut place = COUNT;
        while place > 0 {
            place -= 1;
            let first = match entries[place].name_kind {
                Name::Pseudo(pseudo) => &mut of_pseudo[pseudo as usize],
                Name::Known(known) => &mut of_known[known as usize],
                Name::Other => &mut of_others,
            };
            next[place] = *first;
            *first = place as u8 + 1;
        }
        Self { entries, of_pseudo, of_known, of_others, next }
    }

    /// The entry at a place.
    #[inline]
    pub fn get(&self, place: usize) -> Option<&Line<'static>> {
        self.entries.get(place)
    }

    /// The place of the first entry of this name, whatever its case.
    #[inline]
    pub fn find_name(&self, kind: Name, name: &[u8]) -> Option<usize> {
        let mut place = self.first(kind)?;
        if kind == Name::Other {
            while !self.entries[place].name.eq_ignore_ascii_case(name) {
                place = before(self.next[place])?;
            }
        }
        Some(place)
    }

    /// The place of the entry of this field, whatever the case of its name.
    #[inline]
    pub fn find_field(&self, kind: Name, name: &[u8], value: &[u8]) -> Option<usize> {
        let mut place = self.first(kind)?;
        while self.entries[place].value != value || !self.entries[place].is_named(kind, name) {
            place = before(self.next[place])?;
        }
        Some(place)
    }

    #[inline]
    fn first(&self, kind: Name) -> Option<usize> {
        before(match kind {
            Name::Pseudo(pseudo) => self.of_pseudo[pseudo as usize],
            Name::Known(known) => self.of_known[known as usize],
            Name::Other => self.of_others,
        })
    }
}

#[inline]
fn before(number: u8) -> Option<usize> {
    usize::from(number).checked_sub(1)
}

/// An entry of a pseudo-header field.
#[must_use]
pub const fn pseudo(pseudo: Pseudo, value: &'static str) -> Line<'static> {
    entry(pseudo.as_str(), value, Name::Pseudo(pseudo))
}

/// An entry of a field with a well-known name.
#[must_use]
pub const fn known(known: KnownHeader, value: &'static str) -> Line<'static> {
    entry(known.as_str(), value, Name::Known(known))
}

/// An entry of any other field.
#[must_use]
pub const fn other(name: &'static str, value: &'static str) -> Line<'static> {
    entry(name, value, Name::Other)
}

const fn entry(name: &'static str, value: &'static str, name_kind: Name) -> Line<'static> {
    Line { name: name.as_bytes(), value: value.as_bytes(), name_kind, error: None }
}

const PSEUDO_NAMES: usize = 6;

/// `serow_message` sees to it that there are no more.
const KNOWN_NAMES: usize = 64;
