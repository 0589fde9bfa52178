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
    pool::{Ahead, Asked, Census, Forgotten, Placement, Pool, Ticket, Turn},
    program::Interface,
    replies,
    report::Changes,
    request_error::Failure,
    settings::ApplicationSettings,
    threads::{ThisThread, Threads},
    ticket_sequence::Numbering,
    worker_link::Link,
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
    pool: Mutex<Pool<Arc<Sent>, Arc<Link>>>,
    /// Requests that crashed two workers each. Looked at when one crashes only.
    crashing: Mutex<CrashingRequests>,
    /// How many have been given.
    tickets: AtomicU64,
    /// What makes numbers of these.
    numbering: Numbering,
    pub(crate) changes: Changes,
    threads: Threads,
    /// Whether the server stops, for those who would otherwise go on for ever.
    stopping: watch::Sender<bool>,
}

impl Shared {
    /// What is shared of an application that so many threads ask.
    pub(crate) fn new(settings: ApplicationSettings, threads: usize) -> Self {
        let ahead = if settings.program.interface.is_concurrent() { Ahead::None } else { Ahead::Some };
        // Python and Perl count references, and have little to collect.
        let collection = settings.out_of_band_gc.filter(|_| settings.program.interface == Interface::Rack);
        Self {
            pool: Mutex::new(Pool::new(settings.run.queue.length, ahead).collect_after(collection)),
            crashing: Mutex::default(),
            tickets: AtomicU64::new(0),
            numbering: Numbering::random(),
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
    pub(crate) fn thread(self: &Arc<Self>) -> Result<usize, Failure> {
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

    /// How many requests have asked for a worker.
    pub(crate) fn requests(&self) -> u64 {
        self.tickets.load(Ordering::Relaxed)
    }

    /// A worker is ready for requests.
    pub(crate) fn join(&self, link: &Arc<Link>, lifetime: Option<u64>) {
        self.threads.tell(link);
        let concurrency = self.settings.concurrency.get();
        let held = {
            let mut pool = self.pool();
            pool.join(link.number, Arc::clone(link), concurrency, lifetime);
            pool.release()
        };
        // Some may have shown meanwhile that it is them who crash workers.
        let (crashing, again): (Vec<_>, Vec<_>) =
            held.into_iter().partition(|asked| self.is_crashing(&asked.content.line));
        crashing.iter().for_each(|asked| asked.content.exchange.push(Event::Failed(Failure::Died)));
        self.ask_again(again);
        self.send_queued();
    }

    /// A request asks for a worker.
    pub(crate) fn ask(&self, ticket: Ticket, sent: Arc<Sent>) {
        let now = monotonic();
        let asked = Asked { ticket, since: now, deaths: 0, content: sent };
        let placement = self.pool().ask(asked, now);
        match placement {
            Placement::Send(link, sent) => send(&link, &sent),
            Placement::Queued => {}
            Placement::Full(sent) => sent.exchange.push(Event::Failed(Failure::Full)),
        }
    }

    /// What follows when a worker has finished a request.
    pub(crate) fn take_turn(&self, link: &Arc<Link>, turn: Turn<Arc<Sent>, Arc<Link>>) {
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
    fn take_back(&self, link: &Link) -> Option<Asked<Arc<Sent>>> {
        while let Some(ticket) = untaken(link) {
            let asked = self.pool().taken_back(link.number, ticket, monotonic());
            if let Some(asked) = asked.filter(|asked| !asked.content.exchange.is_settled()) {
                return Some(asked);
            }
        }
        None
    }

    /// Takes all of them back.
    fn take_all_back(&self, link: &Link) -> Vec<Asked<Arc<Sent>>> {
        iter::from_fn(|| self.take_back(link)).collect()
    }

    fn ask_again(&self, asked: impl IntoIterator<Item = Asked<Arc<Sent>>>) {
        let placed = self.pool().ask_again(asked, monotonic());
        placed.iter().for_each(|(link, sent)| send(link, sent));
    }

    /// Nobody waits for this response any more; of a WebSocket, the worker is told code and reason.
    pub(crate) fn forget(&self, ticket: Ticket, exchange: &Exchange, content: &[u8]) {
        let has_begun = exchange.has_begun();
        exchange.abandon();
        let forgotten = self.pool().forget(ticket, monotonic());
        match forgotten {
            // It need not be the first of those that wait there.
            Forgotten::SentAhead(link) => self.ask_again(self.take_all_back(&link)),
            Forgotten::UnderWay(link) if self.settings.program.interface.is_concurrent() => {
                link.tell(messages::CANCEL, ticket, content);
            }
            // A worker that sends a long response is told; what stands before that in its socket is put behind it.
            Forgotten::UnderWay(link) if has_begun => {
                let others = self.take_all_back(&link);
                link.tell(messages::CANCEL, ticket, b"");
                self.ask_again(others);
            }
            Forgotten::UnderWay(_) | Forgotten::Unseen | Forgotten::Unknown => {}
        }
    }

    /// Fails what has waited for too long; says which workers take too long, after their requests have failed.
    pub(crate) fn look_at_clock(&self) -> Vec<Arc<Link>> {
        let now = monotonic();
        let mut pool = self.pool();
        let impatient = pool.impatient(self.settings.run.queue.timeout, now);
        let is_concurrent = self.settings.program.interface.is_concurrent();
        let (given_up, stuck) = match is_concurrent {
            true => (pool.give_up(self.settings.run.timeout, now), pool.stuck(LAST_PATIENCE, now)),
            false => (Vec::new(), Vec::new()),
        };
        let overdue = if is_concurrent { Vec::new() } else { pool.overdue(self.settings.run.timeout, now) };
        drop(pool);
        for (link, ticket, sent) in given_up {
            sent.exchange.push(Event::Failed(Failure::Late));
            link.tell(messages::GIVE_UP, ticket, b"");
        }
        for asked in impatient {
            asked.content.exchange.push(Event::Failed(Failure::Impatient));
        }
        let overdue = overdue.into_iter().map(|(link, asked)| {
            asked.iter().for_each(|sent| sent.exchange.push(Event::Failed(Failure::Overdue)));
            link
        });
        overdue.chain(stuck).collect()
    }

    /// How long no request can become overdue.
    pub(crate) fn time_left(&self) -> Duration {
        self.pool().time_left(self.settings.run.queue.timeout, self.settings.run.timeout, monotonic())
    }

    /// This worker gets no more requests, and leaves when it has finished those it has.
    pub(crate) fn retire(&self, link: &Link) {
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
    pub(crate) fn leave(&self, link: &Link) {
        self.pool().retire(link.number);
        self.ask_again(self.take_all_back(link));
    }

    /// Whether this worker takes requests, or has some.
    pub(crate) fn has(&self, link: &Link) -> bool {
        self.pool().has(link.number)
    }

    /// Whether this worker has a request that anybody waits for.
    pub(crate) fn is_awaited(&self, link: &Link) -> bool {
        self.pool().is_awaited(link.number)
    }

    /// Workers that have had as many requests as they may.
    pub(crate) fn aged(&self) -> Vec<u64> {
        self.pool().aged()
    }

    /// The worker that has had most requests, where those are so many at least.
    pub(crate) fn warmest(&self, least: u64) -> Option<u64> {
        self.pool().warmest(least)
    }

    /// How many requests and workers there are.
    pub(crate) fn census(&self) -> Census {
        self.pool().census()
    }

    /// No code panics while it holds this lock, so a poisoned one is as good as any.
    pub(crate) fn pool(&self) -> MutexGuard<'_, Pool<Arc<Sent>, Arc<Link>>> {
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads what each worker that comes replies to this thread.
async fn receive_links(shared: Arc<Shared>, thread: usize, mut links: UnboundedReceiver<Arc<Link>>) {
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
fn untaken(link: &Link) -> Option<Ticket> {
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
fn send(link: &Link, sent: &Sent) {
    link.send(&sent.packet);
}

/// How long a worker may take to give up a request that took too long: its event loop stands still if it needs longer.
const LAST_PATIENCE: Duration = Duration::from_secs(5);
