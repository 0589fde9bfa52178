//! The priority of a response (RFC 9218).
//!
//! A client sends it in the field `priority` of its request, `u=1, i`: the urgency of the response, and whether it is
//! useful while it arrives. The server may override it in the same field of the response; members that the response
//! omits keep the client's values ([`PartialPriority`]).

use alloc::vec::Vec;
use core::fmt;

use crate::{Headers, KnownHeader};

mod dictionary;

use self::dictionary::Value;

/// RFC 9218 §4.
///
/// ```
/// use serow_message::{PartialPriority, Priority};
///
/// let asked = Priority::parse(b"u=1, i");
/// assert_eq!(asked, Priority { urgency: 1, incremental: true });
/// assert_eq!(asked.merge(PartialPriority::parse(b"u=5")).as_str(), "u=5, i");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Priority {
    /// From 0, the most urgent, to 7, which is for the background.
    pub urgency: u8,
    /// Whether the response is useful while it arrives, so that it may share the bandwidth with others.
    pub incremental: bool,
}

impl Priority {
    /// The default (RFC 9218 §4.1, §4.2).
    pub const DEFAULT: Self = Self { urgency: 3, incremental: false };
    /// The urgency of background transfers (RFC 9218 §4.1).
    pub const BACKGROUND: u8 = 7;

    /// Parses the value of a field `priority`, or of a PRIORITY_UPDATE frame (RFC 9218 §7). Missing members have their
    /// defaults. Members that are unknown, of a wrong type or out of range are ignored, and so is a value that is not a
    /// dictionary (RFC 9218 §4, RFC 9651 §4.2).
    #[inline]
    #[must_use]
    pub fn parse(value: &[u8]) -> Self {
        Self::DEFAULT.merge(PartialPriority::parse(value))
    }

    /// The priority from the fields of a request; `None` if there is no such field.
    #[inline]
    #[must_use]
    pub fn of_fields(headers: &Headers) -> Option<Self> {
        PartialPriority::of_fields(headers).map(|said| Self::DEFAULT.merge(said))
    }

    /// The priority overridden by the response: members that it omits are unchanged (RFC 9218 §8).
    #[inline]
    #[must_use]
    pub fn merge(self, response: PartialPriority) -> Self {
        Self {
            urgency: response.urgency.unwrap_or(self.urgency),
            incremental: response.incremental.unwrap_or(self.incremental),
        }
    }

    /// The value of a field `priority`. Urgencies above 7 count as 7.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        VALUES[usize::from(self.urgency.min(Self::BACKGROUND))][usize::from(self.incremental)]
    }
}

/// All possible values. The urgency is always written, even the default: in a response, omitting it has another meaning
/// (RFC 9218 §8).
const VALUES: [[&str; 2]; 8] = [
    ["u=0", "u=0, i"],
    ["u=1", "u=1, i"],
    ["u=2", "u=2, i"],
    ["u=3", "u=3, i"],
    ["u=4", "u=4, i"],
    ["u=5", "u=5, i"],
    ["u=6", "u=6, i"],
    ["u=7", "u=7, i"],
];

impl Default for Priority {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The members that a field `priority` contains: in a response, omitted members keep the client's values (RFC 9218 §8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartialPriority {
    /// See [`Priority::urgency`].
    pub urgency: Option<u8>,
    /// See [`Priority::incremental`].
    pub incremental: Option<bool>,
}

impl PartialPriority {
    /// Parses the value of a field `priority`; see [`Priority::parse`].
    #[inline]
    #[must_use]
    pub fn parse(value: &[u8]) -> Self {
        Self::parse_usual(value).unwrap_or_else(|| Self::parse_any(value))
    }

    /// The priority from the fields of a message; `None` if there is no such field. Several lines are one value (RFC
    /// 9651 §4.2).
    #[must_use]
    pub fn of_fields(headers: &Headers) -> Option<Self> {
        let mut lines = headers.get_all(KnownHeader::Priority);
        let first = lines.next()?;
        Some(match lines.next() {
            None => Self::parse(first),
            Some(second) => Self::parse(&join(first, second, lines)),
        })
    }

    /// Parses the forms that browsers send, `u=1`, `i`, `u=1, i` and `u=1,i`, without the general parser.
    #[inline]
    fn parse_usual(value: &[u8]) -> Option<Self> {
        let (urgency, incremental) = match value {
            [b'i'] => (None, Some(true)),
            [b'u', b'=', digit @ b'0'..=b'7', rest @ ..] => {
                let incremental = match rest {
                    [] => None,
                    [b',', b' ', b'i'] | [b',', b'i'] => Some(true),
                    _ => return None,
                };
                (Some(digit - b'0'), incremental)
            }
            _ => return None,
        };
        Some(Self { urgency, incremental })
    }

    /// Parses any dictionary. A repeated key replaces the earlier value (RFC 9651 §4.2.2), even if the later value has
    /// a wrong type and is ignored.
    #[cold]
    fn parse_any(value: &[u8]) -> Self {
        let mut said = Self::default();
        let read = dictionary::read(value, |key, value| match key {
            b"u" => {
                said.urgency = match value {
                    Value::Integer(number) => {
                        u8::try_from(number).ok().filter(|&urgency| urgency <= Priority::BACKGROUND)
                    }
                    _ => None,
                }
            }
            b"i" => {
                said.incremental = match value {
                    Value::Boolean(incremental) => Some(incremental),
                    _ => None,
                }
            }
            _ => {}
        });
        if read.is_ok() { said } else { Self::default() }
    }
}

/// RFC 9110 §5.2.
fn join<'a>(first: &[u8], second: &[u8], others: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut joined = [first, second].join(&b", "[..]);
    for line in others {
        joined.extend_from_slice(b", ");
        joined.extend_from_slice(line);
    }
    joined
}

#[cfg(test)]
mod tests;
