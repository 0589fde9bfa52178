//! A thread that sends: its runtime, its connections, and its reports.

use std::{
    io,
    rc::Rc,
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use serow_client::Destination;
use serow_net::{Clock, monotonic};
use tokio::{
    runtime::{Builder, LocalOptions},
    task::spawn_local,
    time::{Instant, sleep_until},
};

use crate::{
    Failure, Plan, Requests, http1, http2,
    mix::Mix,
    script::Seat,
    source::Source,
    tally::Stretch,
    thread::{Shared, Thread},
};

/// What a thread reports.
pub(crate) enum Report {
    /// What it counted in a step of the run; the first has number 0.
    Step { number: usize, stretch: Box<Stretch> },
    /// Requests each second, over the last tenth of a second.
    Rate(u64),
    /// It has ended.
    End(End),
    /// The run cannot go on.
    Failed(Failure),
}

/// What is known when a thread has ended.
pub(crate) struct End {
    /// When its last response was whole.
    pub(crate) last: Duration,
    /// Requests that were due and not sent.
    pub(crate) unsent: u64,
    /// Whether it was stopped before its time.
    pub(crate) interrupted: bool,
}

/// What a thread is given.
pub(crate) struct Sending {
    pub(crate) plan: Plan,
    /// Which of the threads it is.
    pub(crate) number: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) reports: Sender<Report>,
    /// What it needs to follow the script, if there is one.
    pub(crate) seat: Option<Seat>,
}

impl Sending {
    /// Sends what is the share of this thread; then answers the script's questions.
    pub(crate) fn run(self) {
        let Self { plan, number, shared, reports, seat } = self;
        let mut dialer = plan.dialer.clone();
        let source = match (&plan.requests, seat) {
            (Requests::Fixed(requests), _) => Source::Mix(Mix::new(requests, number)),
            (Requests::Script(..), seat) => {
                // Without a performer there is no run, and the conductor knows why.
                let Some(performer) = seat.and_then(Seat::perform) else { return };
                if let (Destination::Tcp(address), Some(chosen)) = (&mut dialer.destination, performer.address()) {
                    *address = chosen;
                }
                Source::of_script(performer)
            }
        };
        let start = shared.start();
        let thread = Rc::new(Thread::new(&plan, dialer, source, Arc::clone(&shared), number, start));
        let sent = runtime().map(|runtime| runtime.block_on(send(&thread, number, start, &reports)));
        let failure = thread.failure().or(sent.err().map(Failure::from));
        if let Some(failure) = failure {
            shared.stop();
            // Nobody listens only where the run is over already.
            let _ = reports.send(Report::Failed(failure));
        }
        drop(reports);
        // The runtime is gone, and its tasks with it.
        if let Some(performer) = Rc::into_inner(thread).and_then(|thread| thread.into_source().into_performer()) {
            performer.serve_until_released();
        }
    }
}

/// A runtime for one thread, as the server's workers have it (`server/src/accepting.rs`).
fn runtime() -> io::Result<tokio::runtime::LocalRuntime> {
    Builder::new_current_thread().enable_all().event_interval(EVENT_INTERVAL).build_local(LocalOptions::default())
}

/// Opens the connections, and reports until the last of them is done.
async fn send(thread: &Rc<Thread>, number: usize, start: Duration, reports: &Sender<Report>) {
    let running = Rc::clone(thread);
    spawn_local(async move { running.deadlines.run(&Clock::new()).await });
    let running = Rc::clone(thread);
    spawn_local(async move {
        if let Err(error) = running.schedule.run().await {
            running.fail(error.into());
        }
    });
    for _ in 0..share(thread.plan.connections, thread.plan.threads, number) {
        let running = Rc::clone(thread);
        running.enter();
        spawn_local(async move {
            if running.plan.version == http::Version::HTTP_2 {
                http2::send(Rc::clone(&running)).await;
            } else {
                http1::send(Rc::clone(&running)).await;
            }
            running.leave();
        });
    }
    report(thread, start, reports).await;
}

/// Counts, until the last connection is done.
async fn report(thread: &Rc<Thread>, start: Duration, reports: &Sender<Report>) {
    let plan = &thread.plan;
    let began = start + plan.warm_up;
    if !plan.warm_up.is_zero() {
        thread.schedule.set_counts(false);
        wait_until(thread, began).await;
        thread.schedule.set_counts(true);
        drop(thread.tally.take());
    }
    let end = plan.duration.map(|duration| began + duration);
    let ticks_in_step = step(plan).as_millis() / TICK.as_millis();
    let (mut tick, mut before, mut at) = (0_u32, 0, monotonic());
    let mut interrupted = false;
    loop {
        tick += 1;
        let is_done = wait_until(thread, (began + TICK * tick).min(end.unwrap_or(Duration::MAX).max(at))).await;
        let now = monotonic();
        if let Some(rate) = rate(thread.tally.requests() - before, now - at) {
            // Nobody listens only where the run is over already.
            let _ = reports.send(Report::Rate(rate));
        }
        (before, at) = (thread.tally.requests(), now);
        if end.is_some_and(|end| now >= end) {
            thread.schedule.end();
        } else if thread.is_stopped() && !thread.schedule.is_over() {
            interrupted = true;
            thread.schedule.end();
        }
        if is_done || u128::from(tick) % ticks_in_step == 0 {
            let number = (u128::from(tick - 1) / ticks_in_step) as usize;
            let stretch = Box::new(thread.tally.take());
            before = 0;
            let _ = reports.send(Report::Step { number, stretch });
        }
        if is_done {
            let unsent = thread.schedule.unsent(end.unwrap_or(now).min(now));
            let _ = reports.send(Report::End(End { last: thread.tally.last(), unsent, interrupted }));
            return;
        }
    }
}

/// Waits until this moment, or until the last connection is done; says whether it is.
async fn wait_until(thread: &Thread, moment: Duration) -> bool {
    let instant = Instant::now() + moment.saturating_sub(monotonic());
    tokio::select! {
        () = thread.finished.notified() => true,
        () = sleep_until(instant) => false,
    }
}

/// Requests each second; none where the time was too short to tell.
fn rate(requests: u64, time: Duration) -> Option<u64> {
    (time > TICK / 2).then(|| (requests as f64 / time.as_secs_f64()) as u64)
}

/// How long the steps of a run are: a hundred of them, if possible.
pub(crate) fn step(plan: &Plan) -> Duration {
    let ticks = plan.duration.map_or(USUAL_TICKS, |duration| duration.as_millis() / 100 / TICK.as_millis());
    TICK * ticks.clamp(1, MOST_TICKS) as u32
}

/// The share of one of several, where all are to be shared out.
fn share(all: usize, several: usize, number: usize) -> usize {
    all / several + usize::from(number < all % several)
}

/// How often rates are sampled; wrk has the same.
const TICK: Duration = Duration::from_millis(100);

/// Of a step, where nobody knows how long the run will be.
const USUAL_TICKS: u128 = 5;

/// A live line that moves once a second is read as alive.
const MOST_TICKS: u128 = 10;

/// See `server/src/accepting.rs`: with tokio's 61 the kernel is asked once more in each round of more busy connections.
const EVENT_INTERVAL: u32 = 128;
