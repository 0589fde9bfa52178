//! Fields that were received, judged once (RFC 9113 §8.2.1, RFC 9114 §4.2).

use serow_streams::{
    compression::Line,
    fields::{FieldError, Name},
};

/// A name that was received, without value.
#[inline]
pub(super) fn named(name: &[u8]) -> Line<'_> {
    let name_kind = Name::recognise(name);
    Line { name, value: b"", name_kind, error: FieldError::of_name(name_kind, name) }
}

/// A name with a value that was received.
#[inline]
pub(super) fn with_value<'a>(name: Line<'a>, value: &'a [u8]) -> Line<'a> {
    let error = name.error.filter(|error| *error == FieldError::Name).or_else(|| FieldError::of_value(value));
    Line { value, error, ..name }
}
