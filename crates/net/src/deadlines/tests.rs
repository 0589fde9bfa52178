use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;
use std::time::Instant;

use tokio::task::{LocalSet, spawn_local};
use tokio::time::sleep;

use super::*;
use crate::clock::Reading;

mod precise;

/// A waker that counts.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    fn woken(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn poll(deadline: &Deadline, count: &Arc<Count>) -> Poll<()> {
    deadline.poll_expired(&mut Context::from_waker(&Waker::from(Arc::clone(count))))
}

/// How many ticks pass until `deadline` is expired, and whether the task is woken then and not before.
fn ticks_until_expired(deadlines: &Deadlines, deadline: &Deadline) -> u32 {
    let count = Arc::new(Count::default());
    (0..1000)
        .find(|_| {
            let ready = poll(deadline, &count).is_ready();
            assert_eq!(count.woken(), usize::from(ready));
            if !ready {
                deadlines.tick();
            }
            ready
        })
        .expect("expires")
}

#[test]
fn a_deadline_is_never_early_and_at_most_a_tick_late() {
    let cases = [
        (Duration::ZERO, 1),
        (Duration::from_nanos(1), 2),
        (TICK, 2),
        (TICK + Duration::from_nanos(1), 3),
        (Duration::from_millis(950), 5),
        (Duration::from_secs(1), 5),
        (Duration::from_secs(60), 241),
    ];
    // A tick may come right after `set`, so the first says nothing of the time that has passed.
    for (after, expected) in cases {
        let deadlines = Deadlines::new();
        let deadline = deadlines.register();
        deadline.set_roughly(after);
        assert_eq!(ticks_until_expired(&deadlines, &deadline), expected, "{after:?}");
    }
}

#[test]
fn the_latest_setting_counts() {
    let deadlines = Deadlines::new();
    let deadline = deadlines.register();
    deadline.set_roughly(TICK);
    for _ in 0..50 {
        deadline.set_roughly(3 * TICK);
        deadlines.tick();
        assert!(!deadline.is_expired());
    }
    assert_eq!(ticks_until_expired(&deadlines, &deadline), 3);
    deadline.set_roughly(10 * TICK);
    deadline.set_roughly(TICK);
    assert_eq!(ticks_until_expired(&deadlines, &deadline), 2);
}

#[test]
fn a_cleared_one_does_not_expire() {
    let deadlines = Deadlines::new();
    let (deadline, count) = (deadlines.register(), Arc::new(Count::default()));
    for clear in [false, true] {
        if clear {
            deadline.set_roughly(TICK);
            deadline.clear();
        }
        (0..10).for_each(|_| deadlines.tick());
        assert!(poll(&deadline, &count).is_pending());
    }
    deadline.set_roughly(TICK);
    assert_eq!(ticks_until_expired(&deadlines, &deadline), 2);
    deadline.clear();
    assert!(poll(&deadline, &count).is_pending());
    assert_eq!(count.woken(), 0);
}

#[test]
fn an_expired_one_stays_so_and_wakes_once() {
    let deadlines = Deadlines::new();
    let (deadline, count) = (deadlines.register(), Arc::new(Count::default()));
    deadline.set_roughly(TICK);
    assert!(poll(&deadline, &count).is_pending());
    (0..10).for_each(|_| deadlines.tick());
    assert!(poll(&deadline, &count).is_ready());
    assert!(poll(&deadline, &count).is_ready());
    assert_eq!(count.woken(), 1);
}

#[test]
fn a_poll_from_the_same_task_stores_nothing_and_the_last_task_is_woken() {
    let deadlines = Deadlines::new();
    let (deadline, first, last) = (deadlines.register(), Arc::new(Count::default()), Arc::new(Count::default()));
    deadline.set_roughly(TICK);
    let waker = Waker::from(Arc::clone(&first));
    for _ in 0..5 {
        assert!(deadline.poll_expired(&mut Context::from_waker(&waker)).is_pending());
        assert_eq!(Arc::strong_count(&first), 3, "ours, the waker's, the stored one's");
    }
    assert!(poll(&deadline, &last).is_pending());
    assert_eq!(Arc::strong_count(&first), 2);
    (0..2).for_each(|_| deadlines.tick());
    assert_eq!((first.woken(), last.woken()), (0, 1));
}

#[test]
fn places_are_used_again_and_come_cleared() {
    let deadlines = Deadlines::new();
    for round in 0..3 {
        let all: Vec<_> = (0..1000).map(|_| deadlines.register()).collect();
        assert!(all.iter().all(|deadline| format!("{deadline:?}") == "Deadline(cleared)"));
        for (index, deadline) in all.iter().enumerate() {
            deadline.set_roughly(TICK * u32::try_from(index % 3).unwrap());
        }
        (0..2).for_each(|_| deadlines.tick());
        let expired = all.iter().filter(|deadline| deadline.is_expired()).count();
        assert_eq!(expired, 667, "round {round}");
        assert_eq!(deadlines.registered(), 1000);
        drop(all);
        assert_eq!(deadlines.registered(), 0);
        assert_eq!(deadlines.table.chunks.borrow().len(), 4);
    }
}

