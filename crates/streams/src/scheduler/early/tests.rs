use super::*;

#[test]
fn early_priorities_are_of_requests_to_come() {
    let id = StreamId::new;
    let (one, two) = (Priority { urgency: 1, incremental: false }, Priority { urgency: 2, incremental: true });
    let mut early = EarlyPriorities::new();
    assert_eq!(early.take(id(1)), None);
    for (stream, priority) in [(5, one), (3, one), (9, two), (3, two)] {
        assert_eq!(early.keep(id(stream), priority, 0, 3), Ok(()));
    }
    assert_eq!(early.len(), 3, "the last word counts");
    assert_eq!(early.take(id(1)), None);
    assert_eq!(early.take(id(3)), Some(two));
    assert_eq!(early.take(id(3)), None);
    assert_eq!(early.take(id(7)), None);
    assert_eq!(early.len(), 1, "5 can never open");
    assert_eq!(early.take(id(9)), Some(two));
    assert!(early.is_empty());
}

#[test]
fn no_more_early_priorities_than_streams() {
    let id = StreamId::new;
    let mut early = EarlyPriorities::new();
    for stream in [1, 3, 5] {
        assert_eq!(early.keep(id(stream), Priority::DEFAULT, 97, 100), Ok(()));
    }
    assert_eq!(early.keep(id(7), Priority::DEFAULT, 97, 100), Err(TooManyPriorities));
    assert_eq!(early.keep(id(5), Priority::DEFAULT, 97, 100), Ok(()), "it is among them");
    assert_eq!(early.keep(id(7), Priority::DEFAULT, 96, 100), Ok(()));
    assert_eq!(early.keep(id(9), Priority::DEFAULT, 0, 0), Err(TooManyPriorities));
}

#[test]
#[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
fn a_flood_of_early_priorities_is_bounded() {
    let mut early = EarlyPriorities::new();
    for stream in (1..100_000).rev() {
        assert_eq!(early.keep(StreamId::new(stream), Priority::DEFAULT, 0, usize::MAX), Ok(()));
        assert!(early.len() <= EarlyPriorities::MOST);
    }
    for stream in 1..=EarlyPriorities::MOST as u32 {
        assert_eq!(early.take(StreamId::new(stream)), Some(Priority::DEFAULT), "the next to open are kept");
    }
    assert!(early.is_empty());
}
