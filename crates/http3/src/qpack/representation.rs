//! How field lines begin (RFC 9204 §4.5.2 to §4.5.6).

/// An entry, by an index of six bits.
pub(super) const INDEXED: u8 = 0x80;
/// The entry is of the static table.
pub(super) const INDEXED_STATIC: u8 = 0x40;

/// An entry, by a post-base index of four bits.
pub(super) const POST_BASE: u8 = 0x10;

/// A literal with the name of an entry, by an index of four bits.
pub(super) const LITERAL_WITH_NAME: u8 = 0x40;
/// The entry is of the static table.
pub(super) const LITERAL_WITH_STATIC_NAME: u8 = 0x10;
/// Intermediaries must not compress it either (RFC 9204 §7.1).
pub(super) const LITERAL_WITH_NAME_NEVER: u8 = 0x20;

/// A literal with the name of an entry, by a post-base index of three bits.
pub(super) const LITERAL_POST_BASE: u8 = 0x00;
/// Intermediaries must not compress it either.
pub(super) const LITERAL_POST_BASE_NEVER: u8 = 0x08;

/// A literal with a name whose length has three bits.
pub(super) const LITERAL: u8 = 0x20;
/// Intermediaries must not compress it either.
pub(super) const LITERAL_NEVER: u8 = 0x10;
