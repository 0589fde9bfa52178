//! How a program is run that serves HTTP itself.

use std::{ffi::OsString, num::NonZero, path::Path, time::Duration};

use serow_apps::{Binding, CommandApplication, CommandSettings};

use super::{SettingError, process::ApplicationHost, proxy::field_names, running::run_as_written};
use crate::{
    application::Application,
    options::{ApplicationArguments, BindArgument, InterfaceArgument},
};

/// This program; copies that leave may take so long.
pub fn program(
    name: String,
    command: Vec<OsString>,
    written: ApplicationArguments,
    grace: Duration,
    host: &ApplicationHost,
) -> Result<Application, SettingError> {
    refuse_meaningless(&written)?;
    let folder = written.chdir.as_deref().unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| {
        SettingError::new("chdir", format!("the folder {} cannot be used: {error}", folder.display()))
    })?;
    if command.first().is_none_or(|program| program.is_empty()) {
        return Err(SettingError::new("command", "`command` is nothing: write a program and its arguments"));
    }
    if written.check_path.as_ref().is_some_and(|path| !path.starts_with('/')) {
        return Err(SettingError::new("check-path", "`check-path` has to begin with a slash, as in /up"));
    }
    let mut settings = CommandSettings::new(name, command, folder);
    run_as_written(&mut settings.run, &written, grace, host)?;
    settings.launcher = host.launcher.clone();
    settings.binding = match written.bind {
        BindArgument::Port => Binding::Port,
        BindArgument::Unix => Binding::Unix,
        BindArgument::Inherit => Binding::Inherit,
    };
    settings.check_path = written.check_path;
    settings.field_names = field_names(written.underscores_in_headers);
    settings.concurrency = written.threads.and_then(|count| NonZero::new(count.get()));
    Ok(Application::Program(CommandApplication::new(settings)))
}

/// What is written and means nothing here.
fn refuse_meaningless(written: &ApplicationArguments) -> Result<(), SettingError> {
    let of_interpreters = [
        ("interface", written.interface != InterfaceArgument::Auto),
        ("interpreter", written.interpreter.is_some()),
        ("preload", written.preload),
        ("root-path", written.root_path.is_some()),
        ("refork-after", !written.refork_after.is_empty()),
        ("out-of-band-gc", written.out_of_band_gc.is_some()),
        ("websocket-ping", written.websocket_ping.is_some()),
        ("max-message", written.max_message.is_some()),
        ("dev", written.dev),
    ];
    let of_known_copies =
        [("max-requests", written.max_requests.is_some()), ("memory-limit", written.memory_limit.is_some())];
    let first = |given: &[(&'static str, bool)]| given.iter().find(|(_, is_given)| *is_given).map(|(key, _)| *key);
    if let Some(key) = first(&of_interpreters) {
        let text = format!("`{key}` is for applications that are not programs of their own: leave it out");
        return Err(SettingError::new(key, text));
    }
    match first(&of_known_copies) {
        Some(key) if written.bind == BindArgument::Inherit => {
            let text = format!(
                "`{key}` needs `bind` port or unix: at one socket for all copies nobody knows which of them answers"
            );
            Err(SettingError::new(key, text))
        }
        _ => Ok(()),
    }
}
