//! The list of variables of a request (RFC 3875 §4.1), as FastCGI, SCGI and uwsgi send them.

use alloc::vec::Vec;
use core::fmt;

use crate::VariablesError;

/// Names and values, in order.
#[derive(Clone, Default)]
pub struct Variables {
    /// The names and values, one behind the other.
    text: Vec<u8>,
    places: Vec<Place>,
}

#[derive(Clone, Copy)]
struct Place {
    start: usize,
    name_length: usize,
    end: usize,
}

impl Variables {
    /// Adds a variable behind the others. The caller takes care that no other has its name: applications disagree which of
    /// two holds.
    ///
    /// # Errors
    ///
    /// An empty name, one with `=`, or NUL in name or value: an environment cannot carry them, and SCGI would take NUL
    /// for the end of the value.
    pub fn push(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<(), VariablesError> {
        self.push_parts(&[], name.as_ref(), [value.as_ref()])
    }

    /// Adds a variable, or replaces the one of this name.
    ///
    /// # Errors
    ///
    /// As [`Self::push`]: then nothing was changed.
    pub fn set(&mut self, name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<(), VariablesError> {
        let (name, others) = (name.as_ref(), self.places.len());
        self.push(name, value)?;
        if let Some(other) = self.places[..others].iter().position(|&place| self.at(place).0 == name) {
            self.places.remove(other);
        }
        Ok(())
    }

    /// The value of the last variable of this name.
    #[must_use]
    pub fn get(&self, name: impl AsRef<[u8]>) -> Option<&[u8]> {
        let found = self.places.iter().rev().map(|&place| self.at(place)).find(|(other, _)| *other == name.as_ref());
        found.map(|(_, value)| value)
    }

    /// Name and value of each variable, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &[u8])> + Clone {
        self.places.iter().map(|&place| self.at(place))
    }

    /// Adds a variable: `HTTP_` and the name of a field, or an empty prefix and a name, and parts of the value.
    pub(crate) fn push_parts<'a>(
        &mut self,
        prefix: &[u8],
        name: &[u8],
        value: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), VariablesError> {
        let start = self.text.len();
        self.text.extend_from_slice(prefix);
        match prefix {
            [] => self.text.extend_from_slice(name),
            _ => self.text.extend(name.iter().map(|byte| if *byte == b'-' { b'_' } else { byte.to_ascii_uppercase() })),
        }
        let name_end = self.text.len();
        value.into_iter().for_each(|part| self.text.extend_from_slice(part));
        let name = &self.text[start..name_end];
        // Text without a place is not a variable.
        if name.is_empty() || name.contains(&b'=') {
            return Err(VariablesError::name(name));
        }
        if self.text[start..].contains(&0) {
            return Err(VariablesError::nul(name));
        }
        self.places.push(Place { start, name_length: name_end - start, end: self.text.len() });
        Ok(())
    }

    fn at(&self, place: Place) -> (&[u8], &[u8]) {
        self.text[place.start..place.end].split_at(place.name_length)
    }
}

impl PartialEq for Variables {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Variables {}

impl fmt::Debug for Variables {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| alloc::format!("{}", bytes.escape_ascii());
        formatter.debug_map().entries(self.iter().map(|(name, value)| (text(name), text(value)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_variables_are_refused_and_leave_nothing() {
        let mut variables = Variables::default();
        variables.push("A", "1").unwrap();
        for (name, value, error) in [
            ("", "x", VariablesError::name(b"")),
            ("A=B", "x", VariablesError::name(b"A=B")),
            ("B", "x\0y", VariablesError::nul(b"B")),
            ("B\0C", "x", VariablesError::nul(b"B\0C")),
        ] {
            assert_eq!(variables.push(name, value), Err(error.clone()), "{name}");
            assert_eq!(variables.set(name, value), Err(error), "{name}");
        }
        variables.push("EMPTY", "").unwrap();
        let expected: [(&[u8], &[u8]); 2] = [(b"A", b"1"), (b"EMPTY", b"")];
        assert!(variables.iter().eq(expected));
    }

    #[test]
    fn set_replaces_a_variable() {
        let mut variables = Variables::default();
        for (name, value) in [("A", "1"), ("B", "2"), ("A", "3"), ("AB", "4")] {
            variables.set(name, value).unwrap();
        }
        let expected: [(&[u8], &[u8]); 3] = [(b"B", b"2"), (b"A", b"3"), (b"AB", b"4")];
        assert!(variables.iter().eq(expected), "{variables:?}");
        assert_eq!(variables.get("A"), Some(&b"3"[..]));
        assert_eq!(variables.get("C"), None);
    }
}
