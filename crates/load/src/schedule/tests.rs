//! Schedules at made-up moments.

use std::sync::atomic::AtomicUsize;
use std::task::Wake;

use super::*;

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Somebody who asks at made-up moments.
struct Asker {
    place: SchedulePlace,
    woken: Arc<Woken>,
}

impl Asker {
    fn new() -> Self {
        Self { place: SchedulePlace::default(), woken: Arc::default() }
    }

    /// When the request that may be sent was due, in milliseconds; `None` to wait.
    fn ask(&mut self, schedule: &Schedule, now: u64) -> Option<Option<u64>> {
        let waker = Waker::from(Arc::clone(&self.woken));
        let poll = schedule.poll_next(&mut Context::from_waker(&waker), &mut self.place, || milliseconds(now));
        match poll {
            Poll::Pending => None,
            Poll::Ready(permit) => Some(permit.map(|permit| permit.due.map_or(0, |due| due.as_millis() as u64))),
        }
    }

    fn woken(&self) -> usize {
        self.woken.0.load(Ordering::Relaxed)
    }
}

/// So many each second, from `start` on, of which those before `counted` are of the warm-up, until `end`.
fn planned(start: u64, per_second: f64, counted: u64, end: Option<u64>, left: Option<Arc<AtomicU64>>) -> Schedule {
    let (start, counted, end) = (milliseconds(start), milliseconds(counted), end.map(milliseconds));
    Schedule::planned(Moments { start, per_second, counted, end }, left)
}

fn milliseconds(number: u64) -> Duration {
    Duration::from_millis(number)
}

#[test]
fn unplanned_requests_are_sent_until_the_end() {
    let schedule = Schedule::unplanned(None);
    let mut asker = Asker::new();
    for now in [0, 0, 5] {
        assert_eq!(asker.ask(&schedule, now), Some(Some(0)));
    }
    schedule.end();
    assert_eq!(asker.ask(&schedule, 5), Some(None));
    assert_eq!(schedule.unsent(milliseconds(10)), 0);
}

#[test]
fn no_more_are_sent_than_were_asked_for() {
    let left = Some(Arc::new(AtomicU64::new(2)));
    let (one, other) = (Schedule::unplanned(left.clone()), Schedule::unplanned(left));
    let mut asker = Asker::new();
    // Those of the warm-up do not count.
    one.set_counts(false);
    assert_eq!(asker.ask(&one, 0), Some(Some(0)));
    one.set_counts(true);
    assert_eq!(asker.ask(&one, 0), Some(Some(0)));
    assert_eq!(asker.ask(&other, 0), Some(Some(0)));
    assert_eq!(asker.ask(&one, 0), Some(None));
    assert_eq!(asker.ask(&other, 0), Some(None));
}

#[test]
fn planned_moments_are_kept_in_their_order() {
    // One each 10 ms, from 100 ms on.
    let schedule = planned(100, 100.0, 0, None, None);
    let (mut first, mut second) = (Asker::new(), Asker::new());
    assert_eq!(first.ask(&schedule, 0), None);
    assert_eq!(second.ask(&schedule, 0), None);
    let pace = schedule.pace.as_ref().unwrap();
    pace.wake_until(milliseconds(99));
    assert_eq!((first.woken(), second.woken()), (0, 0));
    pace.wake_until(milliseconds(100));
    assert_eq!((first.woken(), second.woken()), (1, 0));
    assert_eq!(first.ask(&schedule, 100), Some(Some(100)));
    // It waits for the moment behind that of the second.
    assert_eq!(first.ask(&schedule, 100), None);
    pace.wake_until(milliseconds(125));
    assert_eq!((first.woken(), second.woken()), (2, 1));
    assert_eq!(second.ask(&schedule, 125), Some(Some(110)));
    assert_eq!(first.ask(&schedule, 125), Some(Some(120)));
}

#[test]
fn after_a_stall_late_requests_keep_the_moments_when_they_were_due() {
    let schedule = planned(0, 1000.0, 0, None, None);
    let mut asker = Asker::new();
    assert_eq!(asker.ask(&schedule, 0), Some(Some(0)));
    // A stall of 50 ms: all that were due meanwhile follow at once.
    for due in 1..=50 {
        assert_eq!(asker.ask(&schedule, 50), Some(Some(due)));
    }
    assert_eq!(asker.ask(&schedule, 50), None);
    // 51 of the 60 that are due before 60 ms have been sent.
    assert_eq!(schedule.unsent(milliseconds(60)), 9);
    schedule.end();
    assert_eq!(asker.woken(), 1);
    assert_eq!(asker.ask(&schedule, 60), Some(None));
}

#[test]
fn asking_again_takes_no_second_moment() {
    let schedule = planned(10, 100.0, 0, None, None);
    let mut asker = Asker::new();
    for now in 0..5 {
        assert_eq!(asker.ask(&schedule, now), None);
    }
    assert_eq!(schedule.pace.as_ref().unwrap().waiting.borrow().len(), 1);
    assert_eq!(asker.ask(&schedule, 10), Some(Some(10)));
}

#[test]
fn a_request_that_would_be_due_at_the_end_is_not_planned() {
    // At 0, 10 … 40 ms.
    let schedule = planned(0, 100.0, 0, Some(50), None);
    let mut asker = Asker::new();
    for due in [0, 10, 20] {
        assert_eq!(asker.ask(&schedule, 25), Some(Some(due)));
    }
    assert_eq!(schedule.unsent(milliseconds(50)), 2);
    // Those that are late may still be sent.
    assert_eq!(asker.ask(&schedule, 70), Some(Some(30)));
    assert_eq!(asker.ask(&schedule, 70), Some(Some(40)));
    assert_eq!(asker.ask(&schedule, 70), Some(None));
    assert_eq!(schedule.unsent(milliseconds(50)), 0);
}

#[test]
fn requests_that_are_due_in_the_warm_up_do_not_count() {
    let left = Arc::new(AtomicU64::new(1));
    let schedule = planned(0, 100.0, 20, None, Some(Arc::clone(&left)));
    let mut place = SchedulePlace::default();
    let mut ask = || schedule.poll_next(&mut Context::from_waker(Waker::noop()), &mut place, || milliseconds(90));
    for (due, counts, rest) in [(0, false, 1), (10, false, 1), (20, true, 0)] {
        assert_eq!(ask(), Poll::Ready(Some(Permit { due: Some(milliseconds(due)), counts })));
        assert_eq!(left.load(Ordering::Relaxed), rest);
    }
    assert_eq!(ask(), Poll::Ready(None));
}
