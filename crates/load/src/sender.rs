//! A thread that sends: its runtime, its connections, and its reports.

use std::{
    rc::Rc,
    sync::{Arc, mpsc::Sender},
    time::Duration,
};

use serow_client::Destination;
use serow_net::{Clock, monotonic, thread_runtime};
use tokio::{
    task::spawn_local,
    time::{Instant, sleep_until},
};

use crate::{
    LoadError, Plan, Requests, http1,
    mix::Mix,
    multiplexed,
    script::Seat,
    source::Source,
    statistics::Stretch,
    thread::{RunState, Thread},
};

/// A report of a thread.
pub(crate) enum Report {
    /// Its counts in a step of the run; the first has number 0.
    Step { number: usize, stretch: Box<Stretch> },
    /// Requests each second, over the last tenth of a second.
    Rate(u64),
    /// It has ended.
    End(End),
    /// The run cannot go on.
    Failed(LoadError),
}

/// The last report of a thread.
pub(crate) struct End {
    /// When its last response was whole; zero where there was none.
    pub(crate) last_response: Duration,
    /// When its last request was answered or given up; zero where there was none.
    pub(crate) last: Duration,
    /// Requests that were due and not sent.
    pub(crate) unsent: u64,
    /// When it was stopped before its time, if it was.
    pub(crate) stopped: Option<Duration>,
}

/// The input of a thread.
pub(crate) struct Sending {
    pub(crate) plan: Plan,
    /// Which of the threads it is.
    pub(crate) number: usize,
    pub(crate) shared: Arc<RunState>,
    pub(crate) reports: Sender<Report>,
    /// Its part in the script, if there is one.
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
                // Without a runner there is no run, and the conductor knows why.
                let Some(runner) = seat.and_then(Seat::into_runner) else { return };
                if let (Destination::Tcp(address), Some(chosen)) = (&mut dialer.destination, runner.address()) {
                    *address = chosen;
                }
                Source::of_script(runner)
            }
        };
        let start = shared.start();
        let thread = Rc::new(Thread::new(&plan, dialer, source, Arc::clone(&shared), number, start));
        let sent = thread_runtime().map(|runtime| runtime.block_on(send(&thread, number, start, &reports)));
        let failure = thread.failure().or(sent.err().map(LoadError::from));
        if let Some(failure) = failure {
            shared.stop();
            // An error means that the run is over already.
            let _ = reports.send(Report::Failed(failure));
        }
        drop(reports);
        // The runtime is gone, and its tasks with it.
        if let Some(runner) = Rc::into_inner(thread).and_then(|thread| thread.into_source().into_script_runner()) {
            runner.serve_until_released();
        }
    }
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
            match running.plan.version {
                http::Version::HTTP_2 => multiplexed::send_http2(&running).await,
                http::Version::HTTP_3 => multiplexed::send_http3(&running).await,
                _ => http1::send(&running).await,
            }
            running.leave();
        });
    }
    let began = start + thread.plan.warm_up;
    let end = thread.plan.duration.map(|duration| began + duration);
    let mut reporter = Reporter { thread, reports, began, end, stopped: None, requests: 0, at: start };
    reporter.report().await;
}

/// Reports what the thread counts, and ends it when it is time.
struct Reporter<'a> {
    thread: &'a Thread,
    reports: &'a Sender<Report>,
    /// When counting begins.
    began: Duration,
    /// When no more requests are sent, if that is known.
    end: Option<Duration>,
    /// When it was stopped before its time, if it was.
    stopped: Option<Duration>,
    /// Requests of this step, at the last tick.
    requests: u64,
    /// When that was.
    at: Duration,
}

/// Whether a thread still has something to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    Left,
    Done,
}

