//! A field as a decoder shows it.

use super::{FieldError, Name};
use crate::compression::Line;

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
        self.name.len() + self.value.len() + crate::compression::ENTRY_OVERHEAD
    }
}

impl<'a> Line<'a> {
    /// As it is shown.
    #[inline]
    #[must_use]
    pub fn into_field(self, never_indexed: bool) -> DecodedField<'a> {
        DecodedField { name: self.name, value: self.value, name_kind: self.name_kind, never_indexed, error: self.error }
    }
}
