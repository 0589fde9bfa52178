use super::*;
use crate::StreamId;

fn class(key: u64) -> u64 {
    Class(3).key(StreamId::new(key as u32))
}

#[test]
#[cfg_attr(miri, ignore = "a long loop: minutes under Miri")]
fn keys_are_in_order_whatever_they_are_kept_in() {
    let mut keys = Keys::default();
    // In an order that is none.
    let scattered = |number: u64| number * 7919 % 1009;
    for number in 0..1009 {
        assert!(keys.insert(class(scattered(number))));
        assert!(!keys.insert(class(scattered(number))), "it is there");
        let mut present: Vec<_> = (0..=number).map(|number| class(scattered(number))).collect();
        present.sort_unstable();
        assert_eq!((keys.len(), keys.first()), (present.len(), Some(present[0])));
        for probe in [0, 1, 500, 1008, 2000].map(class) {
            assert_eq!(keys.from(probe), present.iter().copied().find(|&key| key >= probe));
            assert_eq!(keys.below(probe), present.iter().rev().copied().find(|&key| key < probe));
        }
    }
    assert!(matches!(keys, Keys::Many(_)));
    assert!(!keys.remove(class(5000)));
    for number in 0..1009 {
        assert!(keys.remove(class(scattered(number))));
        assert!(!keys.remove(class(scattered(number))), "it is gone");
        assert_eq!(keys.len() as u64, 1008 - number);
        assert_eq!(keys.from(0), (number + 1..1009).map(|number| class(scattered(number))).min());
    }
    assert!(matches!(&keys, Keys::Few(list) if list.capacity() <= KEPT), "little is kept");
}

#[test]
fn little_is_kept_between_requests() {
    let mut keys = Keys::default();
    let mut most = 0;
    for round in 0..FEW as u64 {
        (0..=round).for_each(|number| assert!(keys.insert(number)));
        (0..=round).for_each(|number| assert!(keys.remove(number)));
        let Keys::Few(list) = &keys else { panic!("a tree for {round}") };
        assert!(list.capacity() <= KEPT);
        most = most.max(list.capacity());
    }
    assert_eq!(most, KEPT, "but so much");
}

#[test]
fn a_set_does_not_go_to_and_fro() {
    let mut keys = Keys::default();
    (0..=FEW as u64).for_each(|number| assert!(keys.insert(number)));
    for _ in 0..10 {
        assert!(keys.remove(0) && keys.remove(1));
        assert!(matches!(keys, Keys::Many(_)));
        assert!(keys.insert(0) && keys.insert(1));
    }
    (FEW_AGAIN as u64 - 1..=FEW as u64).for_each(|number| assert!(keys.remove(number)));
    assert!(matches!(keys, Keys::Few(_)));
}
