//! Updates of a zone (RFC 2136): a message that adds or removes one text of a name.

use std::{error::Error, fmt};

use super::{INTERNET, InvalidNameError, RecordType, checked_name, write_labels, write_name};

/// A change of one text (TXT) of a name; its other texts stay.
///
/// ```
/// use serow_dns::message::{RecordChange, TextUpdate};
///
/// let add = RecordChange::Add { ttl: 60 };
/// let update = TextUpdate::new("example.com", "_acme-challenge.example.com", "text", add)?;
/// assert!(update.write(0x1234).starts_with(&[0x12, 0x34, 5 << 3]));
/// # Ok::<(), serow_dns::message::InvalidUpdateError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextUpdate {
    zone: String,
    /// The name without the zone; empty if it is the zone's own name.
    relative: String,
    text: String,
    change: RecordChange,
}

/// The change of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordChange {
    /// It is added to those of the name (RFC 2136 §2.5.1).
    Add {
        /// How long others may keep it, in seconds.
        ttl: u32,
    },
    /// It alone is removed, if it exists (RFC 2136 §2.5.4).
    Remove,
}

/// An update that cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidUpdateError {
    /// A name is not valid.
    Name(InvalidNameError),
    /// The name is not in the zone.
    OutsideZone,
    /// The text is longer than a string of 255 bytes.
    LongText,
}

impl TextUpdate {
    /// A change of a name in this zone.
    ///
    /// # Errors
    ///
    /// Invalid names, a name outside the zone, or a text of more than one string.
    pub fn new(zone: &str, name: &str, text: &str, change: RecordChange) -> Result<Self, InvalidUpdateError> {
        let (zone, name) = (checked_name(zone)?, checked_name(name)?);
        let relative = match name.strip_suffix(zone.as_str()) {
            Some("") => "",
            Some(rest) => rest.strip_suffix('.').ok_or(InvalidUpdateError::OutsideZone)?,
            None => return Err(InvalidUpdateError::OutsideZone),
        };
        if text.len() > MAX_TEXT {
            return Err(InvalidUpdateError::LongText);
        }
        Ok(Self { relative: relative.to_owned(), zone, text: text.to_owned(), change })
    }

    /// The message, which has no signature yet.
    #[must_use]
    pub fn write(&self, id: u16) -> Vec<u8> {
        let mut message = Vec::new();
        // RFC 2136 §2.2: one zone, no prerequisites, one update.
        numbers(&[id, OPCODE_UPDATE, 1, 0, 1, 0], &mut message);
        write_name(&self.zone, &mut message);
        numbers(&[RecordType::Soa as u16, INTERNET], &mut message);
        write_labels(&self.relative, &mut message);
        let (class, ttl) = match self.change {
            RecordChange::Add { ttl } => (INTERNET, ttl),
            RecordChange::Remove => (CLASS_NONE, 0),
        };
        numbers(&[POINTER_TO_ZONE, RecordType::Txt as u16, class], &mut message);
        message.extend_from_slice(&ttl.to_be_bytes());
        // At most 255, as was checked.
        let length = self.text.len() as u8;
        numbers(&[u16::from(length) + 1], &mut message);
        message.push(length);
        message.extend_from_slice(self.text.as_bytes());
        message
    }
}

fn numbers(numbers: &[u16], message: &mut Vec<u8>) {
    numbers.iter().for_each(|number| message.extend_from_slice(&number.to_be_bytes()));
}

impl From<InvalidNameError> for InvalidUpdateError {
    fn from(error: InvalidNameError) -> Self {
        Self::Name(error)
    }
}

impl fmt::Display for InvalidUpdateError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(error) => error.fmt(formatter),
            Self::OutsideZone => formatter.write_str("the name is not in the zone"),
            Self::LongText => write!(formatter, "the text is longer than {MAX_TEXT} bytes"),
        }
    }
}

impl Error for InvalidUpdateError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Name(error) => Some(error),
            Self::OutsideZone | Self::LongText => None,
        }
    }
}

/// RFC 2136 §1.3: the operation 5, in the bits of the header that say it.
const OPCODE_UPDATE: u16 = 5 << 11;

/// RFC 2136 §1.3.
const CLASS_NONE: u16 = 254;

/// RFC 1035 §4.1.4: the name of the zone, which follows the header.
const POINTER_TO_ZONE: u16 = 0xc000 | super::HEADER_LENGTH as u16;

/// RFC 1035 §3.3.14: one string. A value of dns-01 has 43 bytes.
const MAX_TEXT: usize = 255;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_the_zone_and_long_texts_are_refused() {
        let update = |zone, name| TextUpdate::new(zone, name, "a", RecordChange::Remove);
        for (zone, name, relative) in [
            ("example.com", "_acme-challenge.Example.com.", Some("_acme-challenge")),
            ("example.com.", "example.com", Some("")),
            ("example.com", "a.b.example.com", Some("a.b")),
            ("example.com", "aexample.com", None),
            ("example.com", "example.org", None),
            ("a.example.com", "example.com", None),
            ("example.com", "", None),
            ("example.com", "a..example.com", None),
        ] {
            assert_eq!(update(zone, name).ok().map(|update| update.relative).as_deref(), relative, "{name}");
        }
        let long = |length| TextUpdate::new("example", "example", &"v".repeat(length), RecordChange::Remove);
        assert!(long(255).is_ok());
        assert_eq!(long(256), Err(InvalidUpdateError::LongText));
    }
}
