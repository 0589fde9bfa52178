//! The threads that ask an application, and where each is told of workers that come.

use std::{
    cell::RefCell,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::{messages::MAX_THREADS, request_error::RequestError, worker_link::WorkerLink};

/// All threads that may ask an application.
#[derive(Debug)]
pub(crate) struct Threads {
    /// The application's number.
    application: usize,
    ports: Vec<Mutex<Port>>,
    next: AtomicUsize,
}

/// Where a thread is told of workers that come.
#[derive(Debug, Default)]
struct Port {
    /// Those who are there.
    links: Vec<Arc<WorkerLink>>,
    /// The thread, once it has asked for the first time.
    thread: Option<UnboundedSender<Arc<WorkerLink>>>,
}

/// Which thread asks.
#[derive(Debug)]
pub(crate) enum ThisThread {
    /// This one, which has asked before.
    Known(usize),
    /// This one, for the first time: it is told of workers here, all that there are and all that come.
    New(usize, UnboundedReceiver<Arc<WorkerLink>>),
}

thread_local! {
    /// Which thread this is for each application, by their numbers.
    static THREADS: RefCell<Vec<Option<usize>>> = const { RefCell::new(Vec::new()) };
}

impl Threads {
    /// For an application that so many may ask.
    pub(crate) fn new(count: usize) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let ports = (0..count.clamp(1, MAX_THREADS)).map(|_| Mutex::default()).collect();
        Self { application: NEXT.fetch_add(1, Ordering::Relaxed), ports, next: AtomicUsize::new(0) }
    }

    /// How many may ask.
    pub(crate) fn count(&self) -> usize {
        self.ports.len()
    }

    /// Which thread this is.
    ///
    /// # Errors
    ///
    /// When more ask than were to.
    pub(crate) fn this(&self) -> Result<ThisThread, RequestError> {
        let known = THREADS.with_borrow(|threads| threads.get(self.application).copied().flatten());
        if let Some(thread) = known {
            return Ok(ThisThread::Known(thread));
        }
        let thread = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = unbounded_channel();
        {
            let mut port = lock(self.ports.get(thread).ok_or(RequestError::TooManyThreads)?);
            for link in port.links.drain(..) {
                link.begin_reading();
                // The receiver is ours and open.
                let _ = sender.send(link);
            }
            port.thread = Some(sender);
        }
        THREADS.with_borrow_mut(|threads| {
            if threads.len() <= self.application {
                threads.resize(self.application + 1, None);
            }
            threads[self.application] = Some(thread);
        });
        Ok(ThisThread::New(thread, receiver))
    }

    /// A worker comes: all threads that ask are told, now or when they first do.
    pub(crate) fn tell(&self, link: &Arc<WorkerLink>) {
        for port in &self.ports {
            let mut port = lock(port);
            match &port.thread {
                Some(thread) => {
                    link.begin_reading();
                    if thread.send(Arc::clone(link)).is_err() {
                        link.end_reading();
                    }
                }
                None => {
                    port.links.retain(|link| !link.is_over());
                    port.links.push(Arc::clone(link));
                }
            }
        }
    }
}

/// No code panics while it holds this lock, so a poisoned one is as good as any.
fn lock(port: &Mutex<Port>) -> MutexGuard<'_, Port> {
    port.lock().unwrap_or_else(PoisonError::into_inner)
}
