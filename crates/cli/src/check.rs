//! `serow check`: whether a settings file is right; `serow schema`: what can be in one.

use std::{
    io::{self, Write},
    path::Path,
};

use crate::{
    arguments::CheckArguments,
    configuration::{self, Configuration},
    failure::{Failure, on_one_line},
    settings::Purpose,
};

/// Reads a settings file as `serow run` does, and says what it is.
pub(crate) fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let path = &arguments.settings.file;
    let configuration = configuration::read(path).map_err(Failure::Configuration)?;
    let line = format!("{} is right: {}", path.display(), summary(&configuration));
    let line = format!("{}{}", if arguments.explain { "# " } else { "" }, on_one_line(&line));
    let explanation = if arguments.explain { explanation(path, &configuration)? } else { String::new() };
    writeln!(io::stdout(), "{line}{explanation}").map_err(Failure::Output)
}

/// What the file says, in its own words; and of listeners, what they are for.
fn explanation(path: &Path, configuration: &Configuration) -> Result<String, Failure> {
    let listeners = configuration.server.listeners.iter().map(|listener| {
        let purpose = match listener.purpose {
            Purpose::Encrypted => "with TLS",
            Purpose::Plain => "without TLS",
            Purpose::Redirect => "redirects to TLS",
        };
        format!("\n# {} {purpose}", listener.address)
    });
    let said = configuration::explain(path).map_err(Failure::Configuration)?;
    Ok(format!("{}\n\n{}", listeners.collect::<String>(), said.trim()))
}

/// `serow schema`: prints the JSON schema of settings files.
pub(crate) fn print_schema() -> Result<(), Failure> {
    writeln!(io::stdout(), "{:#}", configuration::schema()).map_err(Failure::Output)
}

/// `serow reference`: prints docs/settings.md.
pub(crate) fn print_reference() -> Result<(), Failure> {
    io::stdout().write_all(configuration::reference().as_bytes()).map_err(Failure::Output)
}

/// `2 listeners, 1 upstream, 1 site, 3 routes`
fn summary(configuration: &Configuration) -> String {
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let Configuration { server, upstreams, sites, routes, .. } = configuration;
    let parts =
        [(server.listeners.len(), "listener"), (upstreams.len(), "upstream"), (*sites, "site"), (*routes, "route")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, noun)| counted(count, noun));
    parts.collect::<Vec<_>>().join(", ")
}
