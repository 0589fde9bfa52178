//! How an application is doing.

use std::{sync::atomic::Ordering, time::Duration};

use serow_message::Method;

use crate::{pool::WorkerCounts, shared_state::ApplicationState};

/// How an application is doing, since its first workers were started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationReport {
    /// How it is called.
    pub name: String,
    /// How many workers it is to have.
    pub wanted: usize,
    /// Its current workers and requests.
    pub counts: WorkerCounts,
    /// Requests that were passed to the pool.
    pub requests: u64,
    /// Workers that were replaced for their age or memory, or that exited on their own.
    pub replaced: u64,
    /// Workers that ended unasked, those included that took too long.
    pub deaths: u64,
    /// How long requests waited for a worker, in classes: the longest duration that belongs to each, and how many there
    /// are. Those count that a worker has finished; classes without any are left out.
    pub queue_times: Vec<(Duration, u64)>,
    /// How long workers had these requests, in such classes.
    pub work_times: Vec<(Duration, u64)>,
    /// The requests that workers have now, at most [`MAX_RUNNING`]; those that take longest come first.
    pub running: Vec<RunningRequest>,
}

/// A request that a worker has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningRequest {
    /// The index of the worker, from 1.
    pub worker: usize,
    /// Its process id.
    pub pid: Option<i32>,
    /// How long it has had the request.
    pub took: Duration,
    /// The method.
    pub method: Method,
    /// The path as received, without the query, which may hold secrets.
    pub path: String,
}

/// Requests in a report at most: a worker of an ASGI application may have thousands.
pub const MAX_RUNNING: usize = 100;

impl ApplicationReport {
    /// How it is now.
    pub(crate) fn of(shared: &ApplicationState) -> Self {
        Self {
            name: shared.settings.run.name.clone(),
            wanted: shared.settings.run.processes.get(),
            counts: shared.counts(),
            requests: shared.requests(),
            replaced: shared.changes.replaced.load(Ordering::Relaxed),
            deaths: shared.changes.deaths.load(Ordering::Relaxed),
            queue_times: shared.times.queued.classes().collect(),
            work_times: shared.times.worked.classes().collect(),
            running: running(shared),
        }
    }
}

fn running(shared: &ApplicationState) -> Vec<RunningRequest> {
    let running = shared.running().into_iter().take(MAX_RUNNING);
    let running = running.map(|(link, sent, took)| RunningRequest {
        worker: link.place,
        pid: link.pid(),
        took,
        method: sent.line.method.clone(),
        path: sent.line.target.path().to_owned(),
    });
    running.collect()
}
