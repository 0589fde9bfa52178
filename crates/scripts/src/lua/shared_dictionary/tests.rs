//! The dictionary against a model, damaged, and in several processes.

mod model;
mod processes;

use super::{
    layout::{ENTRY_BYTES, MEMORY_BYTES},
    *,
};

fn text(text: &str) -> Entry {
    Entry::Text(text.as_bytes().into())
}

fn own() -> Dictionary {
    Dictionary::new(own_table().unwrap())
}

impl Dictionary {
    fn bytes(&self) -> usize {
        self.inner.lock().unwrap().table.bytes()
    }
}

#[test]
fn values_live_as_long_as_they_may() {
    let dictionary = own();
    let get = |name: &str, now| dictionary.get(name.as_bytes(), now).unwrap();
    dictionary.set(b"a", &text("1"), Some(10.0), 0.0).unwrap();
    dictionary.set(b"b", &Entry::Number(1.0), None, 0.0).unwrap();
    assert_eq!(get("a", 9.9), Some(text("1")));
    assert_eq!(get("a", 10.0), None);
    assert_eq!(get("b", 1e9), Some(Entry::Number(1.0)));
    assert_eq!(dictionary.add(b"b", 2.0, Some(5.0), 4.0), Ok(3.0));
    assert_eq!(dictionary.add(b"c", 2.0, Some(5.0), 4.0), Ok(2.0));
    assert_eq!(dictionary.add(b"c", 2.0, Some(99.0), 4.9), Ok(4.0), "the first addition decides about the lifetime");
    assert_eq!(dictionary.add(b"c", 2.0, Some(9.0), 5.0), Ok(2.0));
    let error = dictionary.add(b"a", 1.0, None, 9.0).unwrap_err();
    assert_eq!(error, "serow.shared: \"a\" is a text, to which nothing can be added");
    assert_eq!(dictionary.add(b"a", 1.0, None, 10.0), Ok(1.0));
}

#[test]
fn memory_is_bounded_and_counted() {
    let dictionary = own();
    let large = "x".repeat(1 << 20);
    for number in 0..15 {
        dictionary.set(format!("{number}").as_bytes(), &text(&large), Some(10.0), 0.0).unwrap();
    }
    let error = dictionary.set(b"a", &text(&large), None, 9.0).unwrap_err();
    assert!(error.starts_with("serow.shared is full: it has 16777216 bytes; give entries a lifetime"), "{error}");
    assert_eq!(dictionary.get(b"a", 9.0), Ok(None));
    // An entry that has expired makes room.
    dictionary.set(b"a", &text(&large), None, 10.0).unwrap();
    assert_eq!(dictionary.bytes(), 1 + (1 << 20) + ENTRY_BYTES);
    dictionary.set(b"a", &Entry::Number(1.0), None, 10.0).unwrap();
    dictionary.remove(b"a").unwrap();
    assert_eq!((dictionary.bytes(), dictionary.get(b"a", 10.0)), (0, Ok(None)));
    assert!(dictionary.set(b"a", &text(&"x".repeat(17 << 20)), None, 11.0).is_err());
}

#[test]
fn the_smallest_entries_fill_the_limit() {
    let dictionary = own();
    let count = (0..).find(|number: &u32| dictionary.add(&number.to_ne_bytes(), 1.0, Some(1.0), 0.0).is_err()).unwrap();
    assert_eq!(count as usize, layout::MAX_BYTES / (ENTRY_BYTES + 4));
    assert!((0..count).all(|number| dictionary.get(&number.to_ne_bytes(), 0.0) == Ok(Some(Entry::Number(1.0)))));
    // All of them have expired.
    assert_eq!(dictionary.add(b"a", 1.0, None, 2.0), Ok(1.0));
    assert_eq!(dictionary.bytes(), ENTRY_BYTES + 1);
}

#[test]
fn values_that_change_their_length_for_ever_do_not_fill_the_memory() {
    let dictionary = own();
    dictionary.set(b"kept", &text("kept"), None, 0.0).unwrap();
    for round in 0..20 {
        let value = text(&"x".repeat((12 << 20) + 8 * round));
        dictionary.set(b"a", &value, None, 0.0).unwrap();
        assert!(dictionary.get(b"a", 0.0) == Ok(Some(value)), "{round}");
    }
    assert_eq!(dictionary.get(b"kept", 0.0), Ok(Some(text("kept"))));
}

#[test]
fn an_interrupted_change_clears_the_table() {
    let dictionary = own();
    dictionary.set(b"a", &text("1"), None, 0.0).unwrap();
    layout::mark(dictionary.inner.lock().unwrap().table.memory(), true).unwrap();
    assert_eq!(dictionary.get(b"a", 0.0), Ok(None));
    dictionary.set(b"a", &text("2"), None, 0.0).unwrap();
    assert_eq!(dictionary.get(b"a", 0.0), Ok(Some(text("2"))));
    assert_eq!(dictionary.bytes(), 1 + 1 + ENTRY_BYTES);
}

#[test]
fn a_bucket_without_an_end_clears_the_table() {
    let dictionary = own();
    dictionary.set(b"a", &text("1"), None, 0.0).unwrap();
    {
        // The first entry follows itself, in all buckets.
        let inner = dictionary.inner.lock().unwrap();
        let (memory, first) = (inner.table.memory(), layout::ENTRIES);
        layout::write_link(memory, first + size_of::<u32>(), first as u32).unwrap();
        let buckets = (0..layout::BUCKETS as u64).map(layout::bucket_place);
        buckets.for_each(|bucket| layout::write_link(memory, bucket, first as u32).unwrap());
    }
    assert_eq!(dictionary.get(b"b", 0.0), Ok(None));
    assert_eq!(dictionary.get(b"a", 0.0), Ok(None), "it was cleared");
}

#[test]
fn memory_of_another_kind_is_refused() {
    assert!(Table::new(SharedMemory::anonymous(MEMORY_BYTES - 1).unwrap()).is_none());
    let dictionary = own();
    dictionary.set(b"a", &text("1"), None, 0.0).unwrap();
    let memory = SharedMemory::anonymous(MEMORY_BYTES).unwrap();
    let mut format = [0; 8];
    dictionary.inner.lock().unwrap().table.memory().read(0, &mut format).unwrap();
    let another = (u64::from_ne_bytes(format) + 1).to_ne_bytes();
    memory.write(0, &another).unwrap();
    assert!(Table::new(memory).is_none());
}

#[test]
fn without_shared_memory_each_process_has_a_dictionary_and_a_warning() {
    let short = SharedMemory::file(MEMORY_BYTES / 2).unwrap();
    for (file, expected) in [
        (None, Some("the master has no memory for it")),
        (Some(short), Some("another version of Serow")),
        (Some(SharedMemory::file(MEMORY_BYTES).unwrap()), None),
    ] {
        let dictionary = open(file).unwrap();
        let warning = dictionary.inner.lock().unwrap().warning.clone();
        assert_eq!(warning.is_some(), expected.is_some());
        assert!(warning.unwrap_or_default().contains(expected.unwrap_or_default()));
        assert_eq!(dictionary.add(b"a", 1.0, None, 0.0), Ok(1.0));
    }
}
