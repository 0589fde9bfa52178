//! `serow app`: runs an application until it is stopped.

use std::{ffi::OsStr, io, path::Path, thread, time::Duration};

use rustix::process::geteuid;
use serow::Stopper;
use serow_assembly::{
    ApplicationHost, PhpPlace, ServerSettings, application, descriptor_shares::Shares, php_fpm, program, reads_attempts,
};
use serow_config::{
    SettingError,
    options::{ApplicationOptions, InterfaceChoice},
};
use serow_files::{CacheLimits, Files, FilesSettings, Symlinks};
use serow_net::process::forbid_tracing;
use serow_processes::{Reloader, StartCancellation, Workers};
use serow_programs::php::PhpFolder;
use serow_proxy::TrustedProxies;
use serow_site::{Application, Content};
use tokio::{
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
    sync::oneshot,
};

use crate::{
    announcement::announce,
    application_host::application_host,
    arguments::AppArguments,
    command_error::CommandError,
    descriptors, environment_port, error_log,
    response_options::ResponsePolicy,
    script_option::OpenedScript,
    serving::{Served, Serving},
    static_files::StaticFiles,
    web_concurrency,
};

/// The settings of `serow app`.
pub(crate) struct AppSettings {
    /// The application.
    pub(crate) application: Application,
    /// The handler of its requests.
    content: Content,
    /// Static files, before the application.
    pub(crate) static_files: StaticFiles,
    /// The compression and caching of responses.
    pub(crate) responses: ResponsePolicy,
    /// The script that all requests pass first, if there is one.
    pub(crate) script: OpenedScript,
    /// The settings of the server as a whole.
    pub(crate) server: ServerSettings,
}

impl AppSettings {
    /// Finds out what the options mean together.
    pub(crate) fn new(arguments: AppArguments) -> Result<Self, CommandError> {
        let AppArguments { application, command, mut run, static_files, responses, script, mut general, terminal } =
            arguments;
        environment_port::listen_there(&mut general)?;
        web_concurrency::heed(&mut run)?;
        if !general.listening.trust.is_empty() {
            run.trust = Some(general.listening.trust.clone());
        }
        let trusted: TrustedProxies = general.listening.trust.iter().map(|network| network.0).collect();
        let script = script.open(trusted)?;
        let php = php_place(application.as_deref(), &run)?;
        if php.is_some() {
            static_files.refuse_beside_php()?;
        }
        let shares = static_files.shares(&general.listening, php.is_some());
        let host = ApplicationHost { note_attempts: reads_attempts(&general.logging), ..application_host() };
        let mut server = ServerSettings::new(general, shares)?;
        terminal.apply(&mut server);
        let name = APPLICATION.to_owned();
        let served = format!("{application:?} {command:?}");
        let application = match application {
            _ if let Some(place) = php => php_application(place, run, server.grace, &host, shares),
            Some(application) => self::application(name, &application, run, server.workers, server.grace, &host)
                .map(|application| (application, None)),
            None => program(name, command, run, server.grace, &host).map(|application| (application, None)),
        };
        let (application, folder) =
            application.map_err(|found| SettingError { text: found.text.replace("`application`", "FILE"), ..found })?;
        let (static_files, responses) = (static_files.open(shares)?, responses.policy(served));
        let content = folder.or_else(|| application.content());
        let content = content.ok_or_else(|| CommandError::Usage("the application answers no requests".to_owned()))?;
        Ok(Self { application, content, static_files, responses, script, server })
    }
}

/// Where scripts in PHP are, if that is what the application is: a file in PHP, or a folder.
fn php_place(application: Option<&OsStr>, run: &ApplicationOptions) -> Result<Option<PhpPlace>, SettingError> {
    let Some(path) = application.map(Path::new).filter(|_| run.interface == InterfaceChoice::Auto) else {
        return Ok(None);
    };
    let is_php = path.extension().is_some_and(|ending| ending == "php") || path.is_dir();
    let place = is_php.then(|| PhpPlace::find(path)).transpose();
    place.map_err(|error| match serow_project::applications(path).first() {
        // A folder with an application in another language.
        Some(found) => {
            let (kind, command) = (found.kind, found.command(Some(path).filter(|path| *path != Path::new("."))));
            SettingError::new("application", format!("{} contains {kind}: write {command}", path.display()))
        }
        None => error,
    })
}

