//! The server builder.

use std::{num::NonZeroUsize, os::fd::OwnedFd, rc::Rc, sync::Arc, thread, time::Duration};

use serow_message::{Handler, Scheme};
use serow_net::{Address, AddressError, ListenOptions, Listener};
use serow_pacing::Pacing;
use serow_quic::EarlyData;
use serow_reuse_port::PortDrain;
use serow_tls::{SharedSecret, TlsAcceptor, TlsSettings, TlsSettingsError};

use crate::{
    AccessLog, BoundServer, ClientRules, Error, Limits, ProxyProtocol, Stopper, Timeouts, Versions, WorkerCores,
    accepting::Endpoint,
    listener_terms::ListenerTerms,
    quic_sockets::{QuicSockets, QuicSource, SharedQuicSockets},
    settings::Settings,
    signals::Signals,
    status::Status,
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
    places: Vec<(Place, Scheme)>,
    tls: Option<TlsSettings>,
    shared_secret: Option<SharedSecret>,
    listen: ListenOptions,
    workers: Option<NonZeroUsize>,
    worker_cores: Option<WorkerCores>,
    settings: Settings,
    clients: ClientRules,
    log: Option<LogMaker>,
    ignores_signals: bool,
    quic: QuicSource,
}

/// A listener.
#[derive(Clone)]
enum Place {
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
        self.places.push((Place::At(address.as_ref().parse()), Scheme::Http));
        self
    }

    /// Adds an address to listen on for TLS connections, with the settings of [`Self::tls`].
    #[must_use]
    pub fn listen_tls(mut self, address: impl AsRef<str>) -> Self {
        self.places.push((Place::At(address.as_ref().parse()), Scheme::Https));
        self
    }

    /// Adds listening sockets of one address, which another process opened and passed on. The server divides
    /// them among
    /// the workers.
    #[must_use]
    pub fn listen_on(mut self, sockets: Vec<OwnedFd>, scheme: Scheme) -> Self {
        self.places.push((Place::On(Arc::new(sockets)), scheme));
        self
    }

    /// Sets the TLS settings of [`Self::listen_tls`].
    #[must_use]
    pub fn tls(mut self, settings: TlsSettings) -> Self {
        self.tls = Some(settings);
        self
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Sets [`TlsSettings::shared_secret`].
    #[must_use]
    pub fn shared_secret(mut self, secret: SharedSecret) -> Self {
        self.shared_secret = Some(secret);
        self
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
    /// # fn main() -> Result<(), serow::WorkerCoresError> {
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

    /// Sets whether connections begin with a PROXY header.
    #[must_use]
    pub fn proxy_protocol(mut self, proxy_protocol: ProxyProtocol) -> Self {
        self.settings.proxy_protocol = proxy_protocol;
        self
    }

    /// Sets the versions of HTTP that the server speaks. With TLS this takes precedence over
    /// [`TlsSettings::protocols`].
    #[must_use]
    pub fn versions(mut self, versions: Versions) -> Self {
        self.settings.versions = versions;
        self
    }

    /// Also serves HTTP/3 (RFC 9114), at the same addresses over UDP, wherever TLS is served on a TCP port; by default it
    /// does not. Responses over HTTP/1.1 and HTTP/2 tell clients so (Alt-Svc). Where an address cannot be bound for UDP, a
    /// warning says so, and the server goes on without it.
    #[must_use]
    pub fn http3(mut self, enabled: bool) -> Self {
        self.quic = if enabled { QuicSource::Own } else { QuicSource::Off };
        self
    }

    /// Does not serve HTTP/3 any more: responses over HTTP/1.1 and HTTP/2 tell clients that remember it to forget it
    /// (`Alt-Svc: clear`), for as long after the start as they would have remembered it.
    #[must_use]
    pub fn withdraw_http3(mut self) -> Self {
        self.quic = QuicSource::Withdrawn;
        self
    }

    /// How long clients remember that HTTP/3 is served (`ma` of Alt-Svc, RFC 7838 §3.1), in whole seconds; a day. Zero: they
    /// are not told at all.
    #[must_use]
    pub fn alternative_service_age(mut self, age: Duration) -> Self {
        self.settings.alternative_service_age = Some(age);
        self
    }

    /// Whether requests over HTTP/3 are answered that clients send with their first packets, before the TLS handshake is
    /// complete (early data, 0-RTT); by default they wait for it. The client must have been there before, must have shown
    /// that its address is its own, and uses each session once; only GET, HEAD and OPTIONS without a body are answered,
    /// and have the field `Early-Data: 1` (RFC 8470). Not where clients are asked for certificates.
    #[must_use]
    pub fn early_data(mut self, accepted: bool) -> Self {
        self.settings.early_data = if accepted { EarlyData::Accepted } else { EarlyData::Refused };
        self
    }

    /// As [`Self::http3`], with sockets that another process opened; those of an address belong to the listener of
    /// [`Self::listen_on`] with the same address.
    #[must_use]
    pub fn http3_on(mut self, sockets: SharedQuicSockets) -> Self {
        self.quic = QuicSource::Shared(Arc::new(sockets));
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

    /// How much the kernel may hold unsent of connections that carry several responses at a time (HTTP/2).
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
        let cores = self.worker_cores.map(|cores| cores.for_workers(workers)).transpose()?.unwrap_or_default();
        let mut places = self.places;
        if places.is_empty() {
            let scheme = if self.tls.is_some() { Scheme::Https } else { Scheme::Http };
            places.push((Place::At(DEFAULT_ADDRESS.parse()), scheme));
        }
        let versions = self.settings.versions;
        let tls = self.tls.map(|tls| TlsSettings {
            protocols: versions.choose(tls.protocols),
            shared_secret: self.shared_secret.or(tls.shared_secret),
            ..tls
        });
        let tls = tls.map(TlsAcceptor::new).transpose()?;
        let mut endpoints: Vec<Vec<Endpoint>> = (0..workers).map(|_| Vec::new()).collect();
        let mut quic = QuicSockets::new(workers, self.quic, self.listen.share, &self.settings);
        for (place, scheme) in places {
            let tls = match scheme {
                Scheme::Http => None,
                Scheme::Https => Some(tls.clone().ok_or(TlsSettingsError::NoCertificate)?),
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

impl Place {
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
