//! The order of streams is tested in tests/suite/scheduler.rs.

use super::*;

#[test]
fn classes_do_not_touch() {
    let mut keys = Keys::default();
    let (first, last) = (StreamId::CONNECTION, StreamId::MAX);
    for number in 0..=16 {
        assert!(!keys.contains_any(Class(number)));
        keys.insert(Class(number).key(last));
        assert!(keys.contains_any(Class(number)) && !keys.contains_any(Class(number + 1)));
        assert_eq!(keys.below(Class(number).end_key()), Some(Class(number).key(last)));
        keys.insert(Class(number).key(first));
        assert_eq!(keys.from(Class(number).first_key()), Some(Class(number).key(first)));
    }
    let mut ring = Ring::NEW;
    ring.note(&keys, Class(3), last, TURN);
    assert_eq!(ring.next(&keys, Class(3)), Some(first), "the key behind the last is none of the next class");
}

#[test]
fn a_scheduler_is_small() {
    assert!(size_of::<Scheduler>() <= 48, "{}", size_of::<Scheduler>());
}
