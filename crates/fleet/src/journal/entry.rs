//! One command in the journal, and what became of it here.

use super::stamp::Stamp;

/// A command for all servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalEntry {
    /// The thing that it is about, as `maintenance` or `config/shop.example`: a later command about the same takes its place.
    pub subject: String,
    /// When it was given, and by which server.
    pub stamp: Stamp,
    /// When it is forgotten, in seconds since 1970; `None` for never.
    pub expires: Option<u64>,
    /// The command, on one line.
    pub command: String,
}

/// The outcome of a command on this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryState {
    /// It has yet to be executed.
    Waiting,
    /// It was executed.
    Applied,
    /// It was refused, for this reason.
    Refused(String),
}

/// A command, and what became of it on this server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldEntry {
    /// The command.
    pub entry: JournalEntry,
    /// Its outcome.
    pub state: EntryState,
}

impl JournalEntry {
    /// The text under which it is stored beside its subject: the stamp is at the beginning.
    #[must_use]
    pub fn value(&self) -> String {
        format!("{} {} {}", self.stamp, self.expires.unwrap_or(0), self.command)
    }

    /// The entry of a subject and a value; `None` for anything else. Any program that can write to Redis may have written it.
    #[must_use]
    pub fn parse(subject: &str, value: &str) -> Option<Self> {
        let mut words = value.splitn(3, ' ');
        let stamp = words.next()?.parse().ok()?;
        let expires: u64 = words.next()?.parse().ok()?;
        let expires = (expires > 0).then_some(expires);
        let command = words.next()?;
        let is_valid = is_subject(subject) && is_command(command);
        is_valid.then(|| Self { subject: subject.to_owned(), stamp, expires, command: command.to_owned() })
    }

    /// The bytes that count for the bound on all entries.
    pub(super) fn bytes(&self) -> usize {
        self.subject.len() + self.command.len()
    }

    pub(super) fn is_expired(&self, now: u64) -> bool {
        self.expires.is_some_and(|expires| expires <= now / 1_000_000)
    }
}

/// The subject of a kind, such as `config`, and a text, such as the name of a file. A text that is long, or has characters
/// that a subject cannot have, is a digest.
#[must_use]
pub fn journal_subject(kind: &str, text: &str) -> String {
    let plain = format!("{kind}/{text}");
    if is_subject(&plain) {
        return plain;
    }
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    let mut subject = format!("{kind}/sha256:");
    digest.as_ref().iter().for_each(|byte| subject.push_str(&format!("{byte:02x}")));
    subject
}

/// Whether a text can be a subject: it stands between spaces in a file.
pub(super) fn is_subject(text: &str) -> bool {
    (1..=MAX_SUBJECT).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Whether a text can be a command: it stands on a line of a file.
pub(super) fn is_command(text: &str) -> bool {
    (1..=MAX_COMMAND).contains(&text.len()) && !text.chars().any(char::is_control)
}

/// The longest subject, in bytes: the name of a settings file, or of an upstream and a server. Longer texts, such as URLs,
/// are digests.
pub const MAX_SUBJECT: usize = 200;

/// The longest command, in bytes: it fits into a message between the processes of a server (some 200 KB).
pub const MAX_COMMAND: usize = 128 * 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::stamp::ServerId;

    #[test]
    fn entries_stay_the_same_as_values() {
        for (expires, command) in [(None, "{\"a\": 1}"), (Some(7), "+ b")] {
            let stamp = Stamp { micros: 5, server: ServerId(6) };
            let entry = JournalEntry { subject: "a/b".to_owned(), stamp, expires, command: command.to_owned() };
            assert_eq!(JournalEntry::parse("a/b", &entry.value()), Some(entry));
        }
    }

    #[test]
    fn any_text_has_a_subject() {
        assert_eq!(journal_subject("config", "a"), "config/a");
        let digests = ["a b", "ä", &"x".repeat(200), "\n"].map(|text| journal_subject("purge", text));
        assert!(digests.iter().all(|subject| is_subject(subject) && subject.starts_with("purge/sha256:")));
        assert_eq!(digests.iter().collect::<std::collections::HashSet<_>>().len(), 4);
    }

    #[test]
    fn other_values_are_not_entries() {
        let stamp = Stamp { micros: 5, server: ServerId(6) };
        for (subject, value) in [
            ("", format!("{stamp} 0 a")),
            ("a b", format!("{stamp} 0 a")),
            ("ä", format!("{stamp} 0 a")),
            ("a", format!("{stamp} 0")),
            ("a", format!("{stamp} 0 ")),
            ("a", format!("{stamp} -1 a")),
            ("a", format!("{stamp} x a")),
            ("a", format!("{stamp} 0 a\nb")),
            ("a", "7 0 a".to_owned()),
            ("a", String::new()),
            ("a", format!("{stamp} 0 {}", "x".repeat(MAX_COMMAND + 1))),
        ] {
            assert_eq!(JournalEntry::parse(subject, &value), None, "{subject} {value}");
        }
    }
}
