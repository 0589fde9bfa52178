//! The journal of one server, without Redis.

use super::*;

const NOW: u64 = 1_000_000 * SECOND;

fn journal() -> FleetJournal {
    FleetJournal::new(ServerId(1))
}

fn entry(subject: &str, micros: u64, server: u64) -> JournalEntry {
    let stamp = Stamp { micros, server: ServerId(server) };
    JournalEntry { subject: subject.to_owned(), stamp, expires: None, command: "x".to_owned() }
}

#[test]
fn a_later_command_takes_the_place_of_an_earlier_one() {
    let mut journal = journal();
    journal.receive(entry("a", 5, 2), NOW);
    journal.receive(entry("a", 5, 3), NOW);
    journal.receive(entry("a", 4, 9), NOW);
    assert_eq!(journal.next_waiting(), Some(entry("a", 5, 3)));
    let mut given = |now| {
        let entry = journal.prepare("a", "y".to_owned(), None, now).unwrap();
        journal.add_given(entry.clone());
        entry.stamp.micros
    };
    // With a clock that is behind.
    assert_eq!((given(3), given(NOW)), (6, NOW));
    assert_eq!((journal.next_waiting(), journal.entries().len()), (None, 1));
}

#[test]
fn an_outcome_counts_for_its_command_only() {
    let mut journal = journal();
    journal.receive(entry("a", 5, 2), NOW);
    let first = journal.next_waiting().unwrap();
    journal.receive(entry("a", 6, 2), NOW);
    assert!(!journal.note_outcome(&first, EntryState::Applied));
    let second = journal.next_waiting().unwrap();
    assert!(journal.note_outcome(&second, EntryState::Refused("why".to_owned())));
    assert_eq!((journal.next_waiting(), journal.counts().refused), (None, 1));
    assert_eq!(journal.counts().last_refusal, Some(("a".to_owned(), "why".to_owned())));
    assert_eq!((journal.retry_refused(), journal.next_waiting()), (1, Some(second)));
}

#[test]
fn commands_that_are_too_long_too_many_or_of_the_future_are_not_taken() {
    let mut journal = journal();
    for (subject, command, expected) in [
        ("", "x", JournalError::Invalid),
        ("a b", "x", JournalError::Invalid),
        ("a", "", JournalError::Invalid),
        ("a", "x\n", JournalError::Invalid),
        ("a", &"x".repeat(MAX_COMMAND + 1), JournalError::TooLong),
    ] {
        assert_eq!(journal.prepare(subject, command.to_owned(), None, NOW), Err(expected), "{subject:?}");
    }
    journal.receive(entry("a", NOW + MAX_AHEAD + SECOND, 2), NOW);
    assert_eq!((journal.counts().ahead, journal.counts().seconds_ahead), (1, 3601));
    for number in 0..=MAX_ENTRIES {
        journal.receive(entry(&number.to_string(), 5, 2), NOW);
    }
    assert_eq!((journal.entries().len(), journal.counts().invalid), (MAX_ENTRIES, 1));
    assert_eq!(journal.check("another", "x"), Err(JournalError::Full));
    assert_eq!(journal.check("7", "y"), Ok(()));
}

#[test]
fn the_bytes_of_all_entries_are_bounded() {
    let mut journal = journal();
    let long = "x".repeat(MAX_COMMAND);
    let mut given = 0;
    while journal.check(&given.to_string(), &long).is_ok() {
        let entry = journal.prepare(&given.to_string(), long.clone(), None, NOW).unwrap();
        journal.add_given(entry);
        given += 1;
    }
    assert_eq!(given, MAX_BYTES / (MAX_COMMAND + 3));
    // In the place of another one, as many fit again.
    assert_eq!(journal.check("0", &long), Ok(()));
}

#[test]
fn a_command_stays_at_least_as_long_as_the_one_that_it_replaces() {
    let mut journal = journal();
    let mut expires = |life| {
        let entry = journal.prepare("a", "x".to_owned(), life, NOW).unwrap();
        journal.add_given(entry.clone());
        entry.expires
    };
    assert_eq!(expires(Some(100)), Some(1_000_100));
    assert_eq!(expires(Some(10)), Some(1_000_100));
    assert_eq!((expires(None), expires(Some(10))), (None, Some(1_000_010)));
    assert_eq!((journal.remove_expired(NOW + 9 * SECOND), journal.remove_expired(NOW + 10 * SECOND)), (0, 1));
    journal.receive(JournalEntry { expires: Some(5), ..entry("b", 5, 2) }, NOW);
    assert_eq!(journal.entries(), Vec::<&HeldEntry>::new());
}
