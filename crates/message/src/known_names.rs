//! Sets of well-known field names.

use crate::KnownHeader;

/// A set of well-known names, made when the program is compiled; to look one up costs a comparison.
///
/// ```
/// use serow_message::{KnownHeader, KnownNames};
///
/// const CONDITIONS: KnownNames = KnownNames::of(&[KnownHeader::IfMatch, KnownHeader::IfNoneMatch]);
/// assert!(CONDITIONS.contains(KnownHeader::IfMatch));
/// assert!(!CONDITIONS.contains(KnownHeader::Host));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KnownNames {
    /// A bit for each.
    pub(crate) bits: u64,
}

impl KnownNames {
    /// These names.
    #[must_use]
    pub const fn of(names: &[KnownHeader]) -> Self {
        Self { bits: KnownHeader::set(names) }
    }

    /// Those of both sets.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self { bits: self.bits | others.bits }
    }

    /// All but this one.
    #[must_use]
    pub const fn without(self, name: KnownHeader) -> Self {
        Self { bits: self.bits & !name.bit() }
    }

    /// Whether this name is among them.
    #[must_use]
    pub const fn contains(self, name: KnownHeader) -> bool {
        self.bits & name.bit() != 0
    }
}
