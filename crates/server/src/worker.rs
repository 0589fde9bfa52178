//! One thread of the server: a runtime, listening sockets, a clone of the handler, and the connections it accepted.

use std::{
    cell::Cell,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use serow_message::Handler;
use serow_net::{AcceptError, Accepted, Acceptor, Buffers, Clock, Deadlines, Listener, PAUSE_AFTER_EXHAUSTION};
use tokio::{
    runtime::{Builder, LocalOptions},
    sync::{Notify, watch},
    task::{JoinSet, spawn_local},
};

use crate::{AccessLog, Error, connection, settings::Settings, stop::Phase};

/// Makes the access log of a worker, on its thread.
pub(crate) type LogMaker = Arc<dyn Fn() -> Rc<dyn AccessLog> + Send + Sync>;

/// What the connections of a thread share.
pub(crate) struct Worker<H> {
    pub(crate) handler: H,
    pub(crate) settings: Settings,
    pub(crate) buffers: Buffers,
    pub(crate) clock: Clock,
    pub(crate) deadlines: Deadlines,
    pub(crate) log: Option<Rc<dyn AccessLog>>,
    draining: Cell<bool>,
    population: Arc<Population>,
    most_connections: usize,
}

/// The connections of a worker, counted.
#[derive(Debug, Default)]
pub(crate) struct Population {
    count: AtomicUsize,
    left: Notify,
}

/// One connection, as long as it lives.
#[derive(Debug)]
pub(crate) struct Inhabitant(Arc<Population>);

impl Drop for Inhabitant {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::Relaxed);
        self.0.left.notify_waiters();
    }
}

impl<H: Handler> Worker<H> {
    pub(crate) fn new(handler: H, settings: Settings, workers: usize, log: Option<&LogMaker>) -> Self {
        let most_connections = match settings.limits.connections {
            0 => usize::MAX,
            most => most.div_ceil(workers),
        };
        Self {
            handler,
            settings,
            buffers: Buffers::new(),
            clock: Clock::new(),
            deadlines: Deadlines::new(),
            log: log.map(|make| make()),
            draining: Cell::new(false),
            population: Arc::default(),
            most_connections,
        }
    }

    /// Whether the server is stopping: connections end with the response that is due.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// Serves until `stop` says otherwise.
    pub(crate) fn run(self, listeners: Vec<Listener>, stop: watch::Receiver<Phase>) -> Result<(), Error> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .event_interval(EVENT_INTERVAL)
            .build_local(LocalOptions::default())?;
        let worker = Rc::new(self);
        runtime.block_on(async {
            let ticking = Rc::clone(&worker);
            spawn_local(async move { ticking.deadlines.run(&ticking.clock).await });
            worker.serve(listeners, stop).await
        })
    }

    async fn serve(self: Rc<Self>, listeners: Vec<Listener>, mut stop: watch::Receiver<Phase>) -> Result<(), Error> {
        let mut accepting = JoinSet::new();
        for listener in listeners {
            let acceptor = Acceptor::new(listener)?;
            accepting.spawn_local(Rc::clone(&self).accept(acceptor, stop.clone()));
        }
        // An error means that nobody can stop the server any more, so that it is over.
        let _ = stop.wait_for(|phase| *phase >= Phase::Draining).await;
        self.draining.set(true);
        // What waits in the queues was accepted by the kernel in our name.
        while accepting.join_next().await.is_some() {}
        self.deadlines.wake_all();
        tokio::select! {
            () = self.population.wait_until(|count| count == 0) => {}
            () = tokio::time::sleep(self.settings.timeouts.grace) => {
                let count = self.population.count.load(Ordering::Relaxed);
                tracing::warn!(connections = count, "the grace time is over: cutting what still runs");
            }
            _ = stop.wait_for(|phase| *phase == Phase::Ended) => {}
        }
        Ok(())
    }

    /// Accepts until the server stops; then what is left in the queue.
    async fn accept(self: Rc<Self>, mut acceptor: Acceptor, mut stop: watch::Receiver<Phase>) {
        loop {
            if self.population.count.load(Ordering::Relaxed) >= self.most_connections && !self.is_draining() {
                tokio::select! {
                    () = self.population.wait_until(|count| count < self.most_connections) => {}
                    _ = stop.wait_for(|phase| *phase >= Phase::Draining) => {}
                }
            }
            let accepted = tokio::select! {
                biased;
                accepted = acceptor.accept() => accepted,
                _ = stop.wait_for(|phase| *phase >= Phase::Draining) => return,
            };
            match accepted {
                Ok(accepted) => self.start(accepted),
                Err(error @ AcceptError::Exhausted(_)) => {
                    tracing::warn!("{error}");
                    tokio::time::sleep(PAUSE_AFTER_EXHAUSTION).await;
                }
                Err(error @ AcceptError::Fatal(_)) => {
                    tracing::error!("{error}");
                    return;
                }
            }
        }
    }

    fn start(self: &Rc<Self>, accepted: Accepted) {
        self.population.count.fetch_add(1, Ordering::Relaxed);
        let inhabitant = Inhabitant(Arc::clone(&self.population));
        spawn_local(connection::serve(Rc::clone(self), accepted, inhabitant));
    }
}

impl Population {
    async fn wait_until(&self, enough: impl Fn(usize) -> bool) {
        loop {
            let left = self.left.notified();
            let mut left = std::pin::pin!(left);
            left.as_mut().enable();
            if enough(self.count.load(Ordering::Relaxed)) {
                return;
            }
            left.await;
        }
    }
}

/// Turns of tasks before the runtime looks for events of the system in between. tokio's 61 would ask the kernel once more
/// in each round of a server with more busy connections than that; when all tasks have had their turn it is asked anyway.
const EVENT_INTERVAL: u32 = 1024;
