//! An application: what its threads, its workers and their keeper share.

mod crashes;

use std::{
    iter,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use serow_gateway::{CrashingRequests, RequestLine, SpooledFile};
use serow_net::monotonic;
use tokio::{
    sync::{mpsc::UnboundedReceiver, watch},
    task::spawn_local,
};

use crate::{
    exchange::{Event, Exchange},
    messages,
    pool::{Cancelled, NextSteps, Placement, Pool, PoolRequest, SendAhead, Ticket, WorkerCounts},
    program::Interface,
    replies,
    report::Changes,
    request_error::RequestError,
    settings::ApplicationSettings,
    threads::{ThisThread, Threads},
    ticket_sequence::TicketSequence,
    worker_link::WorkerLink,
};

/// What a request is for the pool: what is sent, and who waits.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) packet: Vec<u8>,
    /// The body, where it is a file, for which the worker asks.
    pub(crate) body: Option<SpooledFile>,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) line: RequestLine,
}

/// What is shared.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) settings: ApplicationSettings,
    /// The one lock on the way of a request: one queue for all threads and workers is what makes balancing exact. It is held
    /// for as long as it takes to find a place in a short list.
    pool: Mutex<Pool<Arc<Sent>, Arc<WorkerLink>>>,
    /// Requests that crashed two workers each. Looked at when one crashes only.
    crashing: Mutex<CrashingRequests>,
    /// How many have been given.
    tickets: AtomicU64,
    /// What makes numbers of these.
    numbering: TicketSequence,
    pub(crate) changes: Changes,
    threads: Threads,
    /// Whether the server stops, for those who would otherwise go on for ever.
    stopping: watch::Sender<bool>,
}

