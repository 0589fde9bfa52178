//! A queue in front of servers, with requests that any of them serves and others that need one of them.

use std::{
    cell::RefCell,
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, Wake, Waker},
    time::Duration,
};

use proptest::{collection::vec, prelude::*};

use std::sync::atomic::AtomicBool;

use super::*;

/// Free places at each server.
type Room = Rc<RefCell<[usize; 2]>>;

/// Woken, and not polled since.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Request<'a> {
    /// The server that it needs; `None` for any.
    needs: Option<usize>,
    number: usize,
    future: Pin<Box<dyn Future<Output = Result<usize, ErrorReason>> + 'a>>,
    woken: Arc<Flag>,
}

/// Takes a place.
fn take(room: &Room, needs: Option<usize>) -> Option<usize> {
    let mut room = room.borrow_mut();
    let found = (0..2).find(|server| room[*server] > 0 && needs.is_none_or(|needed| needed == *server))?;
    room[found] -= 1;
    Some(found)
}

impl<'a> Request<'a> {
    fn new(queue: &'a WaitingQueue, room: &Room, needs: Option<usize>, number: usize) -> Self {
        let (demand, room) = (needs.map_or(Demand::Any, |_| Demand::Particular), Rc::clone(room));
        let settings = QueueSettings { length: 100, timeout: Duration::from_secs(5) };
        let choose = move || take(&room, needs).map(Ok);
        let future = Box::pin(async move { queue.wait(settings, demand, choose).await });
        Self { needs, number, future, woken: Arc::default() }
    }

    fn poll(&mut self) -> Poll<Result<usize, ErrorReason>> {
        self.woken.0.store(false, Ordering::Relaxed);
        let waker = Waker::from(Arc::clone(&self.woken));
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

/// Polls all that were woken until none is. Returns which requests took a place, and where.
fn run(requests: &mut Vec<Request<'_>>) -> Vec<(usize, usize)> {
    let mut took = Vec::new();
    while let Some(place) = requests.iter().position(|request| request.woken.0.load(Ordering::Relaxed)) {
        if let Poll::Ready(Ok(server)) = requests[place].poll() {
            took.push((requests.remove(place).number, server));
        }
    }
    took
}

fn in_runtime(test: impl FnOnce()) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    test();
}

/// Requests that wait, in order; servers at which a place becomes free; which requests take a place.
type Case = (&'static [Option<usize>], &'static [usize], &'static [usize]);

#[test]
fn each_place_goes_to_the_first_request_that_can_use_it() {
    let cases: [Case; 8] = [
        (&[None, None, None], &[0], &[0]),
        (&[None, None, None], &[0, 1], &[0, 1]),
        (&[Some(0), None], &[1], &[1]),
        (&[Some(0), Some(0), Some(1), None], &[1], &[2]),
        (&[None, Some(1)], &[1, 1], &[0, 1]),
        (&[None, None, Some(1)], &[0], &[0]),
        (&[Some(0), Some(0)], &[1], &[]),
        (&[Some(1), None, None], &[0, 0], &[1, 2]),
    ];
    for (needs, left, expected) in cases {
        in_runtime(|| {
            let (queue, room) = (WaitingQueue::default(), Room::default());
            let mut requests = Vec::new();
            for (number, needed) in needs.iter().enumerate() {
                let mut request = Request::new(&queue, &room, *needed, number);
                assert!(request.poll().is_pending());
                requests.push(request);
            }
            assert!(run(&mut requests).is_empty());
            for server in left {
                room.borrow_mut()[*server] += 1;
                queue.note_left();
            }
            let mut took: Vec<_> = run(&mut requests).into_iter().map(|(number, _)| number).collect();
            took.sort_unstable();
            assert_eq!(took, expected, "{needs:?}, {left:?}");
        });
    }
}

/// On another thread: while one looks, and has been called for more room than it takes.
#[test]
fn a_request_that_comes_while_another_looks_finds_the_room_that_is_left() {
    for needs in [None, Some(1)] {
        in_runtime(|| {
            let (queue, room) = (WaitingQueue::default(), Room::default());
            let (second, wait_for) = (RefCell::new(None), |choose| {
                queue.wait(QueueSettings { length: 100, timeout: Duration::from_secs(5) }, Demand::Any, choose)
            });
            let look_of_first: Box<dyn Fn() -> Option<Result<usize, ErrorReason>>> = Box::new(|| {
                let mut request = Request::new(&queue, &room, needs, 2);
                assert!(request.poll().is_pending());
                second.replace(Some(request));
                *room.borrow_mut() = [10, 10];
                take(&room, None).map(Ok)
            });
            let mut first = Box::pin(wait_for(look_of_first));
            assert!(first.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
            let mut requests: Vec<_> = second.take().into_iter().collect();
            assert_eq!(run(&mut requests).len(), 1, "{needs:?}");
        });
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// A request comes.
    Come(Option<usize>),
    /// A place becomes free.
    Leave(usize),
    /// A server gets as many places more.
    Grow(usize, usize),
    /// The client of a request goes away.
    GoAway(usize),
    /// Those that were woken look.
    Run,
}

fn step() -> impl Strategy<Value = Step> {
    let needs = prop_oneof![3 => Just(None), 1 => Just(Some(0)), 1 => Just(Some(1))];
    prop_oneof![
        3 => needs.prop_map(Step::Come),
        3 => (0..2_usize).prop_map(Step::Leave),
        1 => (0..2_usize, 1..4_usize).prop_map(|(server, places)| Step::Grow(server, places)),
        1 => (0..8_usize).prop_map(Step::GoAway),
        2 => Just(Step::Run),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Property: once all that were woken have looked, no request waits that could have a place; and of those that any
    /// server serves, the first come first.
    #[test]
    fn no_place_is_left_free_and_equal_requests_keep_their_order(steps in vec(step(), 0..60)) {
        in_runtime(|| {
            let (queue, room) = (WaitingQueue::default(), Room::default());
            let (mut requests, mut served) = (Vec::<Request<'_>>::new(), Vec::new());
            for (number, step) in steps.iter().chain([&Step::Run]).enumerate() {
                match *step {
                    Step::Come(needs) => {
                        let mut request = Request::new(&queue, &room, needs, number);
                        match request.poll() {
                            Poll::Ready(_) if needs.is_none() => served.push(number),
                            Poll::Ready(_) => {}
                            Poll::Pending => requests.push(request),
                        }
                    }
                    Step::Leave(server) => {
                        room.borrow_mut()[server] += 1;
                        queue.note_left();
                    }
                    Step::Grow(server, places) => {
                        room.borrow_mut()[server] += places;
                        queue.note_servers();
                    }
                    Step::GoAway(place) => drop((place < requests.len()).then(|| requests.remove(place))),
                    Step::Run => {
                        let any: Vec<_> = requests.iter().filter(|request| request.needs.is_none()).map(|request| request.number).collect();
                        let took: Vec<_> = run(&mut requests).into_iter().map(|(number, _)| number).collect();
                        let room = *room.borrow();
                        for request in &requests {
                            let could = (0..2).any(|server| room[server] > 0 && request.needs.is_none_or(|needed| needed == server));
                            assert!(!could, "{} waits: {room:?}", request.number);
                        }
                        let mut took: Vec<_> = took.into_iter().filter(|number| any.contains(number)).collect();
                        took.sort_unstable();
                        assert!(any.starts_with(&took), "{took:?} of {any:?}");
                    }
                }
            }
            drop(requests);
            assert_eq!(queue.waiting(), 0);
        });
    }
}
