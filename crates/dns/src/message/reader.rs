//! The parts of a message, read one after another.

use super::MAX_NAME_LENGTH;

/// A place in a message.
pub(crate) struct Reader<'a> {
    pub(crate) message: &'a [u8],
    pub(crate) at: usize,
}

impl Reader<'_> {
    pub(crate) fn take<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        let bytes = self.message.get(self.at..)?.first_chunk()?;
        self.at += COUNT;
        Some(*bytes)
    }

    pub(crate) fn number(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    pub(crate) fn skip_to(&mut self, end: usize) -> Option<()> {
        self.at = end;
        (end <= self.message.len()).then_some(())
    }

    /// Bytes after their length in two bytes.
    pub(crate) fn data(&mut self) -> Option<&[u8]> {
        let length = self.number()?.into();
        self.bytes(length)
    }

    /// A string after its length in one byte (RFC 1035 §3.3).
    pub(crate) fn string(&mut self) -> Option<&[u8]> {
        let [length] = self.take()?;
        self.bytes(length.into())
    }

    fn bytes(&mut self, length: usize) -> Option<&[u8]> {
        let bytes = self.message.get(self.at..)?.get(..length)?;
        self.at += length;
        Some(bytes)
    }

    /// A name in lower case. Its end may be compressed to a pointer to an earlier name (RFC 1035 §4.1.4); pointers must
    /// go backwards, so that parsing terminates.
    pub(crate) fn name(&mut self) -> Option<String> {
        let (mut name, mut at, mut before, mut end) = (String::new(), self.at, self.at, None);
        loop {
            let length = *self.message.get(at)?;
            match length {
                0 => {
                    self.at = end.unwrap_or(at + 1);
                    return Some(name);
                }
                1..=63 => {
                    let label = self.message.get(at + 1..at + 1 + usize::from(length))?;
                    // A dot within a label would look like one between two labels.
                    let is_plain = label.iter().all(|byte| byte.is_ascii_graphic() && *byte != b'.');
                    if name.len() + label.len() >= MAX_NAME_LENGTH || !is_plain {
                        return None;
                    }
                    if !name.is_empty() {
                        name.push('.');
                    }
                    name.extend(label.iter().map(|byte| char::from(byte.to_ascii_lowercase())));
                    at += 1 + label.len();
                }
                0xc0.. => {
                    let pointer = usize::from(length & 0x3f) << 8 | usize::from(*self.message.get(at + 1)?);
                    if pointer >= before {
                        return None;
                    }
                    end.get_or_insert(at + 2);
                    (at, before) = (pointer, pointer);
                }
                _ => return None,
            }
        }
    }
}
