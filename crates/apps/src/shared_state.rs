//! The state that an application's threads and its worker manager share.

mod cancellation;
mod crashes;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serow_gateway::{CrashingRequests, RequestLine, SpooledFile};
use serow_message::StatusCode;
use serow_net::monotonic;
use tokio::{
    sync::{mpsc::UnboundedReceiver, watch},
    task::spawn_local,
};

use crate::{
    attempt_notes::AttemptNotes,
    counters::{Changes, Times},
    exchange::{Event, Exchange},
    messages,
    pool::{NextSteps, Placement, Pool, PoolRequest, SendAhead, Ticket, TimeLimits, WorkerCounts},
    program::Interface,
    replies,
    request_error::RequestError,
    settings::ApplicationSettings,
    threads::{ThisThread, Threads},
    ticket_sequence::TicketSequence,
    worker_link::WorkerLink,
};
use serow_processes::RunSettings;

/// The content of a request in the pool: the packet, and the task that waits for the response.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) packet: Vec<u8>,
    /// The body, where it is a file, for which the worker asks.
    pub(crate) body: Option<SpooledFile>,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) line: RequestLine,
    /// For the access log.
    pub(crate) notes: Option<AttemptNotes>,
}

/// Workers with requests that have exceeded their time limits.
#[derive(Debug)]
pub(crate) struct OverdueWorkers {
    /// They get no more requests. One is named for each of its overdue requests.
    pub(crate) retired: Vec<Arc<WorkerLink>>,
    /// They are killed.
    pub(crate) stuck: Vec<Arc<WorkerLink>>,
}

/// The shared state of an application.
#[derive(Debug)]
pub(crate) struct ApplicationState {
    pub(crate) settings: ApplicationSettings,
    /// The only lock in the path of a request: one queue for all threads and workers makes balancing exact. It is held
    /// only to find a place in a short list.
    pool: Mutex<Pool<Arc<Sent>, Arc<WorkerLink>>>,
    /// Requests that crashed two workers each. Looked at when one crashes only.
    crashing: Mutex<CrashingRequests>,
    /// How many have been given.
    tickets: AtomicU64,
    /// Turns the counter into unpredictable numbers.
    numbering: TicketSequence,
    pub(crate) changes: Changes,
    pub(crate) times: Times,
    threads: Threads,
    /// Notifies long-lived connections that the server stops.
    stopping: watch::Sender<bool>,
}

impl ApplicationState {
    /// The state of an application with this number of threads.
    pub(crate) fn new(settings: ApplicationSettings, threads: usize) -> Self {
        let ahead = if settings.program.interface.is_concurrent() { SendAhead::None } else { SendAhead::Some };
        // Python and Perl count references, and have little to collect.
        let collection = settings.out_of_band_gc.filter(|_| settings.program.interface == Interface::Rack);
        Self {
            pool: Mutex::new(Pool::new(settings.run.queue.length, ahead).collect_after(collection)),
            crashing: Mutex::default(),
            tickets: AtomicU64::new(0),
            numbering: TicketSequence::random(),
            changes: Changes::default(),
            times: Times::default(),
            threads: Threads::new(threads),
            stopping: watch::Sender::new(false),
            settings,
        }
    }

    /// How many threads may ask.
    pub(crate) fn threads(&self) -> usize {
        self.threads.count()
    }

    /// The index of this thread. With its first request, the thread starts to receive the replies of workers.
    pub(crate) fn thread(self: &Arc<Self>) -> Result<usize, RequestError> {
        match self.threads.this()? {
            ThisThread::Known(thread) => Ok(thread),
            ThisThread::New(thread, links) => {
                spawn_local(receive_links(Arc::clone(self), thread, links));
                Ok(thread)
            }
        }
    }

    pub(crate) fn ticket(&self) -> Ticket {
        self.numbering.ticket(self.tickets.fetch_add(1, Ordering::Relaxed))
    }

    /// How many requests have request for a worker.
    pub(crate) fn requests(&self) -> u64 {
        self.tickets.load(Ordering::Relaxed)
    }

