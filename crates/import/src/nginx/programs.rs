//! `fastcgi_pass`, `uwsgi_pass` and `scgi_pass`: PHP and other programs.

use serow_nginx_syntax::{directive::Directive, pattern::escaped, scope::Scope};
use serow_settings_writer::{matching::Match, table::Table, value::Value};

use super::{
    handler::{Handler, HandlerKind},
    locations::{Kind, Location, PASSES},
    passing, policies,
    position::Position,
    program_variables, proxying,
    text::Text,
    upstreams::{Need, is_server},
};

/// The handlers of a location that passes requests to a program, each with its requests.
pub(super) fn handlers<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    pass: &'tree Directive,
    settings: &Scope<'tree>,
    matching: &Match,
    rewrite: Option<String>,
) -> Result<Vec<(Match, Handler)>, String> {
    let address = position.filled(pass.word(0).unwrap_or_default());
    let mut handlers = Vec::new();
    for (matching, address) in proxying::addresses(position, matching, &address)? {
        let address = address.trim_start_matches("uwsgi://");
        let pages = Script::of(position, settings, pass).pages(&matching);
        for matching in pages.unwrap_or_else(|| vec![matching]) {
            let handler = handler(position, location, (pass, address), settings, &matching, rewrite.clone())?;
            handlers.push((matching, handler));
        }
    }
    Ok(handlers)
}

/// The script of a location, as SCRIPT_FILENAME names it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Script {
    /// The program has no SCRIPT_FILENAME.
    Missing,
    /// It follows from the path of the request.
    OfPath,
    /// It is this file.
    Fixed(String),
    /// It is another text with variables.
    Other,
}

/// Variables that name the script of a request.
const OF_SCRIPTS: &[&str] = &["fastcgi_script_name", "request_filename", "script_filename", "fastcgi_path_info", "uri"];

impl Script {
    fn of(position: &Position<'_, '_>, settings: &Scope<'_>, pass: &Directive) -> Self {
        let filled = script_name(settings).map(|name| position.filled(name));
        match filled {
            Some(filled) if pass.name() == "fastcgi_pass" => match filled.literal() {
                Some(file) => Self::Fixed(file.to_owned()),
                None if filled.variables().any(|name| OF_SCRIPTS.contains(&name)) => Self::OfPath,
                None => Self::Other,
            },
            _ => Self::Missing,
        }
    }

    /// Requests for each of the few paths of a location for php-fpm's own pages, such as `/status`: none of them is a script.
    fn pages(&self, matching: &Match) -> Option<Vec<Match>> {
        let paths = matching.few_paths().filter(|_| *self == Self::OfPath)?;
        let has_scripts = paths.iter().any(|path| path.contains(".php") || path.ends_with('/'));
        (!has_scripts).then(|| paths.iter().map(|path| matching.only(path)).collect())
    }

    /// Whether the folder of `php` finds it.
    fn is_php(&self, location: &Location<'_>, matching: &Match) -> bool {
        match self {
            Self::Missing => match &location.kind {
                Kind::Expression(pattern) => pattern.expression().contains("php"),
                Kind::Exact(path) | Kind::Prefix { path, .. } => path.contains(".php"),
                Kind::Named(_) => false,
            },
            Self::OfPath => matching.exact_path().is_none_or(|path| path.contains(".php") || path.ends_with('/')),
            Self::Fixed(file) => file.ends_with(".php"),
            Self::Other => false,
        }
    }
}

fn handler<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    (pass, address): (&'tree Directive, &str),
    settings: &Scope<'tree>,
    matching: &Match,
    rewrite: Option<String>,
) -> Result<Handler, String> {
    let notes = position.notes();
    let known = PASSES.iter().find(|name| **name == pass.name());
    let protocol = known.map_or("fastcgi", |name| name.trim_end_matches("_pass"));
    notes.translated(pass);
    for name in ["uwsgi_modifier1", "uwsgi_modifier2"] {
        settings.nearest(name).into_iter().for_each(|modifier| match modifier.word(0) {
            Some("0") => notes.translated(modifier),
            _ => notes.lost(modifier, "Serow sends the modifier 0, which is WSGI for uWSGI"),
        });
    }
    let script = Script::of(position, settings, pass);
    let is_php = protocol == "fastcgi" && script.is_php(location, matching);
    let mut handler = match is_php {
        true => php(position, location, settings, (matching, &script), address)?,
        false => {
            let mut handler = Handler::passing(HandlerKind::Proxy, protocol);
            let address = format!("http://{address}");
            let mut need = Need::of(position.server.import, settings, &handler);
            need.set("protocol", protocol);
            position.server.import.set_server(&address, need, &mut handler.table)?;
            passing::hide_fields(position, settings, protocol, &mut handler.table);
            handler
        }
    };
    handler.rewrite = match (handler.rewrite.take(), rewrite) {
        // The query that a rewrite makes stays.
        (Some(script), Some(rewrite)) => Some(match rewrite.split_once('?') {
            Some((_, query)) => format!("{script}?{query}"),
            None => script,
        }),
        (script, rewrite) => script.or(rewrite),
    };
    program_variables::set(position, settings, (protocol, matching), &mut handler);
    proxying::times(position, settings, &mut handler);
    Ok(handler)
}

