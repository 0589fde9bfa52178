//! Requests and workers with a made-up clock.

use super::*;

const NOW: Duration = Duration::from_secs(100);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// These seconds for everything, at a worker with threads.
fn threads(limit: u64) -> TimeLimits {
    let (limit, silence) = (seconds(limit), Some(seconds(limit)));
    TimeLimits { queue: limit, response: limit, silence, kill_after: limit, kill_when_unawaited: true }
}

/// Submits a request named by a letter, and returns its placement.
fn ask(pool: &mut Pool<char, WorkerNumber>, name: char) -> (Ticket, Option<WorkerNumber>) {
    let ticket = name as Ticket;
    let request = PoolRequest { ticket, since: NOW, crashes: 0, content: name };
    match pool.ask(request, NOW) {
        Placement::Send(worker, content) => {
            assert_eq!(content, name);
            (ticket, Some(worker))
        }
        Placement::Queued => (ticket, None),
        Placement::Full(content) => panic!("no room for {content}"),
    }
}

fn with_workers(count: u64) -> Pool<char, WorkerNumber> {
    let mut pool = Pool::new(2, SendAhead::Some);
    (1..=count).for_each(|number| pool.join(number, number, 1, None));
    pool
}

#[test]
fn idle_workers_first_then_one_ahead_of_each_then_the_queue() {
    let mut pool = with_workers(2);
    let (a, first) = ask(&mut pool, 'a');
    let (b, second) = ask(&mut pool, 'b');
    assert_eq!((first, second), (Some(1), Some(2)));
    let (c, ahead) = ask(&mut pool, 'c');
    assert_eq!(ahead, Some(1));
    let (_, ahead) = ask(&mut pool, 'd');
    assert_eq!(ahead, Some(2));
    assert_eq!(pool.counts(), WorkerCounts { workers: 2, busy: 2, queued: 2 }, "those sent ahead wait");
    let (e, queued) = ask(&mut pool, 'e');
    assert_eq!(queued, None);
    ask(&mut pool, 'f');
    let full = PoolRequest { ticket: 99, since: NOW, crashes: 0, content: 'g' };
    assert!(matches!(pool.ask(full, NOW), Placement::Full('g')));
    // The request ahead begins, and the queue advances in order.
    let next_steps = pool.finished(1, a, NOW);
    assert_eq!((next_steps.send, next_steps.relieve, next_steps.dismiss), (Some('e'), None, false));
    assert_eq!(pool.in_flight(1, c), Some('c'));
    assert_eq!(pool.cancel(e, NOW), Cancelled::SentAhead(1));
    assert_eq!(pool.cancel(b, NOW), Cancelled::InFlight(2));
    // The one that was cancelled is in the worker's socket until it is taken back.
    assert_eq!(pool.counts(), WorkerCounts { workers: 2, busy: 2, queued: 3 });
}

#[test]
fn a_request_sent_ahead_goes_to_the_first_idle_worker() {
    let mut pool = with_workers(2);
    let (_slow, _) = ask(&mut pool, 's');
    let (quick, _) = ask(&mut pool, 'q');
    let (ahead, worker) = ask(&mut pool, 'a');
    assert_eq!(worker, Some(1));
    let next_steps = pool.finished(2, quick, NOW);
    assert_eq!((next_steps.send, next_steps.relieve), (None, Some(1)));
    let request = pool.taken_back(1, ahead, NOW).unwrap();
    assert_eq!(request.ticket, ahead);
    assert_eq!(pool.ask_again([request], NOW), [(2, 'a')]);
    assert!(pool.taken_back(1, ahead, NOW).is_none());
}

/// Lets a worker finish this many requests, each in this time.
fn show_pace(pool: &mut Pool<char, WorkerNumber>, count: usize, pace: Duration) {
    for _ in 0..count {
        let (ticket, worker) = ask(pool, 'x');
        pool.finished(worker.unwrap(), ticket, NOW + pace);
    }
}

