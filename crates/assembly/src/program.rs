//! How a program is run that serves HTTP itself.

use std::{ffi::OsString, num::NonZero, path::Path, time::Duration};

use serow_config::{
    SettingError,
    options::{ApplicationOptions, BindChoice, InterfaceChoice},
};
use serow_programs::commands::{Binding, CommandApplication, CommandSettings};
use serow_site::Application;

use super::{process::ApplicationHost, proxy::field_names, running::run_as_written};

/// This program; copies that leave may take so long.
pub fn program(
    name: String,
    command: Vec<OsString>,
    options: ApplicationOptions,
    grace: Duration,
    host: &ApplicationHost,
) -> Result<Application, SettingError> {
    refuse_meaningless(&options)?;
    let folder = options.chdir.as_deref().unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| {
        SettingError::new("chdir", format!("the folder {} cannot be used: {error}", folder.display()))
    })?;
    if command.first().is_none_or(|program| program.is_empty()) {
        return Err(SettingError::new("command", "`command` is empty: write a program and its arguments"));
    }
    if options.check_path.as_ref().is_some_and(|path| !path.starts_with('/')) {
        return Err(SettingError::new("check-path", "`check-path` has to begin with a slash, as in /up"));
    }
    let mut settings = CommandSettings::new(name, command, folder);
    run_as_written(&mut settings.run, &options, grace, host)?;
    settings.launcher = host.launcher.clone();
    settings.binding = match options.bind {
        BindChoice::Port => Binding::Port,
        BindChoice::Unix => Binding::Unix,
        BindChoice::Inherit => Binding::Inherit,
    };
    settings.check_path = options.check_path;
    settings.field_names = field_names(options.underscores_in_headers);
    settings.concurrency = options.threads.and_then(|count| NonZero::new(count.get()));
    Ok(Application::Program(CommandApplication::new(settings)))
}

/// Refuses options that are given and mean nothing here.
fn refuse_meaningless(options: &ApplicationOptions) -> Result<(), SettingError> {
    let of_interpreters = [
        ("interface", options.interface != InterfaceChoice::Auto),
        ("interpreter", options.interpreter.is_some()),
        ("ini", !options.ini.is_empty()),
        ("preload", options.preload),
        ("root-path", options.root_path.is_some()),
        ("request-start", options.request_start),
        ("refork-after", !options.refork_after.is_empty()),
        ("out-of-band-gc", options.out_of_band_gc.is_some()),
        ("websocket-ping", options.websocket_ping.is_some()),
        ("max-message", options.max_message.is_some()),
        ("websocket-compression", options.websocket_compression.is_some()),
        ("dev", options.dev),
    ];
    let of_known_copies =
        [("max-requests", options.max_requests.is_some()), ("memory-limit", options.memory_limit.is_some())];
    let first = |given: &[(&'static str, bool)]| given.iter().find(|(_, is_given)| *is_given).map(|(key, _)| *key);
    if let Some(key) = first(&of_interpreters) {
        let text = format!("`{key}` is for applications that are not programs of their own: leave it out");
        return Err(SettingError::new(key, text));
    }
    match first(&of_known_copies) {
        Some(key) if options.bind == BindChoice::Inherit => {
            let text = format!(
                "`{key}` needs `bind` port or unix: with one socket for all copies, the server does not know which of them answers"
            );
            Err(SettingError::new(key, text))
        }
        _ => Ok(()),
    }
}
