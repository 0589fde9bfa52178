//! The thread that follows the events of the API, and has files changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    future::Future,
    io,
    net::SocketAddr,
    rc::Rc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serow_net::{thread_runtime, time};
use tokio::{
    net::TcpStream,
    sync::{mpsc, oneshot},
    task::spawn_local,
    time::{sleep, timeout},
};

use crate::{
    api::{self, Change, Event, Inspected, Listed},
    connection::{ApiAddress, ApiError, Lines},
    container::Container,
    labels,
    pending::Pending,
    report::SharedReport,
    routes::{FileChange, Routes},
    settings::ContainerSettings,
    taken::TakenHosts,
};

/// Changes settings files.
pub trait RouteSink: Send + 'static {
    /// Gives the file with this name this text, or removes it; returns when that is in effect.
    fn change(&self, name: String, text: Option<String>) -> impl Future<Output = Result<(), SinkError>>;
}

/// Why a file was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkError {
    /// The settings are wrong with it, for this reason.
    Refused(String),
    /// It is not possible at the moment, for this reason.
    Unavailable(String),
}

/// The thread that watches containers, until this is dropped.
#[derive(Debug)]
pub struct WatcherThread {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WatcherThread {
    /// Starts it. These files, by their names, are in effect already.
    ///
    /// # Errors
    ///
    /// The system refuses a thread.
    pub fn start(
        address: ApiAddress,
        settings: ContainerSettings,
        taken: TakenHosts,
        files: BTreeMap<String, String>,
        report: SharedReport,
        sink: impl RouteSink,
    ) -> io::Result<Self> {
        report.change(|report| report.api = address.to_string());
        let (end, ended) = oneshot::channel();
        let thread = thread::Builder::new().name("serow-docker".to_owned()).spawn(move || {
            let runtime = match thread_runtime() {
                Ok(runtime) => runtime,
                Err(error) => return tracing::error!(%error, "containers are not watched"),
            };
            runtime.block_on(async move {
                let watcher = Watcher::new(address, Routes::new(settings, taken, files), report, sink);
                tokio::select! {
                    () = watcher.run() => {}
                    _ = ended => {}
                }
            });
        })?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for WatcherThread {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // It waits for the network only, which ends with it.
            let _ = thread.join();
        }
    }
}

/// The outcome of what was begun.
enum Outcome {
    /// Of the change of the file with this name.
    Changed(String, Result<(), SinkError>),
    /// Whether this server accepted a connection.
    Probed(SocketAddr, bool),
}

struct Watcher<S> {
    address: ApiAddress,
    began: Instant,
    routes: Routes,
    report: SharedReport,
    sink: Rc<S>,
    outcomes: (mpsc::UnboundedSender<Outcome>, mpsc::UnboundedReceiver<Outcome>),
    pending: Pending,
    /// The version of the routes in the report, and when it was made.
    reported: Option<u64>,
    reported_at: Duration,
    /// The warnings that are in the log already.
    warned: BTreeSet<String>,
}

impl<S: RouteSink> Watcher<S> {
    fn new(address: ApiAddress, routes: Routes, report: SharedReport, sink: S) -> Self {
        let (sink, outcomes) = (Rc::new(sink), mpsc::unbounded_channel());
        Self {
            address,
            began: time::now(),
            routes,
            report,
            sink,
            outcomes,
            pending: Pending::default(),
            reported: None,
            reported_at: Duration::ZERO,
            warned: BTreeSet::new(),
        }
    }

    fn now(&self) -> Duration {
        time::now().duration_since(self.began)
    }

