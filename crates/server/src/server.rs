//! The server builder.

#[cfg(feature = "http3")]
mod http3;
#[cfg(feature = "tls")]
mod tls;

use std::{num::NonZeroUsize, os::fd::OwnedFd, rc::Rc, sync::Arc, thread};

use serow_message::{Handler, Scheme};
use serow_net::{Address, AddressError, ListenOptions, Listener, reuse_port::PortDrain};

#[cfg(any(feature = "http2", feature = "http3"))]
use crate::Pacing;
#[cfg(feature = "proxy-protocol")]
use crate::ProxyProtocol;
#[cfg(feature = "http2")]
use crate::Versions;
use crate::{
    AccessLog, BoundServer, ClientRules, Error, Limits, Stopper, Timeouts, WorkerCores,
    accepting::Endpoint,
    listener_terms::ListenerTerms,
    quic::{QuicPlan, QuicSockets},
    settings::Settings,
    signals::Signals,
    status::Status,
    tls::{TlsPlan, missing},
    worker::LogMaker,
};

/// A server builder: what the server listens on, and its settings.
///
/// ```no_run
/// use serow::{Request, Response, Server, Timeouts};
///
/// let server = Server::new().listen("127.0.0.1:8080").listen("unix:/run/app.sock").workers(2);
/// let server = server.timeouts(Timeouts { idle: std::time::Duration::from_secs(20), ..Timeouts::default() });
/// server.run(|request: Request| async move { Response::text(request.target.path().to_owned()) })?;
/// # Ok::<(), serow::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Server {
    places: Vec<(ListenPlace, Scheme)>,
    tls: TlsPlan,
    listen: ListenOptions,
    workers: Option<NonZeroUsize>,
    worker_cores: Option<WorkerCores>,
    settings: Settings,
    clients: ClientRules,
    log: Option<LogMaker>,
    ignores_signals: bool,
    quic: QuicPlan,
}

/// A listener.
#[derive(Clone)]
enum ListenPlace {
    At(Result<Address, AddressError>),
    /// Sockets of one address that another process opened.
    On(Arc<Vec<OwnedFd>>),
}

impl Server {
    /// A server with default settings, which listens on 127.0.0.1:8080 unless [`Self::listen`] or another method adds
    /// an address.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an address to listen on: `8080`, `127.0.0.1:8080`, `[::1]:8080`, `unix:/path` or `fd:3`.
    /// [`Self::bind`] and
    /// [`Self::run`] report an invalid address.
    #[must_use]
    pub fn listen(mut self, address: impl AsRef<str>) -> Self {
        self.places.push((ListenPlace::At(address.as_ref().parse()), Scheme::Http));
        self
    }

    /// Adds listening sockets of one address, which another process opened and passed on. The server divides
    /// them among
    /// the workers.
    #[must_use]
    pub fn listen_on(mut self, sockets: Vec<OwnedFd>, scheme: Scheme) -> Self {
        self.places.push((ListenPlace::On(Arc::new(sockets)), scheme));
        self
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_set()
    }

    /// Sets the socket options.
    #[must_use]
    pub fn listen_options(mut self, options: ListenOptions) -> Self {
        self.listen = options;
        self
    }

