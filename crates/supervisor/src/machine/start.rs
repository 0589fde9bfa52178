//! Workers that are being started, until all of them are up.

use std::{collections::VecDeque, time::Duration};

use super::{
    Action, Event, MachineSettings, Readiness,
    worker::{LEAST_INTERVAL, Worker},
};

/// Workers that are being started together. Each is restarted until it is up.
#[derive(Debug, Default)]
pub(super) struct Start {
    places: Vec<WorkerSlot>,
}

/// The slot of one worker.
#[derive(Debug)]
enum WorkerSlot {
    /// The next attempt is at this time.
    Waiting(Duration),
    /// It is being spawned.
    Spawning,
    /// It runs, and is not up yet.
    Trying(Worker),
    /// It was not up in time, and was killed.
    Killed(Worker),
    Up(Worker),
}

impl Start {
    /// Spawns this many.
    pub(super) fn new(generation: u64, count: usize, actions: &mut VecDeque<Action>) -> Self {
        actions.extend((0..count).map(|_| Action::Spawn(generation)));
        Self { places: (0..count).map(|_| WorkerSlot::Spawning).collect() }
    }

    /// One, at this time.
    pub(super) fn waiting(until: Duration) -> Self {
        Self { places: vec![WorkerSlot::Waiting(until)] }
    }

    /// One more, at this time.
    pub(super) fn add(&mut self, until: Duration) {
        self.places.push(WorkerSlot::Waiting(until));
    }

    /// The workers, once all are up.
    pub(super) fn take_complete(&mut self) -> Option<Vec<Worker>> {
        let complete = self.places.iter().all(|place| matches!(place, WorkerSlot::Up(_)));
        complete.then(|| std::mem::take(self).into_workers().collect())
    }

    /// Those that run, up or not.
    pub(super) fn into_workers(self) -> impl Iterator<Item = Worker> {
        self.places.into_iter().filter_map(|place| match place {
            WorkerSlot::Trying(worker) | WorkerSlot::Killed(worker) | WorkerSlot::Up(worker) => Some(worker),
            WorkerSlot::Waiting(_) | WorkerSlot::Spawning => None,
        })
    }

    /// The time of the next deadline.
    pub(super) fn deadline(&self, settings: &MachineSettings) -> Option<Duration> {
        self.places.iter().filter_map(|place| place.deadline(settings)).min()
    }

    /// Handles an event of a single worker.
    pub(super) fn handle(
        &mut self,
        now: Duration,
        event: &Event,
        settings: &MachineSettings,
        actions: &mut VecDeque<Action>,
    ) {
        let place = self.places.iter_mut().find(|place| match (event, place) {
            (Event::Spawned { .. } | Event::NotSpawned(_), WorkerSlot::Spawning) => true,
            (Event::Notified(pid), WorkerSlot::Trying(worker)) => {
                worker.pid == *pid && settings.readiness == Readiness::Interval
            }
            (Event::Healthy(pid), WorkerSlot::Trying(worker)) => worker.pid == *pid,
            _ => false,
        });
        let Some(place) = place else { return };
        match event {
            &Event::Spawned { generation, pid } => {
                actions.push_back(Action::Log(format!("starting new worker {pid}")));
                *place = WorkerSlot::Trying(Worker { generation, pid, since: now, told_to_end: false });
            }
            Event::NotSpawned(reason) => {
                actions.push_back(Action::Log(format!("cannot start a new worker: {reason}")));
                *place = WorkerSlot::Waiting(now.saturating_add(settings.interval.max(LEAST_INTERVAL)));
            }
            _ => place.rise(),
        }
    }

    /// Handles the passing of time: some workers are up, some are late, some are started again, those as one
    /// generation.
    pub(super) fn handle_time(
        &mut self,
        now: Duration,
        settings: &MachineSettings,
        generation: &mut u64,
        actions: &mut VecDeque<Action>,
    ) {
        let due = |place: &WorkerSlot| place.deadline(settings).is_some_and(|deadline| deadline <= now);
        let mut spawning = false;
        for place in self.places.iter_mut().filter(|place| due(place)) {
            match (&place, settings.readiness) {
                (WorkerSlot::Waiting(_), _) => {
                    *generation += u64::from(!spawning);
                    spawning = true;
                    actions.push_back(Action::Spawn(*generation));
                    *place = WorkerSlot::Spawning;
                }
                (WorkerSlot::Trying(worker), Readiness::Health(timeout)) => {
                    let (pid, timeout) = (worker.pid, super::seconds(timeout));
                    let line = format!("new worker {pid} is not healthy after {timeout} secs, sending KILL");
                    actions.push_back(Action::Log(line));
                    actions.push_back(Action::Kill("KILL".to_owned(), vec![pid]));
                    *place = WorkerSlot::Killed(worker.clone());
                }
                _ => place.rise(),
            }
        }
    }

    /// Handles the end of a process: if it is one of these, it is started again.
    pub(super) fn handle_exit(
        &mut self,
        now: Duration,
        pid: u32,
        status: i32,
        settings: &MachineSettings,
        actions: &mut VecDeque<Action>,
    ) {
        for place in &mut self.places {
            let (WorkerSlot::Trying(worker) | WorkerSlot::Killed(worker) | WorkerSlot::Up(worker)) = &place else {
                continue;
            };
            if worker.pid == pid {
                let line = format!("new worker {pid} seems to have failed to start, exit status:{status}");
                actions.push_back(Action::Log(line));
                actions.push_back(Action::WriteFailure(worker.generation, status));
                *place = WorkerSlot::Waiting(worker.next_start(settings.interval).max(now));
            }
        }
    }
}

impl WorkerSlot {
    fn deadline(&self, settings: &MachineSettings) -> Option<Duration> {
        match (self, settings.readiness) {
            (Self::Waiting(until), _) => Some(*until),
            (Self::Trying(worker), Readiness::Interval) => Some(worker.since.saturating_add(settings.interval)),
            (Self::Trying(worker), Readiness::Health(timeout)) => Some(worker.since.saturating_add(timeout)),
            (Self::Spawning | Self::Killed(_) | Self::Up(_), _) => None,
        }
    }

    /// Marks a worker as up.
    fn rise(&mut self) {
        if let Self::Trying(worker) = self {
            *self = Self::Up(worker.clone());
        }
    }
}