    async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let began = self.now();
            let error = self.follow().await.err();
            self.report.change(|report| {
                report.is_connected = false;
                if let Some(error) = &error {
                    report.errors += 1;
                    report.last_error = Some(error.to_string());
                }
            });
            if let Some(error) = error {
                self.warn(format!("the containers of {} are not seen at the moment: {error}", self.address));
            }
            // A stream that was in order ended since the service did; one that ends at once must not be a busy loop.
            pause = if self.now() - began > STEADY { FIRST_PAUSE } else { (pause * 2).min(LAST_PAUSE) };
            self.work_for(pause).await;
        }
    }

    /// Follows the events until they end.
    async fn follow(&mut self) -> Result<(), ApiError> {
        // First the events: what happens while the list is made is not lost.
        let mut events = self.address.lines(api::EVENTS).await?;
        self.list().await?;
        self.report.change(|report| {
            report.is_connected = true;
            report.last_error = None;
        });
        tracing::info!("the containers of {} are seen", self.address);
        self.warned.clear();
        let mut next_list = self.now() + LIST_INTERVAL;
        loop {
            self.make_changes();
            let pending = self.pending.deadline().unwrap_or(Duration::MAX);
            let pause = self.deadline().min(next_list).min(pending).saturating_sub(self.now());
            tokio::select! {
                line = events.next() => match line? {
                    Some(line) => self.handle_events(line, &mut events).await?,
                    None => return Ok(()),
                },
                Some(outcome) = self.outcomes.1.recv() => self.handle_outcome(outcome),
                () = sleep(pause) => {}
            }
            if self.now() >= next_list {
                // An event may have been lost, and a container may have got another network.
                self.list().await?;
                next_list = self.now() + LIST_INTERVAL;
            }
            for id in self.pending.due(self.now()) {
                self.look_at(&id, true).await?;
            }
            self.handle_time();
        }
    }

    /// Makes changes without events for this time.
    async fn work_for(&mut self, pause: Duration) {
        let end = self.now() + pause;
        while self.now() < end {
            self.make_changes();
            let pause = self.deadline().min(end).saturating_sub(self.now());
            tokio::select! {
                Some(outcome) = self.outcomes.1.recv() => self.handle_outcome(outcome),
                () = sleep(pause) => {}
            }
            self.handle_time();
        }
    }

    fn deadline(&self) -> Duration {
        self.routes.deadline().into_iter().chain(self.routes.probe_deadline()).min().unwrap_or(Duration::MAX)
    }

    /// Has routes change that change with time.
    fn handle_time(&mut self) {
        let now = self.now();
        if self.routes.deadline().is_some_and(|deadline| deadline <= now) {
            self.routes.handle_time(now);
        }
    }

    /// Looks at all containers with labels for routes.
    async fn list(&mut self) -> Result<(), ApiError> {
        let listed: Option<Vec<Listed>> = self.address.get(api::LIST).await?;
        let mut containers = Vec::new();
        for listed in listed.unwrap_or_default() {
            let is_of_routes = listed.labels.as_ref().is_some_and(labels::are_of_routes);
            if !is_of_routes || !listed.is_running() || containers.len() >= MAX_CONTAINERS {
                continue;
            }
            containers.extend(self.inspect(&listed.id).await?);
        }
        self.routes.handle_list(self.now(), containers);
        Ok(())
    }

    async fn inspect(&self, id: &str) -> Result<Option<Container>, ApiError> {
        let inspected: Option<Inspected> = match self.address.get(&api::inspection(id)).await {
            // Of Podman, where it is removed at the same time.
            Err(ApiError::Status(..)) => None,
            inspected => inspected?,
        };
        Ok(inspected
            .map(Container::from)
            .filter(|container| container.id == id && labels::are_of_routes(&container.labels)))
    }

    /// Handles an event and those that have come after it: a container is looked at once.
    async fn handle_events(&mut self, first: Vec<u8>, events: &mut Lines) -> Result<(), ApiError> {
        // Whether each may start soon.
        let (mut changed, mut has_any) = (BTreeMap::new(), false);
        let mut line = Some(first);
        while let Some(text) = line {
            // A line that is no event may be one of a newer version.
            let change = serde_json::from_slice::<Event>(&text).map_or(Change::Any, Event::meaning);
            match &change {
                Change::Leaves(id, at) => {
                    self.routes.handle_end(self.now(), id, *at);
                    // Not after the others have been looked at.
                    self.make_changes();
                }
                Change::Begins(id) => self.routes.handle_begin(self.now(), id),
                _ => {}
            }
            match change {
                Change::Leaves(id, _) => drop(changed.insert(id, false)),
                Change::Begins(id) | Change::Container(id) => drop(changed.insert(id, true)),
                Change::Any => has_any = true,
                Change::None => {}
            }
            line = if changed.len() < MAX_TOGETHER { events.received() } else { None };
        }
        if has_any || changed.len() >= MAX_TOGETHER {
            return self.list().await;
        }
        for (id, may_start) in changed {
            self.look_at(&id, may_start).await?;
        }
        Ok(())
    }

    /// Looks at a container that has changed.
    async fn look_at(&mut self, id: &str, may_start: bool) -> Result<(), ApiError> {
        let container = self.inspect(id).await?;
        if may_start && container.as_ref().is_some_and(|container| !container.is_running) {
            self.pending.add(self.now(), id);
        } else {
            self.pending.remove(id);
        }
        if container.is_some() || self.routes.knows(id) {
            self.routes.handle_container(self.now(), id, container);
            self.make_changes();
        }
        Ok(())
    }

    /// Begins the changes that have to be made, of which the master makes those that come together at once, and tries servers.
    fn make_changes(&mut self) {
        while let Some(FileChange { name, text }) = self.routes.poll_change() {
            let (sink, outcomes) = (Rc::clone(&self.sink), self.outcomes.0.clone());
            spawn_local(async move {
                let outcome = sink.change(name.clone(), text).await;
                // The watcher may have ended.
                let _ = outcomes.send(Outcome::Changed(name, outcome));
            });
        }
        while let Some(server) = self.routes.poll_probe(self.now()) {
            let outcomes = self.outcomes.0.clone();
            spawn_local(async move {
                let connected = timeout(PROBE_TIMEOUT, TcpStream::connect(server)).await;
                let _ = outcomes.send(Outcome::Probed(server, matches!(connected, Ok(Ok(_)))));
            });
        }
        self.update_report();
    }

    fn handle_outcome(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Changed(name, outcome) => self.handle_change(&name, outcome),
            Outcome::Probed(server, has_accepted) => self.routes.handle_probe(self.now(), server, has_accepted),
        }
    }

    fn handle_change(&mut self, name: &str, outcome: Result<(), SinkError>) {
        match &outcome {
            Ok(()) => self.report.change(|report| report.changes += 1),
            Err(SinkError::Refused(reason)) => {
                self.warn(format!("the routes to containers in {name} are refused: {reason}"))
            }
            Err(SinkError::Unavailable(reason)) => tracing::debug!("{name} cannot be changed at the moment: {reason}"),
        }
        self.routes.handle_outcome(self.now(), name, outcome);
    }

    fn update_report(&mut self) {
        let now = self.now();
        if self.reported == Some(self.routes.version()) && now < self.reported_at + REPORT_INTERVAL {
            return;
        }
        (self.reported, self.reported_at) = (Some(self.routes.version()), now);
        let refused: Vec<_> = self.routes.refusals().take(MAX_REFUSED).collect();
        for refusal in &refused {
            self.warn(refusal.clone());
        }
        let (servers, hosts, routes) = self.routes.counts();
        self.report.change(|report| {
            (report.servers, report.hosts, report.routes, report.refused) = (servers, hosts, routes, refused);
        });
    }

    /// Writes a warning into the log, once.
    fn warn(&mut self, text: String) {
        if self.warned.len() < MAX_WARNED && !self.warned.contains(&text) {
            tracing::warn!("{text}");
            self.warned.insert(text);
        }
    }
}

/// The pause after a stream of events has ended, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(5);

/// How long a server may take to accept a connection.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// A stream that lasted as long was in order.
const STEADY: Duration = Duration::from_secs(10);

/// How often all containers are looked at, beside events.
const LIST_INTERVAL: Duration = Duration::from_secs(60);

/// Containers that are looked at.
const MAX_CONTAINERS: usize = 5000;

/// Containers that are looked at one by one; if more have changed at once, all are.
const MAX_TOGETHER: usize = 200;

/// How often the report is made where nothing has changed but the time.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Refusals in the report: labels are of strangers.
const MAX_REFUSED: usize = 50;

/// Warnings until the next connection to the API.
const MAX_WARNED: usize = 200;
