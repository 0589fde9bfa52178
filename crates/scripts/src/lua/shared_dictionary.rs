//! The dictionary that the scripts of a process share.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

/// A value of the dictionary.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Entry {
    Number(f64),
    Text(Arc<[u8]>),
}

/// Values by name, in bounded memory, with lifetimes. Times are seconds of any clock.
#[derive(Debug, Default)]
pub(crate) struct Dictionary {
    entries: HashMap<Box<[u8]>, Timed>,
    bytes: usize,
}

#[derive(Debug)]
struct Timed {
    entry: Entry,
    expires: Option<f64>,
}

impl Dictionary {
    /// The value of this name, unless its time is over.
    pub(crate) fn get(&self, name: &[u8], now: f64) -> Option<Entry> {
        self.entries.get(name).filter(|timed| timed.is_alive(now)).map(|timed| timed.entry.clone())
    }

    /// Sets a value, until this time.
    ///
    /// # Errors
    ///
    /// There is no room: nothing that is still alive is dropped for it.
    pub(crate) fn set(&mut self, name: &[u8], entry: Entry, expires: Option<f64>, now: f64) -> Result<(), String> {
        let size = size(name, &entry);
        self.remove(name);
        if self.bytes + size > MAX_BYTES {
            self.remove_expired(now);
        }
        if self.bytes + size > MAX_BYTES {
            return Err(format!(
                "serow.shared is full: it has {MAX_BYTES} bytes; give entries a lifetime, so that they make room"
            ));
        }
        self.bytes += size;
        self.entries.insert(name.into(), Timed { entry, expires });
        Ok(())
    }

    /// Adds to a number, which begins at 0, and then lives until this time; returns the sum.
    ///
    /// # Errors
    ///
    /// The entry is a text, or there is no room for a new one.
    pub(crate) fn add(&mut self, name: &[u8], by: f64, expires: Option<f64>, now: f64) -> Result<f64, String> {
        match self.entries.get_mut(name).filter(|timed| timed.is_alive(now)) {
            Some(Timed { entry: Entry::Number(number), .. }) => {
                *number += by;
                Ok(*number)
            }
            Some(_) => Err(format!(
                "serow.shared: {:?} is a text, to which nothing can be added",
                String::from_utf8_lossy(name)
            )),
            None => self.set(name, Entry::Number(by), expires, now).map(|()| by),
        }
    }

    /// Removes a value.
    pub(crate) fn remove(&mut self, name: &[u8]) {
        if let Some((name, timed)) = self.entries.remove_entry(name) {
            self.bytes -= size(&name, &timed.entry);
        }
    }

    fn remove_expired(&mut self, now: f64) {
        let bytes = &mut self.bytes;
        self.entries.retain(|name, timed| {
            let is_alive = timed.is_alive(now);
            if !is_alive {
                *bytes -= size(name, &timed.entry);
            }
            is_alive
        });
    }
}

impl Timed {
    fn is_alive(&self, now: f64) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }
}

fn size(name: &[u8], entry: &Entry) -> usize {
    let text = match entry {
        Entry::Number(_) => 0,
        Entry::Text(text) => text.len(),
    };
    name.len() + text + ENTRY_BYTES
}

/// The dictionary of the process.
pub(crate) fn dictionary() -> MutexGuard<'static, Dictionary> {
    static DICTIONARY: OnceLock<Mutex<Dictionary>> = OnceLock::new();
    DICTIONARY.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of all entries: as much as one state of a script may have.
const MAX_BYTES: usize = 16 << 20;

/// What an entry needs beside its name and text.
const ENTRY_BYTES: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Entry {
        Entry::Text(text.as_bytes().into())
    }

    #[test]
    fn values_live_as_long_as_they_may() {
        let mut dictionary = Dictionary::default();
        dictionary.set(b"a", text("1"), Some(10.0), 0.0).unwrap();
        dictionary.set(b"b", Entry::Number(1.0), None, 0.0).unwrap();
        assert_eq!(dictionary.get(b"a", 9.9), Some(text("1")));
        assert_eq!(dictionary.get(b"a", 10.0), None);
        assert_eq!(dictionary.get(b"b", 1e9), Some(Entry::Number(1.0)));
        assert_eq!(dictionary.add(b"b", 2.0, Some(5.0), 4.0), Ok(3.0));
        assert_eq!(dictionary.add(b"c", 2.0, Some(5.0), 4.0), Ok(2.0));
        assert_eq!(
            dictionary.add(b"c", 2.0, Some(99.0), 4.9),
            Ok(4.0),
            "the first addition decides about the lifetime"
        );
        assert_eq!(dictionary.add(b"c", 2.0, Some(9.0), 5.0), Ok(2.0));
        assert!(dictionary.add(b"a", 1.0, None, 9.0).is_err());
        assert_eq!(dictionary.add(b"a", 1.0, None, 10.0), Ok(1.0));
    }

    #[test]
    fn memory_is_bounded_and_counted() {
        let mut dictionary = Dictionary::default();
        let large = "x".repeat(1 << 20);
        for number in 0..15 {
            dictionary.set(format!("{number}").as_bytes(), text(&large), Some(10.0), 0.0).unwrap();
        }
        assert!(dictionary.set(b"a", text(&large), None, 9.0).is_err());
        assert_eq!(dictionary.get(b"a", 9.0), None);
        // What has expired makes room.
        dictionary.set(b"a", text(&large), None, 10.0).unwrap();
        assert_eq!(dictionary.bytes, 1 + (1 << 20) + ENTRY_BYTES);
        dictionary.set(b"a", Entry::Number(1.0), None, 10.0).unwrap();
        dictionary.remove(b"a");
        assert_eq!((dictionary.bytes, dictionary.entries.len()), (0, 0));
    }
}