#[test]
fn a_quick_worker_has_several_ahead_until_it_is_slow_once() {
    let mut pool = with_workers(1);
    let quick = Duration::from_micros(20);
    show_pace(&mut pool, 40, quick);
    let places: Vec<_> = ('a'..='g').map(|name| ask(&mut pool, name).1).collect();
    assert_eq!(places, [Some(1), Some(1), Some(1), Some(1), Some(1), None, None]);
    let next_steps = pool.finished(1, 'a' as Ticket, NOW + quick);
    assert_eq!((next_steps.send, next_steps.has_next), (Some('f'), false));
    // Requests sent ahead stay with the worker, and it gets another one only after it has begun the last of them.
    let later = NOW + Duration::from_millis(50);
    for name in ['b', 'c', 'd'] {
        let next_steps = pool.finished(1, name as Ticket, later);
        assert_eq!((next_steps.send, next_steps.has_next), (None, false), "{name}");
    }
    let next_steps = pool.finished(1, 'e' as Ticket, later);
    assert_eq!((next_steps.send, next_steps.has_next), (Some('g'), false));
}

#[test]
fn a_queue_moves_up_when_a_worker_becomes_quick() {
    let mut pool = Pool::new(20, SendAhead::Some);
    pool.join(1, 1, 1, None);
    let names: Vec<_> = ('a'..='p').collect();
    assert_eq!(names.iter().filter(|name| ask(&mut pool, **name).1.is_some()).count(), 2);
    let mut sent = 2;
    for name in &names {
        let next_steps = pool.finished(1, *name as Ticket, NOW);
        sent += usize::from(next_steps.send.is_some());
        if next_steps.has_next {
            sent += std::iter::from_fn(|| pool.next(NOW)).count();
        }
    }
    assert_eq!(sent, names.len());
}

#[test]
fn requests_behind_a_slow_one_precede_the_queue() {
    let mut pool = with_workers(2);
    let later = NOW + Duration::from_millis(5);
    for name in ['s', 'q', 'a', 'b', 'c'] {
        ask(&mut pool, name);
    }
    pool.finished(2, 'q' as Ticket, NOW);
    let next_steps = pool.finished(2, 'b' as Ticket, later);
    assert_eq!((next_steps.send, next_steps.relieve), (None, None), "it has a request ahead itself");
    let next_steps = pool.finished(2, 'c' as Ticket, later);
    assert_eq!((next_steps.send, next_steps.relieve, next_steps.has_next), (None, Some(1), false));
}

#[test]
fn retried_requests_keep_their_order() {
    let mut pool = with_workers(1);
    show_pace(&mut pool, 40, Duration::from_micros(20));
    let _: Vec<_> = ('a'..='f').map(|name| ask(&mut pool, name)).collect();
    let again: Vec<_> = ('b'..='e').filter_map(|name| pool.taken_back(1, name as Ticket, NOW)).collect();
    assert_eq!(again.len(), 4);
    // The current request is slow by now, so one is sent ahead again, and the others wait in front of the earlier one.
    let later = NOW + Duration::from_millis(50);
    assert_eq!(pool.ask_again(again, later), [(1, 'b')]);
    let order = ['a', 'b', 'c', 'd'].map(|name| pool.finished(1, name as Ticket, later).send);
    assert_eq!(order, [Some('c'), Some('d'), Some('e'), Some('f')]);
}

#[test]
fn two_that_were_taken_out_of_order() {
    let mut pool = with_workers(1);
    let (a, _) = ask(&mut pool, 'a');
    let (b, _) = ask(&mut pool, 'b');
    pool.finished(1, b, NOW);
    assert_eq!(pool.cancel(a, NOW), Cancelled::InFlight(1));
    let (c, _) = ask(&mut pool, 'c');
    let taken = pool.taken_back(1, a, NOW).unwrap();
    assert_eq!(taken.content, 'a');
    assert_eq!(pool.cancel(c, NOW), Cancelled::InFlight(1));
}

#[test]
fn all_workers_get_their_share() {
    let mut pool = with_workers(3);
    let mut workers = Vec::new();
    for _ in 0..6 {
        let (ticket, worker) = ask(&mut pool, 'x');
        let worker = worker.unwrap();
        pool.finished(worker, ticket, NOW);
        workers.push(worker);
    }
    assert_eq!(workers, [1, 2, 3, 1, 2, 3]);
}

