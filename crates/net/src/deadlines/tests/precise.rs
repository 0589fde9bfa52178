//! Deadlines that are kept to the millisecond.

use super::*;

/// Deadlines, and the time that they read.
fn at_hand() -> (Deadlines, Rc<Cell<Duration>>) {
    let time = Rc::new(Cell::new(Duration::from_secs(1000)));
    let source = Rc::clone(&time);
    (Deadlines::with_source(move || source.get()), time)
}

fn pass(time: &Cell<Duration>, passed: Duration) {
    time.set(time.get() + passed);
}

const MILLISECOND: Duration = Duration::from_millis(1);

#[test]
fn a_short_deadline_expires_at_its_moment_and_not_with_ticks() {
    for after in [0, 1, 50, 100, 500, 999, 2000, 3999].map(Duration::from_millis) {
        let (deadlines, time) = at_hand();
        let (deadline, count) = (deadlines.register(), Arc::new(Count::default()));
        pass(&time, Duration::from_micros(300));
        deadline.set(after);
        assert!(poll(&deadline, &count).is_pending());
        (0..100).for_each(|_| deadlines.tick());
        if !after.is_zero() {
            pass(&time, after - Duration::from_nanos(1));
            deadlines.expire_precise();
            assert!(poll(&deadline, &count).is_pending(), "{after:?}");
            pass(&time, Duration::from_nanos(1));
        }
        deadlines.expire_precise();
        assert!(poll(&deadline, &count).is_ready() && count.woken() == 1, "{after:?}");
    }
}

#[test]
fn a_long_deadline_goes_by_ticks() {
    let (deadlines, time) = at_hand();
    let deadline = deadlines.register();
    deadline.set(PRECISE_BELOW);
    pass(&time, 2 * PRECISE_BELOW);
    deadlines.expire_precise();
    assert!(!deadline.is_expired());
    assert_eq!(ticks_until_expired(&deadlines, &deadline), 17);
}

#[test]
fn the_latest_setting_counts_whichever_kind_it_is() {
    let (short, long) = (10 * MILLISECOND, Duration::from_secs(10));
    let (deadlines, time) = at_hand();
    let deadline = deadlines.register();
    let expires = |time: &Cell<Duration>| {
        pass(time, 20 * MILLISECOND);
        deadlines.expire_precise();
        deadline.is_expired()
    };
    deadline.set(short);
    deadline.set(long);
    assert!(!expires(&time));
    deadline.set(short);
    deadline.clear();
    assert!(!expires(&time));
    deadline.set(short);
    deadline.set(100 * MILLISECOND);
    assert!(!expires(&time));
    deadline.set(long);
    deadline.set(short);
    assert!(expires(&time));
    deadline.set(short);
    assert!(!deadline.is_expired() && expires(&time));
}

#[test]
fn the_timer_runs_for_the_earliest_and_rests_without_one() {
    let (deadlines, time) = at_hand();
    let left = || deadlines.table.precision.time_left();
    let [first, second, third] = std::array::from_fn(|_| deadlines.register());
    assert_eq!(left(), None);
    second.set(200 * MILLISECOND);
    first.set(100 * MILLISECOND);
    third.set(Duration::from_secs(60));
    assert_eq!(left(), Some(100 * MILLISECOND));
    // A deadline that was postponed does not expire at its earlier time.
    first.set(300 * MILLISECOND);
    pass(&time, 100 * MILLISECOND);
    deadlines.expire_precise();
    assert!(!first.is_expired());
    assert_eq!(left(), Some(100 * MILLISECOND));
    second.clear();
    pass(&time, 100 * MILLISECOND);
    deadlines.expire_precise();
    assert_eq!(left(), Some(100 * MILLISECOND));
    drop(first);
    pass(&time, 100 * MILLISECOND);
    deadlines.expire_precise();
    assert_eq!(left(), None);
}

#[test]
fn a_place_that_is_used_again_has_nothing_of_its_last_owner() {
    let (deadlines, time) = at_hand();
    deadlines.register().set(10 * MILLISECOND);
    let next = deadlines.register();
    next.set(30 * MILLISECOND);
    pass(&time, 20 * MILLISECOND);
    deadlines.expire_precise();
    assert!(!next.is_expired());
    pass(&time, 10 * MILLISECOND);
    deadlines.expire_precise();
    assert!(next.is_expired());
}

#[test]
fn any_order_of_settings_expires_each_in_its_millisecond() {
    let (deadlines, time) = at_hand();
    let several: Vec<_> = (0..700).map(|_| deadlines.register()).collect();
    let mut due: Vec<Option<u32>> = vec![None; several.len()];
    let mut state = 7u32;
    let mut random = move |below: u32| {
        // Numerical Recipes' generator, as for ticks.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    for now in 0..500 {
        for _ in 0..50 {
            let place = random(700) as usize;
            match random(6) {
                0 => several[place].clear(),
                1 => several[place].set(Duration::from_secs(100)),
                _ => {
                    let after = 1 + random(100);
                    several[place].set(MILLISECOND * after);
                    due[place] = Some(now + after);
                    continue;
                }
            }
            due[place] = None;
        }
        pass(&time, MILLISECOND);
        deadlines.expire_precise();
        for (deadline, due) in several.iter().zip(&due) {
            assert_eq!(deadline.is_expired(), due.is_some_and(|due| due <= now + 1), "after {now} ms");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_driver_is_never_early_and_a_few_milliseconds_late() {
    for after in [1, 50, 100, 249, 251, 500, 2000, 3999].map(Duration::from_millis) {
        for before in [0, 1, 100, 249].map(Duration::from_millis) {
            let deadlines = tokio_deadlines();
            let driven = deadlines.clone();
            let test = async move {
                let driver = spawn_local(async move { driven.run(&counting_clock().0).await });
                let [deadline, other] = std::array::from_fn(|_| deadlines.register());
                other.set(Duration::from_secs(100));
                sleep(before).await;
                deadline.set(after);
                let began = tokio::time::Instant::now();
                deadline.expired().await;
                let late = began.elapsed().checked_sub(after).expect("not early");
                assert!(late <= 4 * MILLISECOND, "{after:?}, {before:?} behind a tick: {late:?} late");
                driver.abort();
            };
            LocalSet::new().run_until(test).await;
        }
    }
}