/// The value of SCRIPT_FILENAME.
fn script_name<'tree>(settings: &Scope<'tree>) -> Option<&'tree str> {
    let params = settings.nearest("fastcgi_param");
    params.iter().rev().find(|param| param.word(0) == Some("SCRIPT_FILENAME")).and_then(|param| param.word(1))
}

/// The handler for the scripts of a folder.
fn php<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    settings: &Scope<'tree>,
    (matching, script): (&Match, &Script),
    address: &str,
) -> Result<Handler, String> {
    if let Script::Fixed(file) = script {
        return fixed(position, location, settings, (matching, file), address);
    }
    let mut table = Table::default();
    let folder = position.server.folder_of(settings);
    // php-fpm in a container has another path than nginx: SCRIPT_FILENAME begins with it then.
    let in_php = script_name(settings)
        .map(|name| position.filled(name).leading().trim_end_matches('/').to_owned())
        .filter(|start| start.starts_with('/'));
    match (&folder, &in_php) {
        (Some(folder), _) if folder.is_alias => {
            return Err("PHP below an `alias` has no translation: write a site of its own, or `root`".to_owned());
        }
        (Some(_), _) => {
            set_folder(position, location, settings, &mut table)?;
        }
        (None, Some(start)) => table.set("root", start.as_str()),
        (None, None) => return Err("there is no `root` for the scripts".to_owned()),
    }
    let path = folder.map(|folder| position.filled(&folder.path).written().trim_end_matches('/').to_owned());
    if let (Some(path), Some(start)) = (&path, &in_php)
        && path != start
    {
        let is_below = start.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('/'));
        table.set(if is_below { "root" } else { "root-in-php" }, start.as_str());
    }
    set_servers(position, settings, address, &mut table)?;
    if let Some(path) = matching.exact_path().filter(|path| path.ends_with(".php")) {
        table.set("entry-points", path);
    }
    Ok(Handler { table, ..Handler::passing(HandlerKind::Php, "fastcgi") })
}

fn set_folder<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    settings: &Scope<'tree>,
    table: &mut Table,
) -> Result<(), String> {
    match position.server.set_folder(location, settings, &position.variables, table)? {
        None => Ok(()),
        Some(_) => Err("a folder of scripts has no variables in its path: write a route for each".to_owned()),
    }
}

/// The handler of a location that has one script for all its requests.
fn fixed<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    settings: &Scope<'tree>,
    (matching, file): (&Match, &str),
    address: &str,
) -> Result<Handler, String> {
    let mut table = Table::default();
    let folder = position.server.folder_of(settings).filter(|folder| !folder.is_alias && !folder.path.contains('$'));
    let below = |folder: &str| {
        let rest = file.strip_prefix(folder.trim_end_matches('/'))?;
        rest.starts_with('/').then(|| format!("/{}", rest.trim_start_matches('/')))
    };
    let script = match folder.as_ref().and_then(|folder| below(&folder.path)) {
        Some(script) => {
            set_folder(position, location, settings, &mut table)?;
            script
        }
        None => {
            let (start, name) = file.rsplit_once('/').filter(|(start, _)| start.starts_with('/')).ok_or_else(|| {
                format!("SCRIPT_FILENAME {file} is not a whole path: write `$document_root` before it")
            })?;
            table.set("root", start);
            format!("/{name}")
        }
    };
    set_servers(position, settings, address, &mut table)?;
    table.set("entry-points", script.as_str());
    let mut handler = Handler { table, ..Handler::passing(HandlerKind::Php, "fastcgi") };
    // The rest of a path such as /index.php/a is PATH_INFO.
    let begins = format!("^{}", escaped(&script));
    let has_rest = matches!(&location.kind, Kind::Expression(pattern) if pattern.expression().starts_with(&begins))
        || location.path().is_some_and(|path| path.starts_with(&script));
    if !has_rest && matching.exact_path() != Some(&script) {
        handler.rewrite = Some(script);
    }
    Ok(handler)
}

