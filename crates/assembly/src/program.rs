//! How a program is run that serves HTTP itself.

use std::{ffi::OsString, num::NonZero, path::Path, time::Duration};

use serow_config::{
    SettingError, checks,
    options::{ApplicationOptions, BindChoice},
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
    checks::program(command.first().map(OsString::as_os_str), &options)?;
    let folder = options.chdir.as_deref().unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| {
        SettingError::new("chdir", format!("the folder {} cannot be used: {error}", folder.display()))
    })?;
    let mut settings = CommandSettings::new(name, command, folder);
    run_as_written(&mut settings.run, &options, grace, host);
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
