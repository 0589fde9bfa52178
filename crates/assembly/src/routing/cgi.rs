//! CGI programs.

use std::{num::NonZero, path::absolute};

use serow_config::{paths::resolved, tables::cgi::CgiTable};
use serow_document::{Place, Problem};
use serow_gateway::QueueSettings;
use serow_programs::cgi::{Cgi, CgiSettings, Programs};
use serow_router::Action;
use serow_site::Content;

use super::Routing;
use crate::route_numbers::trusted;

impl Routing<'_> {
    /// The programs of a route with these paths.
    pub(super) fn cgi<'p>(
        &self,
        table: CgiTable,
        paths: impl Iterator<Item = &'p str>,
        place: &Place,
    ) -> Option<Action<Content>> {
        let (key, path, is_folder) = match (table.root, table.program) {
            (Some(root), None) => ("root", root, true),
            (None, Some(program)) => ("program", program, false),
            (Some(_), Some(_)) => {
                let text = "either `root` or `program`: leave one out";
                return self.noted(Err(Problem::of_key(place.key("program"), text)));
            }
            (None, None) => {
                let text = "there is nothing to run: write `root` with a folder of programs, or `program` with one";
                return self.noted(Err(Problem::of_key(place.clone(), text)));
            }
        };
        let wrong = |text: String| Problem::of_value(place.key(key), text);
        let shown = path.display().to_string();
        let path =
            absolute(resolved(&path, self.folder)).map_err(|error| wrong(format!("{}: {error}", path.display())));
        let path = self.noted(path)?;
        let settings = CgiSettings {
            prefix: prefix(paths, is_folder),
            environment: table.env.into_iter().map(|variable| (variable.name.into(), variable.value.into())).collect(),
            processes: NonZero::new(table.processes.in_memory()).unwrap_or(NonZero::<usize>::MIN),
            queue: QueueSettings { length: table.queue.in_memory(), timeout: table.queue_timeout.0 },
            timeout: table.timeout.0,
            trusted: trusted(self.trust),
            launcher: self.applications.host().launcher.clone(),
            open_files: self.applications.host().open_files,
            ..CgiSettings::new(if is_folder { Programs::Folder(path) } else { Programs::One(path) })
        };
        let cgi = Cgi::new(settings).map_err(|error| wrong(format!("{shown} cannot be used: {error}")));
        self.noted(cgi).map(|cgi| Action::Handle(Content::Cgi(cgi)))
    }
}

/// The part of the paths of a route that leads to its programs: that before `/*`, also beside the same path without it. One
/// program has a single path to itself; in a folder, that is the name of the program.
fn prefix<'p>(paths: impl Iterator<Item = &'p str>, is_folder: bool) -> String {
    let mut paths = paths.map(|path| path.strip_suffix("/*").map_or((path, is_folder), |prefix| (prefix, false)));
    let Some((first, is_name)) = paths.next() else { return String::new() };
    let mut is_name = is_name;
    for (path, is_other_name) in paths {
        is_name &= is_other_name;
        if path != first {
            return String::new();
        }
    }
    if is_name || first.contains('*') { String::new() } else { first.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_before_its_star_leads_to_the_programs() {
        for (paths, of_folder, of_program) in [
            (&["/*"][..], "", ""),
            (&["/cgi-bin/*"], "/cgi-bin", "/cgi-bin"),
            (&["/a/b/*"], "/a/b", "/a/b"),
            (&["/cgi-bin", "/cgi-bin/*"], "/cgi-bin", "/cgi-bin"),
            (&["/status"], "", "/status"),
            (&["/a/*", "/b/*"], "", ""),
            (&["/*.cgi"], "", ""),
            (&["/*/cgi/*"], "", ""),
            (&[], "", ""),
        ] {
            let found = [true, false].map(|is_folder| prefix(paths.iter().copied(), is_folder));
            assert_eq!(found, [of_folder, of_program], "{paths:?}");
        }
    }
}
