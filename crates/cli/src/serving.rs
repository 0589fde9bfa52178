//! Serving until the process is told to stop, whatever is served: for `serow files` and `serow proxy`.

use serow::Handler;
use serow_proxy::Upstream;

use crate::{
    access_log::AccessLogWriter,
    admin::{Door, Sources, Subject},
    announcement::{self, announce},
    encryption,
    failure::Failure,
    settings::ServerSettings,
};

/// Serves with this handler until TERM or INT; `served` is what the first line says of it, `upstreams` are what it asks.
pub(crate) fn serve<H: Handler + Send>(
    settings: ServerSettings,
    handler: H,
    served: &str,
    upstreams: Vec<Upstream>,
) -> Result<(), Failure> {
    let ServerSettings { listeners, server, encryption, admin, admin_token, access_log, .. } = settings;
    let mut server = listeners.iter().fold(server, |server, listener| listener.add_to(server));
    let writer = AccessLogWriter::start(access_log)?;
    if let Some(log) = writer.log() {
        server = server.access_log(move || log.for_worker());
    }
    let server = server.bind()?;
    let subject = Subject::Server {
        sources: Sources { status: server.status(), log: writer.counter(), upstreams },
        stopper: server.stopper(),
    };
    let door = admin.map(|address| Door::open(&address, admin_token.as_deref(), subject)).transpose()?;
    announce(&announcement::line(served, &server, encryption.as_ref()));
    serow_supervisor::tell_parent("READY=1");
    let outcome = encryption::run(encryption, server, handler);
    // What a server that stops still does can be asked until it is done.
    drop(door);
    writer.finish();
    outcome.map_err(Failure::from)
}