#[test]
fn a_worker_may_have_several_at_a_time() {
    let mut pool = Pool::new(2, SendAhead::Some);
    pool.join(1, 1, 3, None);
    let sent: Vec<_> = (0..5).map(|_| ask(&mut pool, 'x').1).collect();
    assert_eq!(sent, [Some(1), Some(1), Some(1), Some(1), None]);
    assert_eq!(pool.lost(1).in_flight.len(), 3);
}

#[test]
fn the_old_and_the_tired_leave_when_they_have_finished() {
    let mut pool = Pool::new(2, SendAhead::Some);
    pool.join(1, 1, 1, Some(2));
    let (a, _) = ask(&mut pool, 'a');
    assert!(pool.aged().is_empty());
    pool.finished(1, a, NOW);
    let (b, _) = ask(&mut pool, 'b');
    assert_eq!(pool.aged(), [1]);
    assert!(!pool.retire(1));
    assert!(pool.aged().is_empty());
    let (c, queued) = ask(&mut pool, 'c');
    assert_eq!(queued, None);
    let next_steps = pool.finished(1, b, NOW);
    assert!(next_steps.dismiss && next_steps.send.is_none());
    pool.lost(1);
    pool.join(2, 2, 1, None);
    assert_eq!(pool.next(NOW), Some((2, 'c')));
    assert_eq!(pool.cancel(c, NOW), Cancelled::InFlight(2));
    assert!(pool.retire(77) || pool.next(NOW).is_none());
}

#[test]
fn retired_workers_finish_what_they_have_and_get_nothing_more() {
    let mut pool = with_workers(2);
    let (a, worker) = ask(&mut pool, 'a');
    assert_eq!(worker, Some(1));
    pool.retire_all();
    assert_eq!(ask(&mut pool, 'b').1, None);
    pool.join(3, 3, 1, None);
    assert_eq!(pool.next(NOW), Some((3, 'b')));
    assert!(pool.finished(1, a, NOW).dismiss);
    assert_eq!(pool.counts(), WorkerCounts { workers: 1, busy: 1, queued: 0 });
}

#[test]
fn a_retired_worker_may_exit_as_soon_as_its_responses_are_complete() {
    let mut pool = with_workers(1);
    let (a, _) = ask(&mut pool, 'a');
    assert!(!pool.retire(1));
    pool.answered(1, a, NOW);
    assert!(pool.retire(1));
    assert!(pool.has_awaited_request(1), "it is not killed while it works behind the response");
}

#[test]
fn timed_out_requests_are_found() {
    let mut pool = with_workers(1);
    let (a, _) = ask(&mut pool, 'a');
    ask(&mut pool, 'b');
    let (c, _) = ask(&mut pool, 'c');
    let later = NOW + Duration::from_secs(5);
    assert!(pool.queue_timed_out(&threads(6), later).is_empty());
    assert_eq!(pool.give_up(&threads(6), later), []);
    assert_eq!(pool.give_up(&threads(5), later), [(1, a, 'a')]);
    let gone: Vec<_> = pool.queue_timed_out(&threads(5), later).iter().map(|request| request.ticket).collect();
    assert_eq!(gone, [c]);
    // The time of a request sent ahead starts when the worker begins it.
    pool.finished(1, a, later);
    assert_eq!(pool.give_up(&threads(5), later), []);
}

#[test]
fn the_time_until_the_next_request_is_overdue() {
    let milliseconds = Duration::from_millis;
    let limits = TimeLimits { queue: milliseconds(300), response: milliseconds(500), ..threads(60) };
    let left = |pool: &mut Pool<char, WorkerNumber>, now| {
        pool.note_look(NOW + milliseconds(now));
        pool.time_left(&limits, NOW + milliseconds(now)).as_millis()
    };
    let mut pool = with_workers(1);
    // A new request would have this much time in the queue.
    assert_eq!(left(&mut pool, 0), 300);
    let (a, _) = ask(&mut pool, 'a');
    assert_eq!((left(&mut pool, 100), left(&mut pool, 300)), (300, 200));
    ask(&mut pool, 'b');
    ask(&mut pool, 'c');
    assert_eq!((left(&mut pool, 100), left(&mut pool, 299)), (200, 1));
    // Requests whose time is up are not waited for.
    assert_eq!((left(&mut pool, 300), left(&mut pool, 499), left(&mut pool, 500)), (200, 1, 300));
    pool.finished(1, a, NOW + milliseconds(100));
    assert_eq!((left(&mut pool, 301), left(&mut pool, 599)), (299, 1));
}

