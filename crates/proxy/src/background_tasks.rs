//! Background tasks: health checks and DNS resolution.

use std::{
    collections::{HashMap, HashSet},
    io,
    rc::Rc,
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use serow_client::Buffers;
use serow_dns::ResolverSettings;
use serow_net::thread_runtime;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::{AbortHandle, spawn_local},
};

use crate::{health_check::check_servers, names::resolve_names, upstream::Upstream};

/// Checks the servers of upstreams and resolves their names, in a thread of its own, until it is dropped. All threads
/// see the results.
#[derive(Debug)]
pub struct BackgroundTasks {
    names: ResolverSettings,
    upstreams: Vec<Upstream>,
    /// None before there is an upstream.
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    /// The thread ends when this is gone.
    tasks: UnboundedSender<Tasks>,
    thread: JoinHandle<()>,
}

/// The upstreams from now on, and what is dropped when all names of those that are new have been looked up.
type Tasks = (Vec<Upstream>, Sender<()>);

impl BackgroundTasks {
    /// Begins. Where there are names, it returns when they have been looked up for the first time, after 2 s at the
    /// latest, so that the first request finds servers.
    ///
    /// # Errors
    ///
    /// When the system has no more threads or descriptors.
    pub fn start(upstreams: Vec<Upstream>) -> io::Result<Self> {
        Self::start_with(upstreams, ResolverSettings::default())
    }

    /// As [`Self::start`], with other settings for looking up names.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn start_with(upstreams: Vec<Upstream>, names: ResolverSettings) -> io::Result<Self> {
        let mut tasks = Self { names, upstreams: Vec::new(), running: None };
        tasks.replace(upstreams)?;
        Ok(tasks)
    }

    /// Looks after these upstreams from now on: goes on with those that it has already, begins with the others as
    /// [`Self::start`] does, and retires those that are not among them ([`Upstream::retire`]).
    ///
    /// # Errors
    ///
    /// As [`Self::start`]; then nothing has changed.
    pub fn replace(&mut self, upstreams: Vec<Upstream>) -> io::Result<()> {
        let running = match self.running.take() {
            None if upstreams.is_empty() => return Ok(()),
            None => Running::start(self.names.clone())?,
            Some(running) => running,
        };
        let (first, looked_up) = mpsc::channel();
        // The thread receives for as long as this end is there.
        let _ = running.tasks.send((upstreams.clone(), first));
        self.running = Some(running);
        // Nothing is ever sent: the channel closes when all first lookups have finished.
        let _ = looked_up.recv_timeout(TIMEOUT);
        let present: HashSet<_> = upstreams.iter().map(Upstream::identity).collect();
        let former = std::mem::replace(&mut self.upstreams, upstreams);
        former.iter().filter(|upstream| !present.contains(&upstream.identity())).for_each(Upstream::retire);
        Ok(())
    }
}

impl Running {
    fn start(names: ResolverSettings) -> io::Result<Self> {
        let (tasks, received) = unbounded_channel();
        let (began, begun) = mpsc::channel();
        let work = move || match thread_runtime() {
            Ok(runtime) => {
                let _ = began.send(Ok(()));
                runtime.block_on(look_after(received, names));
            }
            Err(error) => drop(began.send(Err(error))),
        };
        let thread = thread::Builder::new().name("serow-upstreams".to_owned()).spawn(work)?;
        begun.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        Ok(Self { tasks, thread })
    }
}

impl Drop for BackgroundTasks {
    fn drop(&mut self) {
        if let Some(Running { tasks, thread }) = self.running.take() {
            drop(tasks);
            // A panic of the thread is in the log.
            let _ = thread.join();
        }
    }
}

/// The work for an upstream, until this is dropped.
struct Task([AbortHandle; 2]);

impl Task {
    fn start(upstream: Upstream, buffers: &Rc<Buffers>, names: &ResolverSettings, first: &Sender<()>) -> Self {
        let checks = spawn_local(check_servers(upstream.clone(), Rc::clone(buffers)));
        let lookups = spawn_local(resolve_names(upstream, names.clone(), first.clone()));
        Self([checks.abort_handle(), lookups.abort_handle()])
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.iter().for_each(AbortHandle::abort);
    }
}

/// Looks after the upstreams of the latest list, until no other can come.
async fn look_after(mut received: UnboundedReceiver<Tasks>, names: ResolverSettings) {
    let buffers = Rc::<Buffers>::default();
    let mut tasks: HashMap<usize, Task> = HashMap::new();
    while let Some((upstreams, first)) = received.recv().await {
        let mut known = std::mem::take(&mut tasks);
        for upstream in upstreams {
            let identity = upstream.identity();
            let task = known.remove(&identity);
            tasks.insert(identity, task.unwrap_or_else(|| Task::start(upstream, &buffers, &names, &first)));
        }
    }
}

/// For the first answers of name servers. One that is near answers in milliseconds; a server that does not start since
/// a name server is away would be worse than one that refuses some requests.
const TIMEOUT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ServerSettings, UpstreamSettings};

    fn upstream(server: &str) -> Upstream {
        Upstream::new(UpstreamSettings::new("a", vec![ServerSettings::new(server.parse().unwrap())]))
    }

    #[test]
    fn upstreams_that_are_no_longer_there_are_retired_and_others_kept() {
        let (kept, gone, new) = (upstream("127.0.0.1:1"), upstream("127.0.0.1:2"), upstream("127.0.0.1:3"));
        let mut tasks = BackgroundTasks::start(Vec::new()).unwrap();
        assert!(tasks.running.is_none());
        tasks.replace(vec![kept.clone(), gone.clone()]).unwrap();
        tasks.replace(vec![new.clone(), kept.clone()]).unwrap();
        assert_eq!([&kept, &gone, &new].map(Upstream::is_retired), [false, true, false]);
        tasks.replace(Vec::new()).unwrap();
        assert_eq!([&kept, &gone, &new].map(Upstream::is_retired), [true; 3]);
    }

    #[test]
    fn names_of_new_upstreams_are_looked_up_before_they_are_served() {
        let (one, other) = (upstream("localhost:1"), upstream("localhost:2"));
        let mut tasks = BackgroundTasks::start(vec![one.clone()]).unwrap();
        assert!(!one.servers().is_empty());
        tasks.replace(vec![other.clone()]).unwrap();
        assert!(!other.servers().is_empty());
    }
}
