//! Which files have to change, and when: a state machine without I/O and clock.

mod damping;
mod probes;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serow_message::StableHash;

use self::{damping::Damping, probes::Probes};
use crate::{
    container::Container,
    labels::WantedPath,
    plan::{self, Plan, PlannedHost, Surroundings},
    settings::ContainerSettings,
    site_text::{self, LabelKeys},
    watcher::SinkError,
};

/// The hosts of all sites, also of those of containers; another thread may change them.
#[derive(Clone, Debug, Default)]
pub struct TakenHosts(Arc<Mutex<Arc<[String]>>>);

/// The routes to all containers, and the files that stand for them.
#[derive(Debug)]
pub(crate) struct Routes {
    settings: ContainerSettings,
    taken: TakenHosts,
    /// By their ids.
    containers: BTreeMap<String, Container>,
    /// Until when containers are left out that are about to end.
    ending: BTreeMap<String, Duration>,
    damping: Damping,
    probes: Probes,
    /// Whether the containers are known.
    is_listed: bool,
    /// The paths of hosts, and since when they have no container.
    paths: BTreeMap<String, BTreeMap<WantedPath, Option<Duration>>>,
    plan: Plan,
    /// The files in effect, and those that are to be, by their names.
    applied: BTreeMap<String, String>,
    wanted: BTreeMap<String, String>,
    /// The files that are being changed, with their new texts.
    under_way: BTreeMap<String, Option<String>>,
    /// The files that cannot be changed, with the text that was refused.
    obstacles: BTreeMap<String, Obstacle>,
    /// The texts that were wrong, perhaps because of further keys in labels, and why.
    without_keys: BTreeMap<String, (String, String)>,
    /// The time of the last event.
    now: Duration,
}

/// Why a file cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Obstacle {
    text: Option<String>,
    reason: String,
    /// When it is tried again.
    until: Duration,
}

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) name: String,
    /// None removes it.
    pub(crate) text: Option<String>,
}

impl TakenHosts {
    /// These hosts.
    #[must_use]
    pub fn new(hosts: Vec<String>) -> Self {
        Self(Arc::new(Mutex::new(hosts.into())))
    }

    /// Exchanges them.
    pub fn replace(&self, hosts: Vec<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = hosts.into();
    }

