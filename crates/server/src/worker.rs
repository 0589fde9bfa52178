//! What the connections of a thread share.

use std::{cell::Cell, rc::Rc, sync::Arc};

use serow_net::{Buffers, Clock, Deadlines};

use crate::{AccessLog, population::Population, settings::Settings};

/// Makes the access log of a worker, on its thread.
pub(crate) type LogMaker = Arc<dyn Fn() -> Rc<dyn AccessLog> + Send + Sync>;

/// A thread's clone of the handler, and what its connections need besides.
pub(crate) struct Worker<H> {
    pub(crate) handler: H,
    pub(crate) settings: Settings,
    pub(crate) buffers: Buffers,
    pub(crate) clock: Clock,
    pub(crate) deadlines: Deadlines,
    pub(crate) log: Option<Rc<dyn AccessLog>>,
    pub(crate) population: Population,
    draining: Cell<bool>,
    /// Of how many workers this is one.
    workers: usize,
}

impl<H> Worker<H> {
    /// One of so many workers; to be made on its thread.
    pub(crate) fn new(handler: H, settings: Settings, workers: usize, log: Option<&LogMaker>) -> Self {
        Self {
            handler,
            settings,
            buffers: Buffers::new(),
            clock: Clock::new(),
            deadlines: Deadlines::new(),
            log: log.map(|make| make()),
            population: Population::default(),
            draining: Cell::new(false),
            workers,
        }
    }

    /// Connections that this worker may have at the same time: its share of all.
    pub(crate) fn most_connections(&self) -> usize {
        match self.settings.limits.connections {
            0 => usize::MAX,
            most => most.div_ceil(self.workers),
        }
    }

    /// Whether the server is stopping: connections end with the response that is due.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.get()
    }

    /// From now on connections end with the response that is due.
    pub(crate) fn begin_draining(&self) {
        self.draining.set(true);
    }
}