impl Reporter<'_> {
    async fn report(&mut self) {
        if self.warm_up().await == Work::Left {
            self.count().await;
        }
        let end = self.end.into_iter().chain(self.stopped).min();
        let unsent = end.map_or(0, |end| self.thread.schedule.unsent(end.min(monotonic())));
        let statistics = &self.thread.statistics;
        let end =
            End { last_response: statistics.last_response(), last: statistics.last(), unsent, stopped: self.stopped };
        self.say(Report::End(end));
    }

    /// Nothing counts before the warm-up is over.
    async fn warm_up(&mut self) -> Work {
        self.thread.schedule.set_counts(self.began <= self.at);
        let mut work = Work::Left;
        while work == Work::Left && monotonic() < self.began {
            work = self.wait_until(self.began.min(monotonic() + TICK)).await;
        }
        self.thread.schedule.set_counts(true);
        self.thread.statistics.begin();
        work
    }

    /// Counts until the last connection is done.
    async fn count(&mut self) {
        let ticks_in_step = step(&self.thread.plan).as_millis() / TICK.as_millis();
        let mut tick = 0_u32;
        let mut work = Work::Left;
        self.at = self.began;
        while work == Work::Left {
            tick += 1;
            let next = self.began + TICK * tick;
            let moment = self.end.filter(|end| self.at < *end).map_or(next, |end| end.min(next));
            work = self.wait_until(moment).await;
            self.sample();
            if work == Work::Done || u128::from(tick) % ticks_in_step == 0 {
                let number = (u128::from(tick - 1) / ticks_in_step) as usize;
                self.say(Report::Step { number, stretch: Box::new(self.thread.statistics.take()) });
                self.requests = 0;
            }
        }
    }

    /// How fast it went since the last tick.
    fn sample(&mut self) {
        let (now, requests) = (monotonic(), self.thread.statistics.requests());
        let is_sending = self.end.is_none_or(|end| self.at < end) && self.stopped.is_none();
        if let Some(rate) = rate(requests - self.requests, now - self.at).filter(|_| is_sending) {
            self.say(Report::Rate(rate));
        }
        (self.requests, self.at) = (requests, now);
    }

    /// Waits until this moment, or until the last connection is done; ends the sending when it is time.
    async fn wait_until(&mut self, moment: Duration) -> Work {
        let instant = Instant::now() + moment.saturating_sub(monotonic());
        let work = tokio::select! {
            () = self.thread.finished.notified() => Work::Done,
            () = sleep_until(instant) => Work::Left,
        };
        let now = monotonic();
        if self.thread.is_stopped() {
            self.stopped.get_or_insert(now);
            self.thread.end();
        } else if self.end.is_some_and(|end| self.is_over(end, now)) {
            self.thread.end();
        }
        match self.stopped {
            // A user who stops the run wants to see the report, not to wait for a server that hangs.
            Some(stopped) if now >= stopped + GRACE => Work::Done,
            _ => work,
        }
    }

    /// Whether the time is over, and what was planned within it has been sent, or is too late.
    fn is_over(&self, end: Duration, now: Duration) -> bool {
        now >= end && (now >= end + LATENESS || self.thread.schedule.unsent(end) == 0)
    }

    fn say(&self, report: Report) {
        // An error means that the run is over already.
        let _ = self.reports.send(report);
    }
}

/// Requests each second; none where the time was too short to tell.
fn rate(requests: u64, time: Duration) -> Option<u64> {
    (time > TICK / 2).then(|| (requests as f64 / time.as_secs_f64()) as u64)
}

/// How long the steps of a run are: a hundred of them, if possible.
pub(crate) fn step(plan: &Plan) -> Duration {
    let ticks = plan.duration.map_or(USUAL_TICKS, |duration| duration.as_millis() / 100 / TICK.as_millis());
    TICK * ticks.clamp(1, MAX_TICKS) as u32
}

/// The share of one of several, where all are to be shared out.
fn share(all: usize, several: usize, number: usize) -> usize {
    all / several + usize::from(number < all % several)
}

/// How often rates are sampled; wrk has the same.
const TICK: Duration = Duration::from_millis(100);

/// How late planned requests may be sent behind the end: a busy machine lets a thread wait for some hundredths of a
/// second.
const LATENESS: Duration = TICK;

/// How long requests in flight are awaited after somebody stopped the run.
const GRACE: Duration = Duration::from_millis(500);

/// Of a step, where nobody knows how long the run will be.
const USUAL_TICKS: u128 = 5;

/// A live line that moves once a second is read as alive.
const MAX_TICKS: u128 = 10;
