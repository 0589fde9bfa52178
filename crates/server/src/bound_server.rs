//! The server that is bound to its addresses, and its threads.

use std::{
    io,
    rc::Rc,
    sync::{Arc, mpsc},
    thread,
};

use serow_message::Handler;
use serow_net::Address;
use serow_net::reuse_port::PortDrain;

use tokio::runtime::Handle;

use crate::{
    AccessLog, ClientRules, Error, RunningServer, Stopper,
    accepting::{self, Endpoint, Progress},
    client_rules::ClientPolicy,
    connection_counter::ConnectionCounter,
    quic::QuicSocket,
    settings::Settings,
    signals::Signals,
    status::Status,
    tls::TlsAcceptor,
    worker::{LogMaker, Worker},
    worker_cores,
};

/// A server that is bound to its addresses and does not serve yet.
pub struct BoundServer {
    /// For each worker, its sockets.
    pub(crate) endpoints: Vec<Vec<Endpoint>>,
    /// For each worker, the core that it is pinned to; empty if they are not pinned.
    pub(crate) cores: Vec<usize>,
    /// For each worker, its UDP sockets.
    pub(crate) quic: Vec<Vec<QuicSocket>>,
    pub(crate) port_drain: PortDrain,
    pub(crate) settings: Settings,
    pub(crate) clients: ClientRules,
    pub(crate) log: Option<LogMaker>,
    pub(crate) signals: Signals,
    pub(crate) stopper: Stopper,
    pub(crate) status: Status,
}

/// The files of TLS of a server: certificates, keys, authorities and secrets, which it looks at each second while clients
/// connect; see [`BoundServer::tls_files`].
#[derive(Clone)]
pub struct TlsFiles(Option<TlsAcceptor>);

impl TlsFiles {
    /// Looks at them at once, and reads those that have changed. Connections from then on have the new certificates.
    pub fn reload(&self) {
        self.0.iter().for_each(TlsAcceptor::reload_changed_files);
    }
}

