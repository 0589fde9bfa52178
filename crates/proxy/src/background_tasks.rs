//! Background tasks: health checks and DNS resolution.

use std::{
    io,
    rc::Rc,
    sync::mpsc::{self, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use serow_client::Buffers;
use serow_dns::ResolverSettings;
use serow_net::thread_runtime;
use tokio::{sync::oneshot, task::spawn_local};

use crate::{health_check::check_servers, names::resolve_names, upstream::Upstream};

/// Checks the servers of upstreams and resolves their names, in a thread of its own, until it is dropped. All threads
/// see the results.
#[derive(Debug)]
pub struct BackgroundTasks {
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    /// The thread ends when this is gone.
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

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
        if upstreams.is_empty() {
            return Ok(Self { running: None });
        }
        let (stop, stopped) = oneshot::channel();
        let (first, looked_up) = mpsc::channel();
        let (began, begun) = mpsc::channel();
        let work = move || match thread_runtime() {
            Ok(runtime) => {
                let _ = began.send(Ok(()));
                runtime.block_on(async move {
                    look_after(upstreams, &names, first);
                    // Gone or sent: both mean the end.
                    let _ = stopped.await;
                });
            }
            Err(error) => drop(began.send(Err(error))),
        };
        let thread = thread::Builder::new().name("serow-upstreams".to_owned()).spawn(work)?;
        begun.recv().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
        // Nothing is ever sent: the channel closes when all first lookups have finished.
        let _ = looked_up.recv_timeout(TIMEOUT);
        Ok(Self { running: Some(Running { stop, thread }) })
    }
}

impl Drop for BackgroundTasks {
    fn drop(&mut self) {
        if let Some(Running { stop, thread }) = self.running.take() {
            drop(stop);
            // A panic of the thread is in the log.
            let _ = thread.join();
        }
    }
}

/// Begins the work, which goes on as long as the runtime is there.
fn look_after(upstreams: Vec<Upstream>, names: &ResolverSettings, first: Sender<()>) {
    let buffers = Rc::<Buffers>::default();
    for upstream in upstreams {
        spawn_local(check_servers(upstream.clone(), Rc::clone(&buffers)));
        spawn_local(resolve_names(upstream, names.clone(), first.clone()));
    }
}

/// For the first answers of name servers. One that is near answers in milliseconds; a server that does not start since
/// a name server is away would be worse than one that refuses some requests.
const TIMEOUT: Duration = Duration::from_secs(2);
