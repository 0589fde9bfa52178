//! A generation: a process with a whole server.

use std::{mem, path::Path, process::ExitCode};

use serow::{BoundServer, ListenOptions};
use serow_net::process::become_user;
use serow_supervisor::master::{Parent, WantedListener, number};

use super::orders::ServerOrders;
use crate::{
    access_log::AccessLogWriter,
    admin::document,
    announcement::announce,
    configuration::{self, Account, Configuration},
    error_log, exit_code,
    failure::Failure,
    settings::ServerSettings,
};

/// Serves what the settings say that the master hands over, until it says otherwise.
pub(super) fn run(file: &Path) -> ExitCode {
    let (parent, text) = match Parent::meet() {
        Ok(met) => met,
        Err(error) => {
            let line = format!("--generation is for 'serow run' itself, which starts such processes ({error})");
            return exit_code(Err(Failure::Misuse(line)));
        }
    };
    match Generation::prepare(file, text, &parent) {
        Ok(generation) => exit_code(generation.serve(parent)),
        Err(reason) => {
            parent.fail(&reason);
            ExitCode::FAILURE
        }
    }
}

/// Everything that can fail has been done.
struct Generation {
    configuration: Configuration,
    server: BoundServer,
    log: AccessLogWriter,
}

impl Generation {
    fn prepare(file: &Path, text: Vec<u8>, parent: &Parent) -> Result<Self, String> {
        let said = |failure: Failure| failure.line();
        let mut configuration = configuration::of_bytes(file, text).map_err(|error| error.to_string())?;
        let settings = &mut configuration.server;
        error_log::begin(settings.level);
        let sockets = parent.listen(wanted(settings)).map_err(|error| error.to_string())?;
        let mut server = mem::take(&mut settings.server);
        for (listener, sockets) in settings.listeners.iter().zip(sockets) {
            server = server.listen_on(sockets, listener.scheme());
        }
        // What only root may read is read here: keys and certificates.
        let mut server = server.bind().map_err(|error| said(error.into()))?;
        if let Some(Account { user, groups }) = &configuration.account {
            become_user(*user, groups).map_err(|error| format!("cannot become the user {user}: {error}"))?;
        }
        // By the user, who will have to open them anew.
        let log = AccessLogWriter::start(settings.access_log.take()).map_err(said)?;
        if let Some(log) = log.log() {
            server = server.access_log(move || log.for_worker());
        }
        Ok(Self { configuration, server, log })
    }

    fn serve(self, parent: Parent) -> Result<(), Failure> {
        let Self { configuration: Configuration { server: settings, router, sites, reload_grace, .. }, server, log } =
            self;
        let (stopper, status, counter) = (server.stopper(), server.status(), log.counter());
        let orders = ServerOrders {
            stopper,
            status: status.clone(),
            log: counter.clone(),
            replaced: reload_grace,
            stopped: settings.grace,
        };
        if number() == Some(1) {
            announce(&counted_sites(sites), &server, settings.encryption.as_ref());
        }
        let admin = settings.admin.map(|address| address.0.to_string());
        let farewell = parent.ready(admin, reload_grace, settings.grace, orders).map_err(Failure::System)?;
        let outcome = match settings.encryption {
            None => server.run(router),
            Some(encryption) => {
                let handler = encryption.around(router, &server);
                server.run(handler)
            }
        };
        log.finish();
        farewell.say(document::value(&status.report(), counter.counts()));
        outcome.map_err(Failure::from)
    }
}

fn counted_sites(count: usize) -> String {
    if count == 1 { "1 site".to_owned() } else { format!("{count} sites") }
}

/// The sockets that the settings need.
fn wanted(settings: &ServerSettings) -> Vec<WantedListener> {
    let ListenOptions { backlog, share, unix_mode } = settings.listen_options;
    let wanted = settings.listeners.iter().map(|listener| WantedListener {
        address: listener.address.to_string(),
        backlog,
        unix_mode,
        share,
        sockets: settings.workers,
    });
    wanted.collect()
}