impl BoundServer {
    /// The addresses it listens on; a port 0 is replaced by the one that the kernel chose.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.endpoints.first().into_iter().flatten().map(|endpoint| endpoint.listener.local_address())
    }

    /// The URLs of the server: `http://127.0.0.1:8080/`, `https://…` and so on, in the order of [`Self::addresses`].
    pub fn urls(&self) -> impl Iterator<Item = String> {
        let endpoints = self.endpoints.first().into_iter().flatten();
        endpoints.map(|endpoint| {
            let url = endpoint.listener.local_address().url();
            if endpoint.terms.tls.is_some() { url.replacen("http://", "https://", 1) } else { url }
        })
    }

    /// A handle to the files of TLS, for any thread.
    #[must_use]
    pub fn tls_files(&self) -> TlsFiles {
        TlsFiles(self.endpoints.first().into_iter().flatten().find_map(|endpoint| endpoint.terms.tls.clone()))
    }

    /// A handle that stops the server from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// A handle that reads the server's counters from any thread.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.clone()
    }

    /// Sets the access log, as [`Server::access_log`](crate::Server::access_log), for one that cannot be opened before the
    /// server is bound.
    #[must_use]
    pub fn access_log<L: AccessLog>(mut self, log: impl Fn() -> L + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(move || Rc::new(log())));
        self
    }

    /// Serves until TERM or INT, unless it ignores them, or [`Stopper::stop`]. Then it accepts no more connections,
    /// closes idle ones, and finishes requests in progress within [`Timeouts::grace`](crate::Timeouts::grace). It leaves ports that other
    /// processes share ([`ListenOptions::share`](crate::ListenOptions::share)) without losing a connection.
    ///
    /// Blocks the thread; in an async function call [`Self::serve`].
    ///
    /// # Errors
    ///
    /// If the system refuses a thread or an event queue; [`Error::InRuntime`] within a tokio runtime, whose
    /// other tasks
    /// would be blocked.
    pub fn run<H: Handler + Send>(self, handler: H) -> Result<(), Error> {
        self.start(handler)?.wait()
    }

    /// Starts the workers, and returns when each of them accepts connections: from then on the server serves, and a
    /// program may report that. [`RunningServer::wait`] waits for its end. [`Self::run`] does both.
    ///
    /// # Errors
    ///
    /// As [`Self::run`]; then no worker is left.
    pub fn start<H: Handler + Send>(self, handler: H) -> Result<RunningServer, Error> {
        if Handle::try_current().is_ok() {
            return Err(Error::InRuntime);
        }
        let Self { endpoints, cores, quic, port_drain, settings, clients, log, signals, stopper, status } = self;
        let mut workers = Vec::with_capacity(endpoints.len());
        let mut spawned = Ok(());
        let clients = ClientPolicy::new(clients);
        let limited = (settings.limits.connections > 0).then(ConnectionCounter::default);
        let (started, starts) = mpsc::channel();
        let (accepting, is_accepting) = mpsc::channel();
        let grace = settings.timeouts.grace;
        let sockets = endpoints.into_iter().zip(quic);
        for (number, ((endpoints, quic), counters)) in sockets.zip(status.workers()).enumerate() {
            let (handler, log, stop, started) = (handler.clone(), log.clone(), stopper.watch(), started.clone());
            let progress = Progress { started, accepting: accepting.clone() };
            let (clients, limited, stopper) = (clients.clone(), limited.clone(), stopper.clone());
            let (counters, core) = (Arc::clone(counters), cores.get(number).copied());
            let serve = move || {
                let pinned = core.map_or(Ok(()), worker_cores::pin);
                let worker = Worker::new(handler, settings, clients, limited, log.as_ref(), counters);
                // One that cannot serve is not missed silently: the others finish, and the reason is given.
                pinned
                    .and_then(|()| accepting::run(worker, endpoints, quic, stop, progress))
                    .inspect_err(|_| stopper.stop_within(grace))
            };
            match thread::Builder::new().name(format!("serow-{number}")).spawn(serve) {
                Ok(worker) => workers.push(worker),
                Err(error) => {
                    spawned = Err(error);
                    break;
                }
            }
        }
        drop((handler, started, accepting));
        // Each worker drops its sender when it serves, or has failed.
        let have_started = spawned.is_ok() && starts.iter().count() == workers.len();
        if !have_started {
            stopper.stop_within(grace);
        }
        let running = RunningServer { workers, is_accepting, port_drain, signals, stopper, status, grace };
        if have_started {
            return Ok(running);
        }
        running.wait()?;
        spawned?;
        Err(io::Error::other("a worker ended before it served").into())
    }

    /// Serves with its first worker in the calling thread's runtime, until [`Stopper::stop`].
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    #[cfg(feature = "simulation")]
    pub async fn serve_here<H: Handler>(mut self, handler: H) -> Result<(), Error> {
        let clients = ClientPolicy::new(self.clients);
        let Some(counters) = self.status.workers().next().map(Arc::clone) else { return Ok(()) };
        let limited = (self.settings.limits.connections > 0).then(ConnectionCounter::default);
        let worker = Worker::new(handler, self.settings, clients, limited, self.log.as_ref(), counters);
        let (endpoints, quic) = (self.endpoints.swap_remove(0), self.quic.swap_remove(0));
        let ((started, _), (accepting, _)) = (mpsc::channel(), mpsc::channel());
        let progress = Progress { started, accepting };
        // Dropped at the end, with the connections that are left, as the runtime of a worker's thread is.
        let tasks = tokio::task::LocalSet::new();
        tasks.run_until(accepting::run_here(worker, endpoints, quic, self.stopper.watch(), progress)).await
    }

    /// As [`Self::run`], for a program that has a tokio runtime of its own. The handler does not run there:
    /// each worker
    /// thread has its own runtime. Dropping the future ends the server at once.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub async fn serve<H: Handler + Send>(self, handler: H) -> Result<(), Error> {
        let end = EndOnDrop(self.stopper());
        let (done, outcome) = tokio::sync::oneshot::channel();
        let thread = thread::Builder::new().name("serow-main".into()).spawn(move || {
            let _ = done.send(self.run(handler));
        })?;
        let outcome = outcome.await;
        drop(end);
        match outcome {
            Ok(outcome) => outcome,
            // It panicked, and goes on with that here.
            Err(_) => thread.join().map_err(|panic| std::panic::resume_unwind(panic)),
        }
    }
}

/// Stops a server whose future was dropped.
struct EndOnDrop(Stopper);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}