impl Shared {
    /// What is shared of an application that so many threads ask.
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
            threads: Threads::new(threads),
            stopping: watch::Sender::new(false),
            settings,
        }
    }

    /// How many threads may ask.
    pub(crate) fn threads(&self) -> usize {
        self.threads.count()
    }

    /// Which thread this is. With its first request it begins to read what workers reply to it.
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

    /// A worker is ready for requests.
    pub(crate) fn join(&self, link: &Arc<WorkerLink>, lifetime: Option<u64>) {
        self.threads.tell(link);
        let concurrency = self.settings.concurrency.get();
        let held = {
            let mut pool = self.pool();
            pool.join(link.number, Arc::clone(link), concurrency, lifetime);
            pool.release()
        };
        // Some may have shown meanwhile that it is them who crash workers.
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

    /// What follows when a worker has finished a request.
    pub(crate) fn take_turn(&self, link: &Arc<WorkerLink>, turn: NextSteps<Arc<Sent>, Arc<WorkerLink>>) {
        if let Some(sent) = turn.send {
            send(link, &sent);
        }
        if let Some(other) = turn.relieve {
            self.ask_again(self.take_back(&other));
        }
        if turn.has_next {
            self.send_queued();
        }
        if let Some(ticket) = turn.collect {
            link.tell(messages::COLLECT, ticket, b"");
        }
        if turn.dismiss {
            link.dismiss();
        }
    }

    /// Sends what waits in the queue, as far as there is room for it.
    fn send_queued(&self) {
        while let Some((link, sent)) = { self.pool().next(monotonic()) } {
            send(&link, &sent);
        }
    }

    /// Takes the first request back that a worker has not taken yet and that somebody waits for.
    fn take_back(&self, link: &WorkerLink) -> Option<PoolRequest<Arc<Sent>>> {
        while let Some(ticket) = untaken(link) {
            let request = self.pool().taken_back(link.number, ticket, monotonic());
            if let Some(request) = request.filter(|request| !request.content.exchange.is_settled()) {
                return Some(request);
            }
        }
        None
    }

    /// Takes all of them back.
    fn take_all_back(&self, link: &WorkerLink) -> Vec<PoolRequest<Arc<Sent>>> {
        iter::from_fn(|| self.take_back(link)).collect()
    }

    fn ask_again(&self, request: impl IntoIterator<Item = PoolRequest<Arc<Sent>>>) {
        let placed = self.pool().ask_again(request, monotonic());
        placed.iter().for_each(|(link, sent)| send(link, sent));
    }

    /// Nobody waits for this response any more; of a WebSocket, the worker is told code and reason.
    pub(crate) fn forget(&self, ticket: Ticket, exchange: &Exchange, content: &[u8]) {
        let has_begun = exchange.has_begun();
        exchange.abandon();
        let forgotten = self.pool().forget(ticket, monotonic());
        match forgotten {
            // It need not be the first of those that wait there.
            Cancelled::SentAhead(link) => self.ask_again(self.take_all_back(&link)),
            Cancelled::InFlight(link) if self.settings.program.interface.is_concurrent() => {
                link.tell(messages::CANCEL, ticket, content);
            }
            // A worker that sends a long response is told; what stands before that in its socket is put behind it.
            Cancelled::InFlight(link) if has_begun => {
                let others = self.take_all_back(&link);
                link.tell(messages::CANCEL, ticket, b"");
                self.ask_again(others);
            }
            Cancelled::InFlight(_) | Cancelled::Unseen | Cancelled::Unknown => {}
        }
    }

    /// Fails what has waited for too long; says which workers take too long, after their requests have failed.
    pub(crate) fn look_at_clock(&self) -> Vec<Arc<WorkerLink>> {
        let now = monotonic();
        let mut pool = self.pool();
        let queue_timed_out = pool.queue_timed_out(self.settings.run.queue.timeout, now);
        let is_concurrent = self.settings.program.interface.is_concurrent();
        let (given_up, stuck) = match is_concurrent {
            true => (pool.give_up(self.settings.run.timeout, now), pool.stuck(LAST_GRACE, now)),
            false => (Vec::new(), Vec::new()),
        };
        let overdue = if is_concurrent { Vec::new() } else { pool.overdue(self.settings.run.timeout, now) };
        pool.note_look(now);
        drop(pool);
        for (link, ticket, sent) in given_up {
            sent.exchange.push(Event::Failed(RequestError::TimedOut));
            link.tell(messages::GIVE_UP, ticket, b"");
        }
        for request in queue_timed_out {
            request.content.exchange.push(Event::Failed(RequestError::QueueTimedOut));
        }
        let overdue = overdue.into_iter().map(|(link, request)| {
            request.iter().for_each(|sent| sent.exchange.push(Event::Failed(RequestError::WorkerTimedOut)));
            link
        });
        overdue.chain(stuck).collect()
    }

    /// How long no request can become overdue.
    pub(crate) fn time_left(&self) -> Duration {
        self.pool().time_left(self.settings.run.queue.timeout, self.settings.run.timeout, monotonic())
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

    /// Where it is told that the server stops.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// This worker takes nothing more; what was sent ahead to it goes to others.
    pub(crate) fn leave(&self, link: &WorkerLink) {
        self.pool().retire(link.number);
        self.ask_again(self.take_all_back(link));
    }

    /// Whether this worker takes requests, or has some.
    pub(crate) fn has(&self, link: &WorkerLink) -> bool {
        self.pool().has(link.number)
    }

    /// Whether this worker has a request that anybody waits for.
    pub(crate) fn has_awaited_request(&self, link: &WorkerLink) -> bool {
        self.pool().has_awaited_request(link.number)
    }

    /// Workers that have had as many requests as they may.
    pub(crate) fn aged(&self) -> Vec<u64> {
        self.pool().aged()
    }

    /// The worker that has had most requests, where those are so many at min_requests.
    pub(crate) fn warmest(&self, min_requests: u64) -> Option<u64> {
        self.pool().warmest(min_requests)
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

/// Reads what each worker that comes replies to this thread.
async fn receive_links(shared: Arc<Shared>, thread: usize, mut links: UnboundedReceiver<Arc<WorkerLink>>) {
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

/// Takes the first request that a worker has not taken. Word of clients that are gone stays where it is.
fn untaken(link: &WorkerLink) -> Option<Ticket> {
    let mut words = Vec::new();
    let mut ticket = None;
    while let Ok(Some(message)) = link.untaken.try_receive() {
        ticket = messages::ticket_of(&message.bytes);
        if ticket.is_some() {
            break;
        }
        words.push(message.bytes);
    }
    // One that is gone need not be told.
    words.iter().for_each(|word| drop(link.requests.send(word, &[])));
    ticket
}

/// Hands a request to a worker.
fn send(link: &WorkerLink, sent: &Sent) {
    link.send(&sent.packet);
}

/// How long a worker may take to give up a request that took too long: its event loop stands still if it needs longer.
const LAST_GRACE: Duration = Duration::from_secs(5);
