//! The server: from settings to running threads.

use std::{
    num::NonZeroUsize,
    os::fd::OwnedFd,
    rc::Rc,
    sync::Arc,
    thread::{self, JoinHandle},
};

use serow_message::{Handler, Scheme};
use serow_net::{Address, AddressError, ListenOptions, Listener};
use serow_pacing::Pacing;
use serow_reuse_port::PortDrain;
use serow_tls::{TlsAcceptor, TlsSettings, TlsSettingsError};

use tokio::runtime::Handle;

use crate::{
    AccessLog, Error, Limits, ProxyProtocol, Stopper, Timeouts, Versions,
    accepting::{self, Endpoint},
    leaving::leave,
    population::Population,
    settings::Settings,
    signals::Signals,
    status::Status,
    unfinished,
    worker::{LogMaker, Worker},
};

/// A server that is being set up.
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
    listen: ListenOptions,
    workers: Option<NonZeroUsize>,
    settings: Settings,
    log: Option<LogMaker>,
    ignores_signals: bool,
}

/// Where it listens.
#[derive(Clone)]
enum Place {
    At(Result<Address, AddressError>),
    /// At sockets that another process opened, all of one address.
    On(Arc<Vec<OwnedFd>>),
}

impl Server {
    /// Sensible settings; listens at 127.0.0.1:8080 if nothing else is said.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Listens at this address too: `8080`, `127.0.0.1:8080`, `[::1]:8080`, `unix:/path` or `fd:3`. Text that is none is
    /// reported when the server is bound.
    #[must_use]
    pub fn listen(mut self, address: impl AsRef<str>) -> Self {
        self.places.push((Place::At(address.as_ref().parse()), Scheme::Http));
        self
    }

    /// Listens at this address too, for connections encrypted as [`Self::tls`] says.
    #[must_use]
    pub fn listen_tls(mut self, address: impl AsRef<str>) -> Self {
        self.places.push((Place::At(address.as_ref().parse()), Scheme::Https));
        self
    }

    /// Listens on these sockets too: listening ones of one address, which another process opened and handed over. They are
    /// divided among the workers.
    #[must_use]
    pub fn listen_on(mut self, sockets: Vec<OwnedFd>, scheme: Scheme) -> Self {
        self.places.push((Place::On(Arc::new(sockets)), scheme));
        self
    }

    /// How the connections of [`Self::listen_tls`] are encrypted.
    #[must_use]
    pub fn tls(mut self, settings: TlsSettings) -> Self {
        self.tls = Some(settings);
        self
    }

    /// How the sockets listen.
    #[must_use]
    pub fn listen_options(mut self, options: ListenOptions) -> Self {
        self.listen = options;
        self
    }

    /// How many threads serve, each on its own; as many as there are cores by default.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = NonZeroUsize::new(workers);
        self
    }

    /// How long peers may take.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.settings.timeouts = timeouts;
        self
    }

    /// How much peers may ask for.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Whether connections begin with a PROXY header.
    #[must_use]
    pub fn proxy_protocol(mut self, proxy_protocol: ProxyProtocol) -> Self {
        self.settings.proxy_protocol = proxy_protocol;
        self
    }

    /// Which versions of HTTP are spoken. With TLS this goes before [`TlsSettings::protocols`].
    #[must_use]
    pub fn versions(mut self, versions: Versions) -> Self {
        self.settings.versions = versions;
        self
    }

    /// Leaves TERM and INT alone: [`Stopper::stop`] ends the server. For one that serves beside another in the same process.
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

    /// Begins to listen. Connections wait until [`BoundServer::run`], and so do TERM and INT, unless they are ignored: who
    /// knows that the server listens may tell it to stop.
    ///
    /// # Errors
    ///
    /// An address that is none or cannot be listened at; or when the system refuses signals.
    pub fn bind(self) -> Result<BoundServer, Error> {
        let workers = self.workers.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let mut places = self.places;
        if places.is_empty() {
            let scheme = if self.tls.is_some() { Scheme::Https } else { Scheme::Http };
            places.push((Place::At(DEFAULT_ADDRESS.parse()), scheme));
        }
        let versions = self.settings.versions;
        let tls = self.tls.map(|tls| TlsSettings { protocols: versions.choose(tls.protocols), ..tls });
        let tls = tls.map(TlsAcceptor::new).transpose()?;
        let mut endpoints: Vec<Vec<Endpoint>> = (0..workers).map(|_| Vec::new()).collect();
        for (place, scheme) in places {
            let tls = match scheme {
                Scheme::Http => None,
                Scheme::Https => Some(tls.clone().ok_or(TlsSettingsError::NoCertificate)?),
            };
            for (worker, listeners) in endpoints.iter_mut().zip(place.listeners(&self.listen, workers)?) {
                worker.extend(listeners.into_iter().map(|listener| Endpoint { listener, tls: tls.clone() }));
            }
        }
        let departure = PortDrain::of(endpoints.iter_mut().flatten().map(|endpoint| &mut endpoint.listener))?;
        let (stopper, status) = (Stopper::new(), Status::new(workers));
        let signals = Signals::listen(!self.ignores_signals)?;
        let Self { settings, log, .. } = self;
        Ok(BoundServer { endpoints, departure, settings, log, signals, stopper, status })
    }

    /// Listens and serves until TERM or INT. Blocks the thread; in an async `main` call [`Self::serve`].
    ///
    /// # Errors
    ///
    /// As [`Self::bind`] and [`BoundServer::run`].
    pub fn run<H: Handler + Send>(self, handler: H) -> Result<(), Error> {
        self.bind()?.run(handler)
    }

    /// As [`Self::run`], for a program that has a tokio runtime of its own. The handler does not run there: each worker
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
    /// For each worker, what it listens on.
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

