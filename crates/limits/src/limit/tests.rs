use super::*;

const SECOND: u64 = 1_000_000_000;

fn limit(rate: &str, burst: u32, delay: Delay) -> Limit {
    Limit::new(rate.parse().unwrap()).with_burst(burst).with_delay(delay)
}

/// The outcomes of requests at these times, in tenths of a second: the tenths that they wait; `None` if they are
/// refused.
fn outcomes(limit: Limit, times: &[u64]) -> Vec<Option<u64>> {
    let mut end = 0;
    let mut decide = |time: u64| {
        let (new_end, decision) = limit.decide(end, 1, time * SECOND / 10 + SECOND);
        end = new_end;
        match decision {
            Decision::Allowed { wait, .. } => Some(u64::try_from(wait.as_millis() / 100).unwrap()),
            Decision::Refused { .. } => None,
        }
    };
    times.iter().map(|time| decide(*time)).collect()
}

#[test]
fn the_three_behaviours_of_nginx() {
    let at_once = [0; 8];
    for (burst, delay, times, expected) in [
        (0, Delay::Never, &at_once[..3], vec![Some(0), None, None]),
        (0, Delay::Never, &[0, 9, 10, 19, 20], vec![Some(0), None, Some(0), None, Some(0)]),
        (2, Delay::Never, &at_once[..5], vec![Some(0), Some(0), Some(0), None, None]),
        (3, Delay::After(0), &at_once[..5], vec![Some(0), Some(10), Some(20), Some(30), None]),
        (3, Delay::After(2), &at_once[..5], vec![Some(0), Some(0), Some(0), Some(10), None]),
        (3, Delay::After(9), &at_once[..5], vec![Some(0), Some(0), Some(0), Some(0), None]),
        (
            2,
            Delay::Never,
            &[0, 0, 0, 5, 10, 10, 30, 30, 30, 30],
            vec![Some(0), Some(0), Some(0), None, Some(0), None, Some(0), Some(0), None, None],
        ),
    ] {
        assert_eq!(outcomes(limit("1/s", burst, delay), times), expected, "{burst} {delay:?} {times:?}");
    }
}

#[test]
fn decisions_say_what_is_left_and_when_to_come_again() {
    let limit = limit("2/s", 2, Delay::Never);
    let mut end = 0;
    let mut decide = |cost, now| {
        let (new_end, decision) = limit.decide(end, cost, now);
        end = new_end;
        decision
    };
    let allowed =
        |remaining, reset| Decision::Allowed { wait: Duration::ZERO, remaining, reset: Duration::from_millis(reset) };
    assert_eq!(decide(1, SECOND), allowed(2, 500));
    assert_eq!(decide(2, SECOND), allowed(0, 1500));
    assert_eq!(decide(1, SECOND), Decision::Refused { retry_after: Duration::from_millis(500) });
    assert_eq!(decide(2, SECOND * 3 / 2), Decision::Refused { retry_after: Duration::from_millis(500) });
    assert_eq!(decide(1, SECOND * 3 / 2), allowed(0, 1500));
    assert_eq!(decide(0, SECOND * 3 / 2), allowed(0, 1500));
    assert_eq!(decide(4, SECOND * 9), Decision::Refused { retry_after: Duration::from_millis(500) });
    assert_eq!(decide(3, SECOND * 9), allowed(0, 1500));
}

#[test]
fn later_charges_are_bounded_and_can_be_given_back() {
    let limit = limit("1/s", 4, Delay::Never);
    for (end, cost, now, expected) in [
        (0, 1, 10, 11),
        (10, 1, 10, 11),
        (12, 3, 10, 15),
        (12, 100, 10, 20),
        (25, 1, 10, 25),
        (12, -1, 10, 11),
        (12, -100, 10, 0),
        (12, 0, 10, 12),
    ] {
        assert_eq!(limit.charge(end * SECOND, cost, now * SECOND), expected * SECOND, "{end} {cost} {now}");
    }
}

#[test]
fn a_request_that_stands_for_others_takes_their_time_too() {
    for (burst, weight, times, expected) in [
        // A tenth of 10/s, and never nothing at all.
        (0, 10, &[0, 0, 9, 10, 19, 20][..], vec![true, false, false, true, false, true]),
        (19, 10, &[0, 0, 0, 10, 10], vec![true, true, false, true, false]),
        (1, 1, &[0, 0, 0, 1], vec![true, true, false, true]),
    ] {
        let limit = limit("10/s", burst, Delay::Never);
        let mut end = 0;
        let outcomes = times.iter().map(|time| {
            let now = time * SECOND / 10 + SECOND;
            let (new_end, decision) = limit.decide_for_others(end, 1, Weight::ratio(weight, 1), now);
            end = new_end;
            decision.is_allowed()
        });
        assert_eq!(outcomes.collect::<Vec<_>>(), expected, "{burst} {weight}");
    }
}

#[test]
fn extreme_values_do_not_overflow() {
    for rate in ["1/d", "1000000000/s"] {
        for burst in [0, u32::MAX] {
            for delay in [Delay::Never, Delay::After(u32::MAX)] {
                for end in [0, u64::MAX] {
                    for now in [0, u64::MAX] {
                        let limit = limit(rate, burst, delay);
                        let _ = limit.decide(end, u32::MAX, now);
                        let _ = limit.decide_for_others(end, u32::MAX, Weight::MAX, now);
                        let _ = limit.charge(end, i32::MIN, now);
                        let _ = limit.charge(end, i32::MAX, now);
                    }
                }
            }
        }
    }
}