#[test]
fn a_request_that_becomes_overdue_just_after_a_look_is_looked_for_at_once() {
    let milliseconds = Duration::from_millis;
    let limits = TimeLimits { queue: milliseconds(300), response: milliseconds(500), ..threads(60) };
    let mut pool = with_workers(1);
    for request in ['a', 'b', 'c'] {
        ask(&mut pool, request);
    }
    for due in [300, 500] {
        pool.note_look(NOW + milliseconds(due - 1));
        assert_eq!(pool.time_left(&limits, NOW + milliseconds(due + 1)), Duration::ZERO, "due after {due} ms");
    }
}

#[test]
fn requests_of_a_crashed_worker_are_returned() {
    let mut pool = with_workers(1);
    let (a, _) = ask(&mut pool, 'a');
    ask(&mut pool, 'b');
    ask(&mut pool, 'c');
    pool.answered(1, a, NOW);
    let mut lost = pool.lost(1);
    assert!(lost.in_flight.is_empty(), "its response was complete");
    let ahead = lost.ahead.pop_front().unwrap();
    assert_eq!(ahead.content, 'b');
    assert_eq!(pool.ask_again([ahead], NOW), []);
    assert_eq!(pool.counts(), WorkerCounts { workers: 0, busy: 0, queued: 2 });
    pool.join(2, 2, 1, None);
    assert_eq!(pool.next(NOW), Some((2, 'b')));
    assert_eq!(pool.next(NOW), Some((2, 'c')));
    assert_eq!(pool.next(NOW), None);
}

#[test]
fn a_worker_that_answers_many_is_sent_as_many_as_it_has_room_for() {
    let mut pool = Pool::new(2, SendAhead::None);
    (1..=2).for_each(|number| pool.join(number, number, 2, None));
    let places: Vec<_> = ['a', 'b', 'c', 'd', 'e'].map(|name| ask(&mut pool, name).1).into();
    assert_eq!(places, [Some(1), Some(2), Some(1), Some(2), None]);
    let next_steps = pool.finished(2, 'b' as Ticket, NOW);
    assert_eq!((next_steps.send, next_steps.relieve), (Some('e'), None));
}

#[test]
fn a_response_that_has_begun_is_not_given_up_and_a_worker_that_does_not_give_up_is_stuck() {
    let mut pool = Pool::new(2, SendAhead::None);
    pool.join(1, 1, 2, None);
    ask(&mut pool, 'a');
    ask(&mut pool, 'b');
    pool.stream(1, 'a' as Ticket, NOW);
    let limits = TimeLimits { silence: None, kill_after: seconds(5), kill_when_unawaited: false, ..threads(60) };
    assert_eq!(pool.give_up(&limits, NOW + seconds(59)), []);
    let later = NOW + seconds(60);
    assert_eq!(pool.give_up(&limits, later), [(1, 'b' as Ticket, 'b')]);
    assert_eq!(pool.give_up(&limits, later + seconds(60)), []);
    assert!(pool.stuck(&limits, later + seconds(4)).is_empty());
    assert_eq!(pool.stuck(&limits, later + seconds(5)), [1]);
    pool.finished(1, 'b' as Ticket, later);
    assert!(pool.stuck(&limits, later + seconds(5)).is_empty());
}