#[test]
fn a_dropped_one_lets_go_of_its_task() {
    let deadlines = Deadlines::new();
    let (deadline, count) = (deadlines.register(), Arc::new(Count::default()));
    deadline.set_roughly(TICK);
    assert!(poll(&deadline, &count).is_pending());
    drop(deadline);
    assert_eq!(Arc::strong_count(&count), 1);
    let _next = deadlines.register();
    (0..5).for_each(|_| deadlines.tick());
    assert_eq!(count.woken(), 0);
}

#[test]
fn ticks_do_not_wrap_around() {
    for before in 0..5 {
        let deadlines = Deadlines::new();
        deadlines.table.now.set(REBASE_AT - before);
        let [soon, late, cleared, expired] = std::array::from_fn(|_| deadlines.register());
        deadlines.register().set_roughly(TICK);
        expired.set_roughly(Duration::ZERO);
        deadlines.tick();
        late.set_roughly(Duration::MAX);
        soon.set_roughly(9 * TICK);
        assert_eq!(ticks_until_expired(&deadlines, &soon), 10);
        assert!(expired.is_expired() && !late.is_expired());
        assert_eq!(format!("{cleared:?}"), "Deadline(cleared)");
        assert_eq!(format!("{late:?}"), format!("Deadline(in {} ticks)", MAX_DURATION + 1 - 10));
        assert!(deadlines.table.now.get() <= 11, "counts from zero again");
    }
}

#[test]
fn a_woken_task_may_do_with_deadlines_what_it_likes() {
    /// Does it at once, inside `wake`, as some executors do.
    struct AtOnce(Box<dyn Fn()>);
    // SAFETY: the test has one thread.
    unsafe impl Send for AtOnce {}
    // SAFETY: the test has one thread.
    unsafe impl Sync for AtOnce {}
    impl Wake for AtOnce {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }
    let deadlines = Deadlines::new();
    let kept = Rc::new(RefCell::new(vec![deadlines.register()]));
    let (handle, shared) = (deadlines.clone(), Rc::clone(&kept));
    let work = move || {
        shared.borrow_mut().extend((0..300).map(|_| handle.register()));
        shared.borrow_mut().swap_remove(1).set_roughly(TICK);
        shared.borrow().iter().for_each(|deadline| deadline.set_roughly(TICK));
    };
    let waker = Waker::from(Arc::new(AtOnce(Box::new(work))));
    kept.borrow()[0].set_roughly(Duration::ZERO);
    assert!(kept.borrow()[0].poll_expired(&mut Context::from_waker(&waker)).is_pending());
    (0..3).for_each(|_| deadlines.tick());
    assert_eq!(deadlines.registered(), 300);
    assert!(kept.borrow().iter().all(Deadline::is_expired));
    kept.borrow_mut().clear();
}

/// Deadlines that go by tokio's clock, which a test can stop.
fn tokio_deadlines() -> Deadlines {
    let began = tokio::time::Instant::now();
    Deadlines::with_source(move || began.elapsed())
}

/// A clock that counts how often it is read.
fn counting_clock() -> (Clock, Rc<Cell<usize>>) {
    let reads = Rc::new(Cell::new(0));
    let counter = Rc::clone(&reads);
    let began = tokio::time::Instant::now();
    let clock = Clock::with_source(move || {
        counter.set(counter.get() + 1);
        Reading { monotonic: began.elapsed(), since_1970: began.elapsed() }
    });
    (clock, reads)
}

#[tokio::test(start_paused = true)]
async fn the_driver_expires_in_time_and_rests_when_there_is_nothing_to_do() {
    let (clock, reads) = counting_clock();
    let (deadlines, clock) = (tokio_deadlines(), Rc::new(clock));
    let (driven, driven_clock) = (deadlines.clone(), Rc::clone(&clock));
    let test = async move {
        let driver = spawn_local(async move { driven.run(&driven_clock).await });
        for round in 0..3 {
            // An hour without deadlines, and nobody looks at the clock.
            let before = reads.get();
            sleep(Duration::from_secs(3600)).await;
            assert_eq!(reads.get(), before, "round {round}");

            let began = tokio::time::Instant::now();
            let deadline = deadlines.register();
            deadline.set(Duration::from_secs(5));
            deadline.expired().await;
            let passed = began.elapsed();
            assert!(passed >= Duration::from_secs(5), "{passed:?}");
            assert!(passed <= Duration::from_secs(5) + TICK + Duration::from_millis(40), "{passed:?}");
            assert!(reads.get() - before >= 20);
            // The driver has one tick under way when the last deadline goes.
            drop(deadline);
            sleep(2 * TICK).await;
        }
        driver.abort();
    };
    LocalSet::new().run_until(test).await;
}