    /// Sets the number of worker threads; by default one per core.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = NonZeroUsize::new(workers);
        self
    }

    /// Pins each worker thread to a core; by default they run where the system schedules them. [`Self::bind`] reports
    /// cores that the process may not use. Threads of `tokio::task::spawn_blocking` are not pinned; others that a handler
    /// starts are, and so are processes.
    ///
    /// ```
    /// # fn main() -> Result<(), serow::WorkerCoresTextError> {
    /// let server = serow::Server::new().worker_cores("0,2-3".parse()?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn worker_cores(mut self, cores: WorkerCores) -> Self {
        self.worker_cores = Some(cores);
        self
    }

    /// Sets the timeouts.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.settings.timeouts = timeouts;
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Sets which clients may connect.
    #[must_use]
    pub fn clients(mut self, clients: ClientRules) -> Self {
        self.clients = clients;
        self
    }

    /// Sets whether connections begin with a PROXY header. With the cargo feature `proxy-protocol`.
    #[cfg(feature = "proxy-protocol")]
    #[must_use]
    pub fn proxy_protocol(mut self, proxy_protocol: ProxyProtocol) -> Self {
        self.settings.proxy_protocol = proxy_protocol;
        self
    }

    /// Sets the versions of HTTP that the server speaks. With TLS this takes precedence over
    /// [`TlsSettings::protocols`](crate::TlsSettings::protocols). With the cargo feature `http2`.
    #[cfg(feature = "http2")]
    #[must_use]
    pub fn versions(mut self, versions: Versions) -> Self {
        self.settings.versions = versions;
        self
    }

    /// Does not handle TERM and INT: [`Stopper::stop`] ends the server. For one that serves beside another in
    /// the same
    /// process.
    #[must_use]
    pub fn ignore_signals(mut self) -> Self {
        self.ignores_signals = true;
        self
    }

    /// How much the kernel may hold unsent of connections that carry several responses at a time (HTTP/2). With one of the
    /// cargo features `http2` and `http3`.
    #[cfg(any(feature = "http2", feature = "http3"))]
    #[must_use]
    pub fn pacing(mut self, pacing: Pacing) -> Self {
        self.settings.pacing = pacing;
        self
    }

    /// Has an access log: the function makes one for each worker, on its thread.
    #[must_use]
    pub fn access_log<L: AccessLog>(mut self, log: impl Fn() -> L + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(move || Rc::new(log())));
        self
    }

    /// Begins to listen. Connections wait until [`BoundServer::run`], and so do TERM and INT, unless they are
    /// ignored:
    /// a process that sees the server listen may stop it.
    ///
    /// # Errors
    ///
    /// If an address is invalid or the server cannot listen on it, if the process may not use a core of
    /// [`Self::worker_cores`], or if the system refuses signal handlers.
    pub fn bind(self) -> Result<BoundServer, Error> {
        let named = self.worker_cores.as_ref().and_then(WorkerCores::count);
        let workers = self.workers.or(named).or_else(|| thread::available_parallelism().ok());
        let workers = workers.map_or(1, NonZeroUsize::get);
        let cores = self
            .worker_cores
            .map(|cores| crate::worker_cores::for_workers(&cores, workers))
            .transpose()?
            .unwrap_or_default();
        let mut places = self.places;
        if places.is_empty() {
            let scheme = if self.tls.is_set() { Scheme::Https } else { Scheme::Http };
            places.push((ListenPlace::At(DEFAULT_ADDRESS.parse()), scheme));
        }
        let tls = self.tls.acceptor(self.settings.versions)?;
        let mut endpoints: Vec<Vec<Endpoint>> = (0..workers).map(|_| Vec::new()).collect();
        let mut quic = QuicSockets::new(workers, self.quic, self.listen.share, &self.settings);
        for (place, scheme) in places {
            let tls = match scheme {
                Scheme::Http => None,
                Scheme::Https => Some(tls.clone().ok_or_else(missing)?),
            };
            let listeners = place.listeners(&self.listen, workers)?;
            let address = listeners.first().and_then(|listeners| listeners.first()).map(Listener::local_address);
            let alternative = match (address, &tls) {
                (Some(Address::Tcp(address)), Some(tls)) => quic.open(*address, tls),
                _ => None,
            };
            let terms = ListenerTerms { tls, alternative };
            for (worker, listeners) in endpoints.iter_mut().zip(listeners) {
                worker.extend(listeners.into_iter().map(|listener| Endpoint { listener, terms: terms.clone() }));
            }
        }
        let port_drain = PortDrain::of(endpoints.iter_mut().flatten().map(|endpoint| &mut endpoint.listener))?;
        let (stopper, status) = (Stopper::new(), Status::new(workers));
        let signals = Signals::listen(!self.ignores_signals)?;
        let Self { settings, clients, log, .. } = self;
        Ok(BoundServer {
            endpoints,
            cores,
            quic: quic.into_workers(),
            port_drain,
            settings,
            clients,
            log,
            signals,
            stopper,
            status,
        })
    }

    /// Listens and serves until TERM or INT. Blocks the thread; in an async `main` call [`Self::serve`].
    ///
    /// # Errors
    ///
    /// As [`Self::bind`] and [`BoundServer::run`].
    pub fn run<H: Handler + Send>(self, handler: H) -> Result<(), Error> {
        self.bind()?.run(handler)
    }

    /// As [`Self::run`], for a program that has a tokio runtime of its own. The handler does not run there:
    /// each worker
    /// thread has its own runtime.
    ///
    /// ```no_run
    /// # use serow::{Request, Server};
    /// # async fn main_() -> Result<(), serow::Error> { // #[tokio::main] async fn main()
    /// Server::new().listen("127.0.0.1:8080").serve(|_: Request| async { "Hello, World!" }).await
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub async fn serve<H: Handler + Send>(self, handler: H) -> Result<(), Error> {
        self.bind()?.serve(handler).await
    }
}

impl ListenPlace {
    /// The listeners of each worker.
    fn listeners(self, options: &ListenOptions, workers: usize) -> Result<Vec<Vec<Listener>>, Error> {
        match self {
            Self::At(address) => {
                let group = Listener::for_workers(&address?, options, workers)?;
                Ok(group.into_iter().map(|listener| vec![listener]).collect())
            }
            Self::On(sockets) => {
                let sockets = sockets.iter().map(OwnedFd::try_clone).collect::<Result<_, _>>()?;
                let mut divided = Listener::divide(sockets, workers)?;
                if options.share {
                    let shared =
                        |listeners: Vec<Listener>| listeners.into_iter().map(Listener::shared_with_others).collect();
                    divided = divided.into_iter().map(shared).collect();
                }
                Ok(divided)
            }
        }
    }
}

const DEFAULT_ADDRESS: &str = "127.0.0.1:8080";