#[test]
fn a_stuck_thread_is_killed_when_the_others_of_its_worker_have_finished() {
    let mut pool = Pool::new(2, SendAhead::Some);
    pool.join(1, 1, 3, None);
    let (stuck, _) = ask(&mut pool, 's');
    let (limits, later) = (threads(10), NOW + seconds(10));
    for (name, begins) in [('a', 1), ('b', 9)] {
        let request = PoolRequest { ticket: name as Ticket, since: NOW, crashes: 0, content: name };
        assert!(matches!(pool.ask(request, NOW + seconds(begins)), Placement::Send(1, _)));
    }
    assert_eq!((pool.give_up(&limits, later), pool.stuck(&limits, later)), (vec![(1, stuck, 's')], vec![]));
    pool.retire(1);
    pool.finished(1, 'a' as Ticket, later);
    assert!(pool.stuck(&limits, later).is_empty());
    pool.finished(1, 'b' as Ticket, later);
    assert_eq!(pool.stuck(&limits, later), [1]);
    // Or when another limit is over.
    pool.join(2, 2, 2, None);
    ask(&mut pool, 't');
    ask(&mut pool, 'u');
    assert_eq!(pool.give_up(&limits, NOW + seconds(10)).len(), 2);
    pool.join(3, 3, 2, None);
    let (stuck, _) = ask(&mut pool, 'v');
    ask(&mut pool, 'w');
    pool.stream(3, 'w' as Ticket, NOW + seconds(10));
    assert_eq!(pool.give_up(&limits, NOW + seconds(10)), [(3, stuck, 'v')]);
    assert_eq!(pool.stuck(&limits, NOW + seconds(19)), [1, 2]);
    assert_eq!(pool.stuck(&limits, NOW + seconds(20)), [1, 2, 3]);
}

#[test]
fn a_response_that_has_begun_is_limited_by_its_silence_alone() {
    let limits = TimeLimits { silence: Some(seconds(7)), ..threads(10) };
    let mut pool = with_workers(1);
    let (a, _) = ask(&mut pool, 'a');
    for second in (0..100).step_by(6) {
        pool.stream(1, a, NOW + seconds(second));
        assert_eq!(pool.give_up(&limits, NOW + seconds(second + 6)), [], "at {second}");
    }
    // The time in which the worker waits for its client does not count.
    pool.hold_up(1, a, NOW + seconds(100));
    assert_eq!(pool.give_up(&limits, NOW + seconds(10_000)), []);
    pool.stream(1, a, NOW + seconds(10_000));
    assert_eq!(pool.give_up(&limits, NOW + seconds(10_006)), []);
    assert_eq!(pool.give_up(&limits, NOW + seconds(10_007)), [(1, a, 'a')]);
    // Nothing that the worker sends afterwards revives it.
    pool.stream(1, a, NOW + seconds(10_007));
    assert_eq!(pool.stuck(&limits, NOW + seconds(10_007)), [1]);
}

#[test]
fn the_time_of_a_worker_counts_again_when_the_client_of_its_response_leaves() {
    type Begin = fn(&mut Pool<char, WorkerNumber>, Ticket, Duration);
    let states: [Begin; 3] = [
        |pool, a, now| pool.stream(1, a, now),
        |pool, a, now| pool.hold_up(1, a, now),
        |pool, a, now| pool.hijack(1, a, now),
    ];
    for begin in states {
        let limits = TimeLimits { silence: None, ..threads(10) };
        let mut pool = with_workers(1);
        let (a, _) = ask(&mut pool, 'a');
        begin(&mut pool, a, NOW + seconds(5));
        assert_eq!(pool.give_up(&limits, NOW + seconds(1000)), []);
        pool.cancel(a, NOW + seconds(1000));
        // It may still send something.
        pool.stream(1, a, NOW + seconds(1005));
        assert_eq!(pool.give_up(&limits, NOW + seconds(1009)), []);
        assert_eq!(pool.give_up(&limits, NOW + seconds(1010)), [(1, a, 'a')]);
    }
}

