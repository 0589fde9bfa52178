//! Which files have to change, and when: a state machine without I/O and clock.

mod damping;
mod probes;

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    time::Duration,
};

use serow_message::StableHash;

use self::{damping::Damping, probes::Probes};
use crate::{
    container::Container,
    labels::WantedPath,
    plan::{self, Candidate, Plan, PlannedHost, Surroundings},
    settings::ContainerSettings,
    site_text::{self, LabelKeys, ReadHost},
    taken::TakenHosts,
    watcher::SinkError,
};

/// The routes to all containers, and the files that stand for them.
#[derive(Debug)]
pub(crate) struct Routes {
    settings: ContainerSettings,
    taken: TakenHosts,
    /// By their ids.
    containers: BTreeMap<String, Candidate>,
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
    /// The content of those in effect.
    read: BTreeMap<String, ReadHost>,
    /// The texts of hosts, of the last time.
    texts: BTreeMap<String, (PlannedHost, String)>,
    wanted: BTreeMap<String, String>,
    /// The files that are being changed, with their new texts.
    under_way: BTreeMap<String, Option<String>>,
    /// The files that cannot be changed, with the text that was refused.
    obstacles: BTreeMap<String, Obstacle>,
    /// The texts that were wrong, perhaps because of further keys in labels, and why.
    without_keys: BTreeMap<String, (String, String)>,
    /// The time of the last event.
    now: Duration,
    /// How often the routes have been looked at.
    version: u64,
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

impl Routes {
    /// Without containers yet; these files are in effect.
    pub(crate) fn new(settings: ContainerSettings, taken: TakenHosts, applied: BTreeMap<String, String>) -> Self {
        let read = applied.iter().filter_map(|(name, text)| Some((name.clone(), site_text::read(text)?)));
        let read: BTreeMap<String, ReadHost> = read.collect();
        let probes = Probes::new(read.values().flat_map(|read| read.servers.iter().copied()));
        let absent = |read: &ReadHost| read.paths.iter().map(|path| (path.clone(), None)).collect();
        let paths = read.values().map(|read| (read.host.clone(), absent(read))).collect();
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
            read,
            texts: BTreeMap::new(),
            under_way: BTreeMap::new(),
            obstacles: BTreeMap::new(),
            without_keys: BTreeMap::new(),
            now: Duration::ZERO,
            version: 0,
        }
    }

    /// These are all containers.
    pub(crate) fn handle_list(&mut self, now: Duration, containers: impl IntoIterator<Item = Container>) {
        let candidate = |container: Container| (container.id.clone(), Candidate::new(container, &self.settings));
        self.containers = containers.into_iter().map(candidate).collect();
        self.is_listed = true;
        self.handle_time(now);
    }

    /// A container is so now, or has gone.
    pub(crate) fn handle_container(&mut self, now: Duration, id: &str, container: Option<Container>) {
        match container {
            Some(container) => {
                self.containers.insert(id.to_owned(), Candidate::new(container, &self.settings));
            }
            None => drop(self.containers.remove(id)),
        }
        self.handle_time(now);
    }

    /// A container was about to end, or has, at this time in nanoseconds since 1970: it gets no more requests, unless it has
    /// started again since.
    pub(crate) fn handle_end(&mut self, now: Duration, id: &str, at: u64) {
        let started = self.containers.get(id).map(|candidate| candidate.container.started);
        if started.is_some_and(|started| started == 0 || at == 0 || started <= at) {
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
        self.version += 1;
        let own = self.read.values().map(|read| read.host.as_str()).collect();
        let certified = self.read.values().filter(|read| read.has_certificate).map(|read| read.host.as_str());
        let certified: BTreeSet<&str> = certified.collect();
        let taken = self.taken.get();
        let accepts: &dyn Fn(SocketAddr, &str) -> bool = &|server, run| self.probes.accepts(server, run);
        let surroundings =
            Surroundings { settings: &self.settings, taken: &taken, own: &own, certified: &certified, accepts };
        let is_held =
            |container: &Container| self.ending.contains_key(&container.id) || self.damping.is_held(now, &container.id);
        self.plan = plan::of(self.containers.values(), is_held, surroundings);
        self.probes.set_wanted(now, &self.plan.servers);
        self.keep_absent_paths(now);
        let hosts = std::mem::take(&mut self.plan.hosts);
        let mut texts = std::mem::take(&mut self.texts);
        texts.retain(|host, (planned, _)| hosts.get(host) == Some(planned));
        for (host, planned) in hosts.iter().filter(|(host, _)| !texts.contains_key(*host)).collect::<Vec<_>>() {
            let text = site_text::of_host(host, planned, &self.settings.allowed, LabelKeys::All);
            texts.insert(host.clone(), (planned.clone(), text));
        }
        self.wanted = texts.iter().map(|(host, (planned, text))| self.file(host, planned, text)).collect();
        (self.plan.hosts, self.texts) = (hosts, texts);
    }

    /// Adds the routes that have had containers a short time ago: otherwise, those of a shorter path would get their requests.
    fn keep_absent_paths(&mut self, now: Duration) {
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
                    has_certificate: self.read.get(&file_name(host)).is_some_and(|read| read.has_certificate),
                    ..PlannedHost::default()
                });
                planned.routes.entry(path).or_default();
            }
        }
        self.paths.retain(|_, paths| !paths.is_empty());
    }

    /// The name and the text of the file of a host, whose text with all keys of labels is this.
    fn file(&self, host: &str, planned: &PlannedHost, whole: &str) -> (String, String) {
        let name = file_name(host);
        let text = if self.without_keys.get(&name).is_some_and(|(wrong, _)| wrong == whole) {
            site_text::of_host(host, planned, &self.settings.allowed, LabelKeys::None)
        } else {
            whole.to_owned()
        };
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
                if let Some(read) = site_text::read(&text) {
                    self.read.insert(name.to_owned(), read);
                }
                self.applied.insert(name.to_owned(), text);
            }
            (Ok(()), None) => {
                self.obstacles.remove(name);
                self.applied.remove(name);
                self.read.remove(name);
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

    /// When [`Self::poll_probe`] has to be called, if ever.
    pub(crate) fn probe_deadline(&self) -> Option<Duration> {
        self.probes.deadline()
    }

    /// Changes when the routes may have.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// When [`Self::handle_time`] has to be called, if ever.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let absent = self.paths.values().flat_map(BTreeMap::values).flatten().map(|since| *since + self.settings.keep);
        let obstacles = self.obstacles.values().map(|obstacle| obstacle.until);
        absent.chain(obstacles).chain(self.ending.values().copied()).chain(self.damping.deadline(self.now)).min()
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
        let containers = self.containers.values().map(|candidate| &candidate.container);
        let damped = containers.filter(|container| self.damping.is_damped(&container.id));
        let damped = damped.map(|container| {
            format!("container {}: it restarts again and again, so it has to run for some time first", container.name)
        });
        let files = self.obstacles.iter().map(|(name, obstacle)| format!("{name}: {}", obstacle.reason));
        let keys = self.without_keys.iter().map(|(name, (_, reason))| {
            format!("{name}: the further keys of labels are left out, since the settings are wrong with them: {reason}")
        });
        let late = self.probes.late(self.now).map(|(server, run)| {
            let id = run.split(' ').next().unwrap_or_default();
            let name = self.containers.get(id).map_or("", |candidate| &candidate.container.name);
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