#[tokio::test(start_paused = true)]
async fn time_in_which_the_thread_did_not_run_is_not_held_against_anybody() {
    for time in [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(5)] {
        let (clock, _) = counting_clock();
        let deadlines = tokio_deadlines();
        let driven = deadlines.clone();
        let test = async move {
            let driver = spawn_local(async move { driven.run(&clock).await });
            let (before, deadline) = (deadlines.register(), deadlines.register());
            sleep(5 * TICK).await;
            before.set(time);
            let began = tokio::time::Instant::now();
            sleep(time / 2).await;
            // Something blocks the thread for a minute; the next tick is already due, and then this is set.
            let stall = Duration::from_secs(60);
            tokio::time::advance(stall).await;
            deadline.set(time);
            let set = tokio::time::Instant::now();
            before.expired().await;
            assert!(began.elapsed() >= stall + time - Duration::from_millis(20), "{time:?}: {:?}", began.elapsed());
            deadline.expired().await;
            assert!(set.elapsed() >= time, "{time:?}: {:?}", set.elapsed());
            driver.abort();
        };
        LocalSet::new().run_until(test).await;
    }
}

#[test]
#[ignore = "a measurement: cargo test -p serow-net --release sweep -- --ignored --nocapture"]
fn ten_thousand_idle_deadlines_cost_microseconds_a_sweep() {
    const SWEEPS: u32 = 1000;
    let deadlines = Deadlines::new();
    let idle: Vec<_> = (0..10_000).map(|_| deadlines.register()).collect();
    idle.iter().for_each(|deadline| deadline.set_roughly(Duration::from_secs(3600)));
    let began = Instant::now();
    (0..SWEEPS).for_each(|_| deadlines.tick());
    let sweep = began.elapsed() / SWEEPS;
    println!("{sweep:?} for a sweep of {} deadlines", idle.len());
    assert!(sweep < Duration::from_micros(100), "{sweep:?}");

    let began = Instant::now();
    for _ in 0..SWEEPS {
        idle.iter().for_each(|deadline| {
            std::hint::black_box(deadline).set_roughly(std::hint::black_box(Duration::from_secs(60)))
        });
    }
    println!("{:?} for 10,000 settings", began.elapsed() / SWEEPS);
}

#[test]
fn any_order_of_settings_expires_each_at_its_tick() {
    let deadlines = Deadlines::new();
    let several: Vec<_> = (0..700).map(|_| deadlines.register()).collect();
    let mut due: Vec<Option<u32>> = vec![None; several.len()];
    let mut state = 1u32;
    let mut random = move |below: u32| {
        // Numerical Recipes' generator: any order will do, as long as it is the same each time.
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    for now in 0..300 {
        for _ in 0..50 {
            let place = random(700) as usize;
            if random(5) == 0 {
                several[place].clear();
                due[place] = None;
            } else {
                let ticks = random(40);
                several[place].set_roughly(TICK * ticks);
                due[place] = Some(now + 1 + ticks);
            }
        }
        deadlines.tick();
        for (deadline, due) in several.iter().zip(&due) {
            assert_eq!(deadline.is_expired(), due.is_some_and(|due| due <= now + 1), "at tick {now}");
        }
    }
}

#[test]
fn the_longest_idle_deadline_expires_first_and_no_other_does() {
    let deadlines = Deadlines::new();
    let minute = Duration::from_secs(60);
    // More than one chunk of them, the one that is idle for the longest neither first nor last.
    let all: Vec<_> = (0..2 * CHUNK_LENGTH + 3).map(|_| deadlines.register()).collect();
    let count = Arc::new(Count::default());
    for deadline in &all {
        deadline.set(minute);
        assert!(poll(deadline, &count).is_pending());
    }
    assert!(!deadlines.expire_longest_idle(0), "none is idle");
    for idle in [CHUNK_LENGTH + 1, 7, 2 * CHUNK_LENGTH + 2] {
        all[idle].set_idle(minute);
        deadlines.tick();
    }
    for idle in [CHUNK_LENGTH + 1, 7, 2 * CHUNK_LENGTH + 2] {
        assert!(deadlines.expire_longest_idle(1));
        let expired: Vec<_> = (0..all.len()).filter(|number| all[*number].is_expired()).collect();
        assert_eq!(expired, [idle]);
        assert_eq!(count.woken(), 1);
        count.0.store(0, Ordering::Relaxed);
        all[idle].set(minute);
    }
    assert!(!deadlines.expire_longest_idle(0), "one that was expired is not idle");
}

#[test]
fn a_deadline_that_is_no_longer_idle_or_not_for_long_does_not_expire_early() {
    let minute = Duration::from_secs(60);
    let not_idle: [fn(&Deadline, Duration); 2] = [|deadline, time| deadline.set(time), |deadline, _| deadline.clear()];
    for end in not_idle {
        let deadlines = Deadlines::new();
        let deadline = deadlines.register();
        deadline.set_idle(minute);
        assert!(!deadlines.expire_longest_idle(1), "not yet for a tick");
        deadlines.tick();
        end(&deadline, minute);
        assert!(!deadlines.expire_longest_idle(0));
        deadline.set_idle(minute);
        drop(deadline);
        assert!(!deadlines.expire_longest_idle(0), "gone");
    }
}