#[test]
fn garbage_is_collected_while_another_worker_is_idle() {
    let mut pool = with_workers(2).collect_after(Some(2));
    for number in [1, 2] {
        let (a, worker) = ask(&mut pool, 'a');
        assert_eq!((worker, pool.finished(number, a, NOW).collect), (Some(number), None), "it is not due");
    }
    let (a, _) = ask(&mut pool, 'a');
    let (b, _) = ask(&mut pool, 'b');
    assert_eq!(pool.finished(1, a, NOW).collect, None, "the other one is busy");
    assert_eq!(pool.finished(2, b, NOW).collect, Some(b));
    assert_eq!(pool.counts().busy, 1);
    // It gets nothing meanwhile, neither at once nor ahead.
    let (c, worker) = ask(&mut pool, 'c');
    assert_eq!(worker, Some(1));
    assert_eq!(ask(&mut pool, 'd').1, Some(1));
    assert_eq!(ask(&mut pool, 'e').1, None);
    let next_steps = pool.finished(2, b, NOW);
    assert_eq!((next_steps.collect, next_steps.send), (None, Some('e')));
    assert_eq!(pool.finished(1, c, NOW).collect, None, "there is another one for it");
    // One that dies meanwhile had no request.
    pool.finished(1, 'd' as Ticket, NOW);
    pool.finished(2, 'e' as Ticket, NOW);
    let (f, worker) = ask(&mut pool, 'f');
    let worker = worker.unwrap();
    assert_eq!(pool.finished(worker, f, NOW).collect, Some(f));
    assert!(pool.lost(worker).in_flight.is_empty());
}

#[test]
fn the_warmest_worker_has_had_most_requests_and_stays() {
    let mut pool = with_workers(3);
    let finish = |pool: &mut Pool<char, WorkerNumber>, name: char| {
        let (ticket, worker) = ask(pool, name);
        pool.finished(worker.unwrap(), ticket, NOW);
    };
    "abcd".chars().for_each(|name| finish(&mut pool, name));
    assert_eq!((pool.warmest(2), pool.warmest(3)), (Some(1), None));
    finish(&mut pool, 'e');
    pool.retire(1);
    assert_eq!(pool.warmest(2), Some(2));
}

fn crashed(name: char) -> PoolRequest<char> {
    PoolRequest { ticket: name as Ticket, since: NOW, crashes: 1, content: name }
}

#[test]
fn a_request_that_a_worker_crashed_with_waits_until_there_are_two_workers() {
    let mut pool = with_workers(1);
    pool.hold([crashed('c')]);
    assert!(pool.release().is_empty());
    assert_eq!(pool.counts().queued, 1);
    // Other requests do not wait behind it.
    assert_eq!(ask(&mut pool, 'a').1, Some(1));
    pool.join(2, 2, 1, None);
    let released = pool.release();
    assert_eq!(released.iter().map(|request| request.content).collect::<Vec<_>>(), ['c']);
    assert_eq!(pool.ask_again(released, NOW), [(2, 'c')]);
    assert!(pool.release().is_empty());
}

#[test]
fn a_request_that_a_worker_crashed_with_is_sent_to_idle_workers_only_and_never_to_the_last_one() {
    let mut pool = with_workers(3);
    let (a, _) = ask(&mut pool, 'a');
    ask(&mut pool, 'b');
    ask(&mut pool, 'd');
    assert_eq!(pool.ask_again([crashed('c')], NOW), [], "all are busy");
    assert_eq!(pool.finished(1, a, NOW).send, Some('c'));
    pool.ask_again([crashed('e')], NOW);
    pool.lost(2);
    pool.retire(3);
    // Worker 1 is the last one.
    assert_eq!(pool.finished(1, 'c' as Ticket, NOW).send, None);
    assert_eq!(ask(&mut pool, 'f').1, Some(1));
    assert_eq!(pool.cancel('e' as Ticket, NOW), Cancelled::Unseen);
}

#[test]
fn held_requests_time_out_like_others() {
    let mut pool = with_workers(1);
    pool.hold([crashed('c')]);
    let second = Duration::from_secs(1);
    assert!(pool.queue_timed_out(&threads(2), NOW + second).is_empty());
    let queue_timed_out: Vec<_> =
        pool.queue_timed_out(&threads(2), NOW + 2 * second).iter().map(|request| request.content).collect();
    assert_eq!(queue_timed_out, ['c']);
    pool.join(2, 2, 1, None);
    assert!(pool.release().is_empty());
}