    /// Workers are ready for requests: each with the number of requests in its lifetime.
    pub(crate) fn join(&self, joining: &[(Arc<WorkerLink>, Option<u64>)], others: OtherWorkers) {
        joining.iter().for_each(|(link, _)| self.threads.announce(link));
        let concurrency = self.settings.concurrency.get();
        let held = {
            let mut pool = self.pool();
            if others == OtherWorkers::Retire {
                pool.retire_all();
            }
            for (link, lifetime) in joining {
                pool.join(link.number, Arc::clone(link), concurrency, *lifetime);
            }
            pool.release()
        };
        // Meanwhile, some of them may have proved to crash workers.
        let (crashing, again): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|request| self.is_crashing(&request.content.line));
        crashing.iter().for_each(|request| request.content.exchange.push(Event::Failed(RequestError::WorkerCrashed)));
        self.ask_again(again);
        self.send_queued();
    }

    /// A request asks for a worker.
    pub(crate) fn ask(&self, ticket: Ticket, sent: Arc<Sent>) {
        let now = monotonic();
        let request = PoolRequest { ticket, since: now, crashes: 0, content: sent };
        let placement = self.pool().ask(request, now);
        match placement {
            Placement::Send(link, sent) => send(&link, &sent),
            Placement::Queued => {}
            Placement::Full(sent) => sent.exchange.push(Event::Failed(RequestError::QueueFull)),
        }
    }

    /// Carries out the next steps after a worker has finished a request.
    pub(crate) fn carry_out(&self, link: &Arc<WorkerLink>, next_steps: NextSteps<Arc<Sent>, Arc<WorkerLink>>) {
        if let Some(sent) = next_steps.send {
            send(link, &sent);
        }
        if let Some(other) = next_steps.relieve {
            self.ask_again(self.take_back(&other));
        }
        if next_steps.has_next {
            self.send_queued();
        }
        if let Some(ticket) = next_steps.collect {
            link.send_message(messages::COLLECT, ticket, b"");
        }
        if next_steps.dismiss {
            link.dismiss();
        }
    }

    /// Sends queued requests as far as workers have room.
    fn send_queued(&self) {
        while let Some((link, sent)) = { self.pool().next(monotonic()) } {
            send(&link, &sent);
        }
    }

    pub(crate) fn ask_again(&self, request: impl IntoIterator<Item = PoolRequest<Arc<Sent>>>) {
        let placed = self.pool().ask_again(request, monotonic());
        placed.iter().for_each(|(link, sent)| send(link, sent));
    }

    /// How long requests may take.
    fn time_limits(&self) -> TimeLimits {
        let RunSettings { queue, timeout, transfer_timeout, .. } = &self.settings.run;
        let (queue, response) = (queue.timeout, *timeout);
        match self.settings.program.interface.is_concurrent() {
            true => {
                let (silence, kill_after) = (None, LAST_GRACE);
                TimeLimits { queue, response, silence, kill_after, kill_when_unawaited: false }
            }
            false => {
                let (silence, kill_after) = (Some(transfer_timeout.unwrap_or(SILENCE)), response);
                TimeLimits { queue, response, silence, kill_after, kill_when_unawaited: true }
            }
        }
    }

    /// Fails requests that have exceeded their time limits; returns their workers.
    pub(crate) fn enforce_time_limits(&self) -> OverdueWorkers {
        let (now, limits) = (monotonic(), self.time_limits());
        let mut pool = self.pool();
        let queue_timed_out = pool.queue_timed_out(&limits, now);
        let given_up = pool.give_up(&limits, now);
        let stuck = pool.stuck(&limits, now);
        pool.note_look(now);
        drop(pool);
        for request in queue_timed_out {
            request.content.notes.iter().for_each(|notes| notes.note_wait(&self.settings.run.name));
            request.content.exchange.push(Event::Failed(RequestError::QueueTimedOut));
        }
        let mut retired = Vec::new();
        for (link, ticket, sent) in given_up {
            let times = sent.notes.as_ref().and_then(|_| self.pool().times(link.number, ticket, now));
            if let (Some(notes), Some(times)) = (&sent.notes, times) {
                notes.note_failure(&link.name(), times, StatusCode::GATEWAY_TIMEOUT);
            }
            if self.settings.program.interface.is_concurrent() {
                sent.exchange.push(Event::Failed(RequestError::TimedOut));
                link.send_message(messages::GIVE_UP, ticket, b"");
            } else {
                sent.exchange.push(Event::Failed(RequestError::WorkerTimedOut));
                retired.push(link);
            }
        }
        OverdueWorkers { retired, stuck }
    }

    /// How long no request can become overdue.
    pub(crate) fn time_left(&self) -> Duration {
        self.pool().time_left(&self.time_limits(), monotonic())
    }

    /// This worker gets no more requests, and leaves when it has finished those it has.
    pub(crate) fn retire(&self, link: &WorkerLink) {
        link.retire();
        if self.pool().retire(link.number) {
            link.dismiss();
        }
    }

    /// The server stops.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Notifies when the server stops.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Whether this worker takes requests, or has some.
    pub(crate) fn has(&self, link: &WorkerLink) -> bool {
        self.pool().has(link.number)
    }

    /// Whether anybody waits for a request of this worker.
    pub(crate) fn has_awaited_request(&self, link: &WorkerLink) -> bool {
        self.pool().has_awaited_request(link.number)
    }

    /// Workers that have had as many requests as they may.
    pub(crate) fn aged(&self) -> Vec<u64> {
        self.pool().aged()
    }

    /// The worker that has handled the most requests, if at least this many.
    pub(crate) fn warmest(&self, min_requests: u64) -> Option<u64> {
        self.pool().warmest(min_requests)
    }

    /// The requests that workers have now; those that take longest come first.
    pub(crate) fn running(&self) -> Vec<(Arc<WorkerLink>, Arc<Sent>, Duration)> {
        self.pool().running(monotonic())
    }

    /// How many requests and workers there are.
    pub(crate) fn counts(&self) -> WorkerCounts {
        self.pool().counts()
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    pub(crate) fn pool(&self) -> MutexGuard<'_, Pool<Arc<Sent>, Arc<WorkerLink>>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The workers that are in the pool when others join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OtherWorkers {
    /// They go on.
    Keep,
    /// They get no more requests: once a client has had a response of the new code, no request is answered by the old.
    Retire,
}

/// Receives the replies of each new worker to this thread.
async fn receive_links(shared: Arc<ApplicationState>, thread: usize, mut links: UnboundedReceiver<Arc<WorkerLink>>) {
    while let Some(link) = links.recv().await {
        let shared = Arc::clone(&shared);
        spawn_local(async move {
            replies::read(&shared, &link, thread).await;
            if link.end_reading() {
                shared.lose(&link);
            }
        });
    }
}

/// Sends a request to a worker.
fn send(link: &WorkerLink, sent: &Sent) {
    link.send(&sent.packet);
}

/// How long a worker may be silent in the middle of a response by default. Streams of events usually send something
/// each half minute or so, since nginx ends those that are silent for a minute; one that does not may be in order, too.
const SILENCE: Duration = Duration::from_secs(300);

/// How long a worker may take to give up a request that took too long: its event loop stands still if it needs longer.
const LAST_GRACE: Duration = Duration::from_secs(5);
