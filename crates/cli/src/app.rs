//! `serow app`: runs an application until it is told to stop.

use std::{io, thread};

use serow_apps::{Application, Reloader};
use tokio::{
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

use crate::{
    announcement::announce,
    error_log,
    failure::Failure,
    serving::{Served, Serving},
    settings::AppSettings,
};

/// Runs the application and serves it until TERM or INT; HUP loads it anew.
pub(crate) fn serve(settings: AppSettings) -> Result<(), Failure> {
    let AppSettings { application, server } = settings;
    error_log::begin(server.level);
    let name = format!("{} ({})", application.program.application, application.program.interface.name());
    let threads = server.workers;
    // The sockets first: whether there are any is known at once, and clients that come meanwhile wait.
    let serving = Serving::bind(server)?;
    let application = Application::new(application, threads);
    let workers = application.run().map_err(Failure::NotStarted)?;
    let reloader = workers.reloader();
    let hangups = reloader.clone();
    let wait = move || {
        if let Err(error) = reload_at_hangup(&hangups) {
            tracing::error!("HUP cannot be waited for: {error}");
        }
    };
    thread::Builder::new().name("serow-reload".to_owned()).spawn(wait).map_err(Failure::System)?;
    serving.serve(application.handler(), Served { name: &name, reloader: Some(reloader), ..Served::default() })
}

/// Loads the application anew at each HUP, as long as there is one.
fn reload_at_hangup(reloader: &Reloader) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let mut hangups = {
        let _context = runtime.enter();
        signal(SignalKind::hangup())?
    };
    runtime.block_on(async {
        while hangups.recv().await.is_some() {
            match reloader.reload().await {
                Ok(()) => announce("The application is loaded anew"),
                Err(why) => tracing::error!("the application cannot be loaded, the old one stays: {why}"),
            }
        }
    });
    Ok(())
}
