//! Outcomes of requests, and the resulting states.

use std::time::Duration;

use serow_net::Moment;

use super::{Ejection, EjectionChange, Outcome, Outlier, PassiveSettings, Reason};

const SETTINGS: PassiveSettings = PassiveSettings { failures: 3, ejection: Duration::from_secs(10) };

/// At this second.
fn at(second: u64) -> Moment {
    Moment::from_milliseconds(second * 1000)
}

/// Requests with this outcome at this second; returns the last change.
fn note(outlier: &Outlier, outcome: Outcome, count: usize, second: u64) -> Option<EjectionChange> {
    (0..count).map(|_| outlier.note(outcome, at(second), &SETTINGS, || true)).last().flatten()
}

fn failures(outlier: &Outlier, count: usize, second: u64) -> Option<Ejection> {
    match note(outlier, Outcome::Failure, count, second) {
        Some(EjectionChange::Ejected(ejection)) => Some(ejection),
        Some(EjectionChange::Recovered) => panic!("a failure is no recovery"),
        None => None,
    }
}

fn successes(outlier: &Outlier, count: usize, second: u64) {
    assert_eq!(note(outlier, Outcome::Success, count, second), None);
}

fn recovery(outlier: &Outlier, second: u64) {
    assert_eq!(note(outlier, Outcome::Success, 1, second), Some(EjectionChange::Recovered));
}

/// Requests, one per second (`+` success, `-` failure, `.` none), and the reason for the ejection at the end.
#[test]
fn requests_decide() {
    let half = format!("-{}", "+-".repeat(10));
    let fewer_than_half = format!("-{}++", "-++".repeat(9));
    let too_few = format!("-{}", "+-".repeat(8));
    let too_slow = format!("-{}..........{}", "+-".repeat(6), "+-".repeat(6));
    let cases = [
        ("", None),
        ("+++", None),
        ("--", None),
        ("---", Some(Reason::Row(3))),
        ("--+--", None),
        ("--+---", Some(Reason::Row(3))),
        ("-.....-.....-", Some(Reason::Row(3))),
        // A row is a row, however slow.
        ("-....................-....................-", Some(Reason::Row(3))),
        (&half, Some(Reason::Rate(11, 21))),
        (&fewer_than_half, None),
        (&too_few, None),
        (&too_slow, None),
    ];
    for (requests, expected) in cases {
        let (outlier, mut second) = (Outlier::default(), 1);
        let mut ejection = None;
        for request in requests.chars() {
            match request {
                '+' => successes(&outlier, 1, second),
                '-' => ejection = failures(&outlier, 1, second),
                _ => second += 1,
            }
        }
        assert_eq!(ejection.map(|ejection| ejection.reason), expected, "{requests}");
        assert_eq!(outlier.is_ejected(at(second)), expected.is_some(), "{requests}");
        assert_eq!(outlier.ejection(), ejection, "{requests}");
    }
}

#[test]
fn none_is_left_alone_where_that_is_off() {
    let outlier = Outlier::default();
    for second in 0..100 {
        let off = PassiveSettings { failures: 0, ..SETTINGS };
        assert_eq!(outlier.note(Outcome::Failure, at(second), &off, || true), None);
        assert!(!outlier.is_ejected(at(second)));
    }
}

#[test]
fn a_server_that_the_others_cannot_do_without_stays() {
    let outlier = Outlier::default();
    for _ in 0..5 {
        assert_eq!(outlier.note(Outcome::Failure, at(1), &SETTINGS, || false), None);
        assert!(!outlier.is_ejected(at(1)));
    }
    // As soon as they can, it goes.
    assert_eq!(failures(&outlier, 1, 2).map(|ejection| ejection.reason), Some(Reason::Row(6)));
}

#[test]
fn one_request_at_a_time_is_a_trial() {
    let outlier = Outlier::default();
    assert!(!outlier.begin_trial());
    failures(&outlier, 3, 1);
    assert!(outlier.is_ejected(at(10)));
    assert!(!outlier.begin_trial());
    // Outcomes of earlier requests do not count any more.
    successes(&outlier, 5, 5);
    assert_eq!(failures(&outlier, 5, 5), None);
    assert!(outlier.is_ejected(at(10)));

    assert!(!outlier.is_ejected(at(11)));
    assert!(outlier.begin_trial());
    assert!(outlier.is_ejected(at(11)));
    assert!(!outlier.begin_trial());
    // Its client left: the next request is the trial.
    outlier.end_trial();
    assert!(!outlier.is_ejected(at(12)));
    assert!(outlier.begin_trial());
    recovery(&outlier, 13);
    outlier.end_trial();
    assert!(!outlier.is_ejected(at(13)));
    assert!(!outlier.begin_trial());
    assert_eq!((outlier.ejection(), outlier.recovered()), (None, Some(at(13))));
}

#[test]
fn each_ejection_in_a_row_is_longer() {
    let (outlier, mut second) = (Outlier::default(), 1);
    failures(&outlier, 3, second);
    for length in [10, 20, 40, 80, 100, 100] {
        let ejection = outlier.ejection().unwrap();
        assert_eq!(ejection.length, Duration::from_secs(length));
        // All the time it is one story.
        assert_eq!(ejection.since, at(1));
        assert!(outlier.is_ejected(at(second + length - 1)));
        second += length;
        assert!(!outlier.is_ejected(at(second)));
        assert!(outlier.begin_trial());
        assert_eq!(failures(&outlier, 1, second).map(|ejection| ejection.reason), Some(Reason::Trial));
        outlier.end_trial();
    }
}

/// A server that fails soon after its recovery continues with the previous length; later, it starts over.
#[test]
fn a_server_that_was_well_for_long_begins_anew() {
    for (well, length) in [(9, 20), (10, 10)] {
        let outlier = Outlier::default();
        failures(&outlier, 3, 1);
        assert!(!outlier.is_ejected(at(11)));
        recovery(&outlier, 11);
        let ejection = failures(&outlier, 3, 11 + well).unwrap();
        assert_eq!((ejection.length, ejection.since), (Duration::from_secs(length), at(11 + well)));
    }
}

#[test]
fn a_server_that_is_found_well_by_other_means_is_tried_at_once() {
    let outlier = Outlier::default();
    outlier.shorten();
    assert!(!outlier.begin_trial());
    failures(&outlier, 3, 1);
    outlier.shorten();
    assert!(!outlier.is_ejected(at(1)));
    assert!(outlier.begin_trial());
    assert!(outlier.is_ejected(at(1)));
    recovery(&outlier, 1);
    assert!(!outlier.is_ejected(at(1)));
}
