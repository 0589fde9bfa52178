//! A field as a decoder shows it.

use super::{FieldError, Name};

/// A field as it was received; it may have an error.
#[derive(Clone, Copy, Debug)]
pub struct DecodedField<'a> {
    /// The name; it may have capitals, which RFC 9113 refuses.
    pub name: &'a [u8],
    /// The value.
    pub value: &'a [u8],
    /// Which name it is, if it is one of those that mean something to us.
    pub name_kind: Name,
    /// The peer does not want it compressed by anyone (RFC 7541 §7.1.3).
    pub never_indexed: bool,
    /// The error that makes a message with this field malformed.
    pub error: Option<FieldError>,
}

impl DecodedField<'_> {
    /// Its size as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113 §6.5.2).
    #[must_use]
    #[inline]
    pub fn list_size(&self) -> usize {
        self.name.len() + self.value.len() + ENTRY_OVERHEAD
    }
}

/// The bytes that a field counts beside its text (RFC 7541 §4.1).
pub const ENTRY_OVERHEAD: usize = 32;
