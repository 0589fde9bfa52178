//! `serow check`: whether a settings file is right.

use std::io::{self, Write};

use crate::{
    arguments::CheckArguments,
    configuration::{self, Configuration},
    failure::{Failure, on_one_line},
};

/// Reads a settings file as `serow run` does, and says what it is.
pub(crate) fn run(arguments: &CheckArguments) -> Result<(), Failure> {
    let path = &arguments.settings.file;
    let configuration = configuration::read(path).map_err(Failure::Configuration)?;
    let line = on_one_line(&format!("{} is right: {}", path.display(), summary(&configuration)));
    writeln!(io::stdout(), "{line}").map_err(Failure::Output)
}

/// `2 listeners, 1 site, 3 routes`
fn summary(configuration: &Configuration) -> String {
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let Configuration { server, sites, routes, .. } = configuration;
    [(server.listeners.len(), "listener"), (*sites, "site"), (*routes, "route")]
        .map(|(count, noun)| counted(count, noun))
        .join(", ")
}
