//! `strip-prefix` beside an application or in its table: an application gets the prefix of its route as `root-path`.

use serow_document::Problem;
use toml::de::DeValue;

use super::TableReading;

/// Says that this table of an application has `strip-prefix`, if it has.
pub fn of_application(application: &mut TableReading<'_, '_>) {
    let (route, table) = (application.parent, application.table);
    refuse(application, route.and_then(|route| route.get("path")), table.contains_key("command"));
}

/// The same of a route with an application.
pub fn of_route(route: &mut TableReading<'_, '_>) {
    let Some(DeValue::Table(application)) = route.table.get("app").map(|value| value.get_ref()) else { return };
    let (path, is_program) = (route.table.get("path"), application.contains_key("command"));
    refuse(route, path, is_program);
}

fn refuse(table: &mut TableReading<'_, '_>, path: Option<&serow_document::Value<'_>>, is_program: bool) {
    if !table.has(KEY) {
        return;
    }
    let prefix = path.and_then(|path| prefix(path.get_ref()));
    let text = match (is_program, prefix) {
        (false, Some(prefix)) => format!(
            "`{KEY}` is for `files` and `proxy`: an application receives its prefix apart from the path, so write \
             root-path = {prefix:?} in `app`"
        ),
        (false, None) => format!(
            "`{KEY}` is for `files` and `proxy`: an application receives its prefix apart from the path, so write it in \
             `app`, as in root-path = \"/shop\""
        ),
        (true, _) => {
            format!(
                "`{KEY}` is for `files` and `proxy`: a program receives the whole path, so tell it its prefix instead"
            )
        }
    };
    table.know(KEY);
    table.problem(Problem::of_key(table.place().key(KEY), text));
}

/// The prefix of the first path that is one with a star.
fn prefix<'a>(path: &'a DeValue<'_>) -> Option<&'a str> {
    let of_text = |path: &'a DeValue<'_>| {
        path.as_str()?.strip_suffix("/*").filter(|prefix| prefix.starts_with('/') && !prefix.contains('*'))
    };
    match path {
        DeValue::Array(paths) => paths.iter().find_map(|path| of_text(path.get_ref())),
        path => of_text(path),
    }
}

const KEY: &str = "strip-prefix";