/// The servers of a folder of scripts, and the settings that all such folders of nginx have.
fn set_servers<'tree>(
    position: &Position<'_, 'tree>,
    settings: &Scope<'tree>,
    address: &str,
    table: &mut Table,
) -> Result<(), String> {
    let url = format!("http://{address}");
    let mut need = Need::of(position.server.import, settings, &Handler::passing(HandlerKind::Php, "fastcgi"));
    match position.server.import.is_upstream(address) || !need.is_empty() {
        true => {
            need.set("protocol", "fastcgi");
            position.server.import.set_server(&url, need, table)?;
        }
        false if !is_server(address.trim_end_matches(':')) => {
            return Err(format!("{address} is not the address of a server"));
        }
        false => table.set("servers", address.trim_end_matches(':')),
    }
    let index = settings.nearest("index");
    let names: Vec<String> = index.iter().flat_map(|directive| directive.texts()).map(str::to_owned).collect();
    index.iter().for_each(|directive| position.notes().translated(directive));
    let usual = names.is_empty() || names == ["index.php", "index.html"] || names == ["index.php"];
    if !usual && names.iter().all(|name| !name.contains(['$', '/'])) {
        table.set("index", Value::list(names));
    }
    table.set("front-controller", "off");
    // nginx runs each script that its locations lead to.
    table.set("preset", "none");
    Ok(())
}

/// The handler of a location whose `try_files` ends at a script that another location passes to php-fpm: the usual
/// `try_files $uri $uri/ /index.php?$args`. Nothing if it is another.
pub(super) fn front_controller<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    texts: &[Text],
    last: &Text,
) -> Option<Result<Handler, String>> {
    let usual =
        |text: &Text| matches!(text.written().as_str(), "$uri" | "$uri/" | "$uri/index.php" | "$uri/index.html");
    let written = last.written();
    let (script, query) =
        written.split_once('?').map_or((written.as_str(), None), |(script, query)| (script, Some(query)));
    let is_front = script.ends_with(".php") && !script.contains('$') && texts.iter().all(usual) && !texts.is_empty();
    if !is_front || !matches!(query, None | Some("$args" | "$query_string" | "")) {
        return None;
    }
    let scripts = position.server.script_location(script)?;
    let pass = scripts.scope.own_one("fastcgi_pass")?;
    let own = position.server.folder_of(&location.scope)?;
    let folder = position.server.folder_of(&scripts.scope)?;
    if own.path != folder.path || own.is_alias || folder.is_alias {
        return None;
    }
    if ["if", "rewrite", "return", "set"].iter().any(|step| scripts.scope.own_one(step).is_some()) {
        return None;
    }
    // The files of `php` have no freshness and media types of their own.
    let mut files = Table::default();
    policies::files::set(position.server, &location.scope, &mut files);
    if files.entries.iter().any(|(key, _)| !["index", "listing"].contains(&key.as_str())) {
        return None;
    }
    let address = position.filled(pass.word(0).unwrap_or_default());
    let address = address.literal()?;
    let path = format!("/{}", script.trim_start_matches('/'));
    let whole = format!("{}{path}", folder.path.trim_end_matches('/'));
    if matches!(Script::of(position, &scripts.scope, pass), Script::Fixed(file) if file != whole) {
        return None;
    }
    let made = handler(position, scripts, (pass, address), &scripts.scope, &Match::exact(&path), None);
    if let Ok(handler) = &made {
        // A route for files and scripts has the settings of both.
        let settings = |scope| {
            let mut table = Table::default();
            policies::set(position, scope, handler, &mut table);
            table
        };
        if settings(&location.scope) != settings(&scripts.scope) {
            return None;
        }
    }
    Some(made.map(|mut handler| {
        let script = format!("/{}", script.trim_start_matches('/'));
        handler.table.set("front-controller", script.trim_start_matches('/'));
        // Other scripts run, too.
        handler.table.remove("entry-points");
        if texts.iter().all(|text| text.written() == "$uri") {
            handler.table.set("index", Value::List(Vec::new()));
        }
        if query.is_none() {
            position.notes().differs(
                location.scope.own_one("try_files").unwrap_or(location.directive),
                "the front controller also gets the query of the request, which nginx drops here",
            );
        }
        if scripts.is_exact() {
            handler.table.set("entry-points", script);
        }
        handler
    }))
}