/// php-fpm for the scripts there.
fn php_application(
    place: PhpPlace,
    run: ApplicationOptions,
    grace: Duration,
    host: &ApplicationHost,
    shares: Shares,
) -> Result<(Application, Option<Content>), SettingError> {
    let cache = CacheLimits { open_files: shares.cached_files, ..CacheLimits::default() };
    let symlinks = if place.has_outer_links() { Symlinks::SameOwner } else { Symlinks::WithinRoot };
    let settings = FilesSettings { cache, index: place.pages(), symlinks, ..FilesSettings::default() };
    let files = Files::with_settings(&place.root, settings)
        .map_err(|error| SettingError::new("application", format!("`application`: {error}")))?;
    let fpm = php_fpm(APPLICATION.to_owned(), &place, run, grace, host)?;
    let content = Content::Php(Box::new(PhpFolder::new(files, fpm.proxy(), place.settings)));
    Ok((Application::Php(fpm), Some(content)))
}

/// Runs the application and serves it until TERM or INT; HUP reloads it.
pub(crate) fn serve(settings: AppSettings) -> Result<(), CommandError> {
    let AppSettings { application, content, static_files, responses, script, server } = settings;
    error_log::begin(server.level);
    forbid_tracing().map_err(CommandError::system)?;
    descriptors::require(server.needed_descriptors())?;
    if geteuid().is_root() {
        tracing::warn!(
            "the application runs as root: run serow app as another user, as with `runuser -u www-data -- serow app …`, or \
             write a settings file with `user`, for which 'serow init' writes the beginning"
        );
    }
    // From here on, who sends HUP too early does not end the server.
    let hangups = Hangups::new().map_err(CommandError::system)?;
    // The sockets before the application: whether there are any is known at once, and clients that come meanwhile wait.
    let serving = Serving::bind(server)?;
    let Some(workers) = load(&application)? else { return Ok(()) };
    let reloader = workers.reloader();
    let (reloading, stopper, stopping) = (reloader.clone(), serving.stopper(), application.clone());
    let wait = move || hangups.reload(&reloading, &stopper, &stopping);
    thread::Builder::new().name("serow-reload".to_owned()).spawn(wait).map_err(CommandError::system)?;
    let upstreams = application.upstream().cloned().into_iter().collect();
    let name = application.description();
    let cache = responses.store();
    let site = script.around(static_files.before(responses.around(content)));
    let reloader = Some(reloader);
    serving.serve(site, Served { name: &name, upstreams, application: Some(application), reloader, cache })
}

/// Loads the application; nothing if TERM or INT arrives meanwhile, which would otherwise wait until it is loaded.
fn load(application: &Application) -> Result<Option<Workers>, CommandError> {
    let runtime = Builder::new_current_thread().enable_io().build().map_err(CommandError::system)?;
    let signals = || {
        let _context = runtime.enter();
        Ok((signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?))
    };
    let (mut terminate, mut interrupt) = signals().map_err(CommandError::system)?;
    let cancellation = StartCancellation::default();
    thread::scope(|scope| {
        let (sender, loaded) = oneshot::channel::<()>();
        let load = || {
            let outcome = application.run_unless(&cancellation);
            // The receiver waits for the end of this.
            drop(sender);
            outcome
        };
        let loading = thread::Builder::new()
            .name("serow-load".to_owned())
            .spawn_scoped(scope, load)
            .map_err(CommandError::system)?;
        let is_stopped = runtime.block_on(async {
            tokio::select! {
                _ = loaded => false,
                _ = terminate.recv() => true,
                _ = interrupt.recv() => true,
            }
        });
        if is_stopped {
            cancellation.cancel();
        }
        let outcome = loading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if is_stopped {
            return Ok(None);
        }
        outcome.map(Some).map_err(CommandError::report)
    })
}

/// HUP, which reloads the application.
struct Hangups {
    signal: Signal,
    runtime: Runtime,
}

impl Hangups {
    fn new() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let signal = {
            let _context = runtime.enter();
            signal(SignalKind::hangup())?
        };
        Ok(Self { signal, runtime })
    }

    /// Reloads the application at each of them. When the server stops, its WebSockets are closed, and this ends.
    fn reload(mut self, reloader: &Reloader, stopper: &Stopper, application: &Application) {
        let reload = async {
            while self.signal.recv().await.is_some() {
                match reloader.reload().await {
                    Ok(()) => announce("The application is reloaded"),
                    Err(why) => tracing::error!("the application cannot be reloaded, the old one stays: {why}"),
                }
            }
        };
        self.runtime.block_on(async {
            tokio::select! {
                () = reload => {}
                () = stopper.stopping() => application.close_websockets(),
            }
        });
    }
}

/// The name of the application of a command line.
const APPLICATION: &str = "app";