    fn get(&self) -> Arc<[String]> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Routes {
    /// Without containers yet; these files are in effect.
    pub(crate) fn new(settings: ContainerSettings, taken: TakenHosts, applied: BTreeMap<String, String>) -> Self {
        let read: Vec<_> = applied.values().filter_map(|text| site_text::read(text)).collect();
        let probes = Probes::new(read.iter().flat_map(|read| read.servers.iter().copied()));
        let paths = read.into_iter();
        let paths = paths.map(|read| (read.host, read.paths.into_iter().map(|path| (path, None)).collect())).collect();
        Self {
            settings,
            taken,
            containers: BTreeMap::new(),
            ending: BTreeMap::new(),
            damping: Damping::default(),
            probes,
            is_listed: false,
            paths,
            plan: Plan::default(),
            wanted: applied.clone(),
            applied,
            under_way: BTreeMap::new(),
            obstacles: BTreeMap::new(),
            without_keys: BTreeMap::new(),
            now: Duration::ZERO,
        }
    }

    /// These are all containers.
    pub(crate) fn handle_list(&mut self, now: Duration, containers: impl IntoIterator<Item = Container>) {
        self.containers = containers.into_iter().map(|container| (container.id.clone(), container)).collect();
        self.is_listed = true;
        self.handle_time(now);
    }

    /// A container is so now, or has gone.
    pub(crate) fn handle_container(&mut self, now: Duration, id: &str, container: Option<Container>) {
        match container {
            Some(container) => drop(self.containers.insert(id.to_owned(), container)),
            None => drop(self.containers.remove(id)),
        }
        self.handle_time(now);
    }

    /// A container was about to end, or has, at this time in nanoseconds since 1970: it gets no more requests, unless it has
    /// started again since.
    pub(crate) fn handle_end(&mut self, now: Duration, id: &str, at: u64) {
        if self.containers.get(id).is_some_and(|container| container.started == 0 || at == 0 || container.started <= at)
        {
            self.ending.insert(id.to_owned(), now + HELD_AFTER_SIGNAL);
            self.handle_time(now);
        }
    }

    /// A container starts. Its address and its health are looked at then.
    pub(crate) fn handle_begin(&mut self, now: Duration, id: &str) {
        self.ending.remove(id);
        self.damping.note_start(now, id);
    }

    /// Finds out which files have to change; also whenever [`Self::deadline`] has come.
    pub(crate) fn handle_time(&mut self, now: Duration) {
        self.now = now;
        self.ending.retain(|_, until| *until > now);
        self.damping.forget(now);
        self.obstacles.retain(|_, obstacle| obstacle.until > now);
        if !self.is_listed {
            return;
        }
        let own: BTreeSet<String> =
            self.applied.values().filter_map(|text| site_text::read(text)).map(|read| read.host).collect();
        let certified =
            self.applied.values().filter_map(|text| site_text::read(text)).filter(|read| read.has_certificate);
        let certified: BTreeSet<String> = certified.map(|read| read.host).collect();
        let taken: Vec<String> = self.taken.get().iter().filter(|host| !own.contains(*host)).cloned().collect();
        let accepts: &dyn Fn(SocketAddr, &str) -> bool = &|server, run| self.probes.accepts(server, run);
        let surroundings = Surroundings { settings: &self.settings, taken: &taken, certified: &certified, accepts };
        let is_held =
            |container: &Container| self.ending.contains_key(&container.id) || self.damping.is_held(now, &container.id);
        self.plan = plan::of(self.containers.values(), is_held, surroundings);
        self.probes.set_wanted(now, &self.plan.servers);
        self.keep_absent_paths(now, &certified);
        let hosts = std::mem::take(&mut self.plan.hosts);
        self.wanted = hosts.iter().map(|(host, planned)| self.file(host, planned)).collect();
        self.plan.hosts = hosts;
    }

    /// Adds the routes that have had containers a short time ago: otherwise, those of a shorter path would get their requests.
    fn keep_absent_paths(&mut self, now: Duration, certified: &BTreeSet<String>) {
        for (host, planned) in &self.plan.hosts {
            let paths = self.paths.entry(host.clone()).or_default();
            paths.extend(planned.routes.keys().map(|path| (path.clone(), None)));
        }
        for (host, paths) in &mut self.paths {
            let is_planned =
                |path: &WantedPath| self.plan.hosts.get(host).is_some_and(|planned| planned.routes.contains_key(path));
            let absent: BTreeSet<_> = paths.keys().filter(|path| !is_planned(path)).cloned().collect();
            for path in absent {
                let since = paths.get(&path).copied().flatten().unwrap_or(now);
                if now >= since + self.settings.keep {
                    paths.remove(&path);
                    continue;
                }
                paths.insert(path.clone(), Some(since));
                let planned = self.plan.hosts.entry(host.clone()).or_insert_with(|| PlannedHost {
                    has_certificate: certified.contains(host),
                    ..PlannedHost::default()
                });
                planned.routes.entry(path).or_default();
            }
        }
        self.paths.retain(|_, paths| !paths.is_empty());
    }

    fn file(&self, host: &str, planned: &PlannedHost) -> (String, String) {
        let name = file_name(host);
        let text = |keys| site_text::of_host(host, planned, &self.settings.allowed, keys);
        let whole = text(LabelKeys::All);
        let is_wrong = self.without_keys.get(&name).is_some_and(|(wrong, _)| *wrong == whole);
        let text = if is_wrong { text(LabelKeys::None) } else { whole };
        (name, text)
    }

    /// The next change to make; [`Self::handle_outcome`] must follow.
    pub(crate) fn poll_change(&mut self) -> Option<FileChange> {
        let names = self.wanted.keys().chain(self.applied.keys());
        let name = names.filter(|name| self.has_to_change(name)).min()?.clone();
        let text = self.wanted.get(&name).cloned();
        self.under_way.insert(name.clone(), text.clone());
        Some(FileChange { name, text })
    }

    fn has_to_change(&self, name: &str) -> bool {
        let wanted = self.wanted.get(name);
        let is_refused = self.obstacles.get(name).is_some_and(|obstacle| obstacle.text.as_ref() == wanted);
        wanted != self.applied.get(name) && !self.under_way.contains_key(name) && !is_refused
    }

    /// Whether a change has been made.
    pub(crate) fn handle_outcome(&mut self, now: Duration, name: &str, outcome: Result<(), SinkError>) {
        let Some(text) = self.under_way.remove(name) else { return };
        match (outcome, text) {
            (Ok(()), Some(text)) => {
                self.obstacles.remove(name);
                self.applied.insert(name.to_owned(), text);
            }
            (Ok(()), None) => {
                self.obstacles.remove(name);
                self.applied.remove(name);
                self.without_keys.remove(name);
            }
            (Err(SinkError::Refused(reason)), Some(text)) if self.may_be_of_keys(name, &text) => {
                self.without_keys.insert(name.to_owned(), (text, reason));
            }
            (Err(SinkError::Refused(reason)), text) => {
                self.obstacles.insert(name.to_owned(), Obstacle { text, reason, until: now + REFUSED });
            }
            (Err(SinkError::Unavailable(reason)), text) => {
                self.obstacles.insert(name.to_owned(), Obstacle { text, reason, until: now + UNAVAILABLE });
            }
        }
        self.handle_time(now);
    }

    /// Whether further keys of labels are in this text, which may be why it is wrong.
    fn may_be_of_keys(&self, name: &str, text: &str) -> bool {
        let planned = self.plan.hosts.iter().find(|(host, _)| file_name(host) == name);
        planned.is_some_and(|(host, planned)| {
            let of = |keys| site_text::of_host(host, planned, &self.settings.allowed, keys);
            of(LabelKeys::All) == text && of(LabelKeys::None) != text
        })
    }

    /// The next server to open a connection to; [`Self::handle_probe`] must follow.
    pub(crate) fn poll_probe(&mut self, now: Duration) -> Option<SocketAddr> {
        self.probes.poll(now)
    }

    /// Whether a server has accepted a connection.
    pub(crate) fn handle_probe(&mut self, now: Duration, server: SocketAddr, has_accepted: bool) {
        self.probes.handle_outcome(now, server, has_accepted);
        if has_accepted {
            self.handle_time(now);
        }
    }

    /// When [`Self::handle_time`] and [`Self::poll_probe`] have to be called, if ever.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let absent = self.paths.values().flat_map(BTreeMap::values).flatten().map(|since| *since + self.settings.keep);
        let obstacles = self.obstacles.values().map(|obstacle| obstacle.until);
        absent
            .chain(obstacles)
            .chain(self.ending.values().copied())
            .chain(self.damping.deadline(self.now))
            .chain(self.probes.deadline())
            .min()
    }

