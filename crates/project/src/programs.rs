//! Programs that serve HTTP themselves, as the files of other tools name them.

use std::path::Path;

use serde_json::Value;

use super::{
    applications::{FoundApplication, Start},
    text_file::text_of,
};

/// The script `start` of `package.json`, run by the package manager whose lock file is there.
pub(super) fn package(folder: &Path) -> Option<FoundApplication> {
    let package: Value = serde_json::from_str(&text_of(&folder.join("package.json"))?).ok()?;
    let script = package.get("scripts")?.get("start")?.as_str()?;
    let by_lock = PACKAGE_MANAGERS.iter().find(|(lock, _)| folder.join(lock).is_file());
    let manager = by_lock.map_or("npm", |(_, manager)| manager);
    let start = Start::Program(vec![manager.to_owned(), "start".to_owned()]);
    let is_for_development = DEVELOPMENT_SERVERS.iter().any(|server| script.trim_start().starts_with(server));
    Some(FoundApplication {
        is_for_development,
        ..FoundApplication::new("package.json", "a Node.js application", start)
    })
}

/// The process `web` of a `Procfile`, whose command is for a shell.
pub(super) fn procfile(folder: &Path) -> Option<FoundApplication> {
    let text = text_of(&folder.join("Procfile"))?;
    let command = text.lines().find_map(|line| line.strip_prefix("web:"))?.trim();
    // `exec` for a simple command only: the shell passes no signals on.
    let is_simple = !command.contains(['&', ';', '|', '(', '{']);
    let has_variables = command.split_whitespace().next().is_some_and(|word| word.contains('='));
    let command = match is_simple && !has_variables {
        true => format!("exec {command}"),
        false => command.to_owned(),
    };
    let is_text = !command.is_empty() && !command.chars().any(char::is_control);
    let start = Start::Program(["sh", "-c", &command].map(str::to_owned).into());
    is_text.then(|| FoundApplication::new("Procfile", "an application with the process web", start))
}

/// Lock files and the programs that write them.
const PACKAGE_MANAGERS: [(&str, &str); 4] =
    [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lock", "bun"), ("bun.lockb", "bun")];

/// Scripts that begin with one of these build pages on request; what they serve is built into a folder for production.
const DEVELOPMENT_SERVERS: [&str; 9] =
    ["vite", "react-scripts", "ng ", "webpack", "parcel", "astro dev", "next dev", "vue-cli-service", "gatsby develop"];