/// A server that listens and does not serve yet.
pub struct BoundServer {
    /// For each worker, its sockets.
    endpoints: Vec<Vec<Endpoint>>,
    departure: PortDrain,
    settings: Settings,
    log: Option<LogMaker>,
    signals: Signals,
    stopper: Stopper,
    status: Status,
}

impl BoundServer {
    /// Where it listens; a port 0 has become the one that was chosen.
    pub fn addresses(&self) -> impl Iterator<Item = &Address> {
        self.endpoints.first().into_iter().flatten().map(|endpoint| endpoint.listener.local_address())
    }

    /// Where it can be seen: `http://127.0.0.1:8080/`, `https://…` and so on, in the order of [`Self::addresses`].
    pub fn urls(&self) -> impl Iterator<Item = String> {
        let endpoints = self.endpoints.first().into_iter().flatten();
        endpoints.map(|endpoint| {
            let url = endpoint.listener.local_address().url();
            if endpoint.tls.is_some() { url.replacen("http://", "https://", 1) } else { url }
        })
    }

    /// Stops the server from elsewhere.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// What it has done and is doing, to be asked for from any thread.
    #[must_use]
    pub fn status(&self) -> Status {
        self.status.clone()
    }

    /// As [`Server::access_log`], for a log that cannot be opened before the server is bound.
    #[must_use]
    pub fn access_log<L: AccessLog>(mut self, log: impl Fn() -> L + Send + Sync + 'static) -> Self {
        self.log = Some(Arc::new(move || Rc::new(log())));
        self
    }

    /// Serves until TERM or INT, unless it ignores them, or [`Stopper::stop`]: then accepts no more, ends idle connections,
    /// and finishes what runs within [`Timeouts::grace`]. Ports that other processes share ([`ListenOptions::share`]) are
    /// left without losing a connection.
    ///
    /// Blocks the thread; in an async function call [`Self::serve`].
    ///
    /// # Errors
    ///
    /// When the system refuses a thread or an event queue; [`Error::InRuntime`] within a tokio runtime, whose other tasks
    /// would stand still.
    pub fn run<H: Handler + Send>(self, handler: H) -> Result<(), Error> {
        if Handle::try_current().is_ok() {
            return Err(Error::InRuntime);
        }
        let Self { endpoints, departure, settings, log, signals, stopper, status } = self;
        let mut threads = Vec::with_capacity(endpoints.len());
        let mut spawned = Ok(());
        let limited = (settings.limits.connections > 0).then(Population::default);
        for (number, (endpoints, counters)) in endpoints.into_iter().zip(status.workers()).enumerate() {
            let (handler, log, stop) = (handler.clone(), log.clone(), stopper.watch());
            let (limited, stopper) = (limited.clone(), stopper.clone());
            let counters = Arc::clone(counters);
            let serve = move || {
                let worker = Worker::new(handler, settings, limited, log.as_ref(), counters);
                // One that cannot serve is not missed silently: the others finish, and the reason is given.
                accepting::run(worker, endpoints, stop).inspect_err(|_| stopper.stop())
            };
            match thread::Builder::new().name(format!("serow-{number}")).spawn(serve) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    spawned = Err(error);
                    break;
                }
            }
        }
        drop(handler);
        if spawned.is_err() {
            stopper.stop();
        }
        let grace = settings.timeouts.grace;
        let leaving = leave(departure, &stopper, &status, grace);
        let telling = unfinished::tell(&stopper, &status, grace);
        let aside = async { _ = tokio::join!(leaving, telling) };
        wait(threads, signals, &stopper, aside)?;
        Ok(spawned?)
    }

    /// As [`Self::run`], for a program that has a tokio runtime of its own. The handler does not run there: each worker
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

/// Ends a server whose future was dropped.
struct EndOnDrop(Stopper);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Waits until all workers have ended; meanwhile signals are heard, and shared ports are left (`aside`).
fn wait(
    threads: Vec<JoinHandle<Result<(), Error>>>,
    signals: Signals,
    stopper: &Stopper,
    aside: impl Future<Output = ()>,
) -> Result<(), Error> {
    let (done, all_done) = tokio::sync::oneshot::channel();
    let joiner = thread::Builder::new().name("serow-join".into()).spawn(move || {
        let mut outcome = Ok(());
        for thread in threads {
            outcome = outcome.and(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        let _ = done.send(());
        outcome
    })?;
    signals.stop_until(stopper, aside, all_done);
    joiner.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

const DEFAULT_ADDRESS: &str = "127.0.0.1:8080";