    /// Running containers with routes; hosts; routes to containers.
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let routes = || self.plan.hosts.values().flat_map(|host| host.routes.values());
        let servers: BTreeSet<_> = routes().flat_map(|route| route.servers.keys()).collect();
        (servers.len(), self.applied.len(), routes().filter(|route| !route.servers.is_empty()).count())
    }

    /// Labels and files that are refused: who, and why.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = String> {
        let labels =
            self.plan.refused.iter().map(|refusal| format!("container {}: {}", refusal.container, refusal.label));
        let damped = self.containers.values().filter(|container| self.damping.is_damped(&container.id));
        let damped = damped.map(|container| {
            format!("container {}: it restarts again and again, so it has to run for some time first", container.name)
        });
        let files = self.obstacles.iter().map(|(name, obstacle)| format!("{name}: {}", obstacle.reason));
        let keys = self.without_keys.iter().map(|(name, (_, reason))| {
            format!("{name}: the further keys of labels are left out, since the settings are wrong with them: {reason}")
        });
        let late = self.probes.late(self.now).map(|(server, run)| {
            let id = run.split(' ').next().unwrap_or_default();
            let name = self.containers.get(id).map_or("", |container| &container.name);
            format!("container {name}: {server} does not accept connections")
        });
        labels.chain(damped).chain(late).chain(files).chain(keys)
    }

    /// Whether labels of this container have been of interest.
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.containers.contains_key(id)
    }
}

/// The name of the file of a host: no file of a user has one that begins so.
fn file_name(host: &str) -> String {
    let name = format!("{FILE_PREFIX}{}", host.replace('*', "~"));
    if name.len() <= MAX_NAME { name } else { format!("{FILE_PREFIX}~{:016x}", StableHash::of(host.as_bytes())) }
}

/// The beginning of the names of files of containers.
pub const FILE_PREFIX: &str = "docker~";

/// Bytes of the name of an added file.
const MAX_NAME: usize = 100;

/// How long a container is left out that has got a signal to end and still runs.
const HELD_AFTER_SIGNAL: Duration = Duration::from_secs(10);

/// When a file that was wrong is tried again: other settings may have made it right.
const REFUSED: Duration = Duration::from_secs(30);

/// When a change is tried again that could not be made at the moment.
const UNAVAILABLE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
