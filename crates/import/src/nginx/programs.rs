//! `fastcgi_pass`, `uwsgi_pass` and `scgi_pass`: PHP and other programs.

use super::{
    handler::{Handler, HandlerKind},
    locations::Location,
    matching::Match,
    policies,
    position::Position,
    scope::Scope,
    text::{Text, Use},
    units::{milliseconds, written_duration},
    upstreams::{Need, is_server},
};
use crate::{
    grammar::directive::Directive,
    settings::{table::Table, value::Value},
};

/// The handler of a location that passes requests to a program.
pub(super) fn handler<'tree>(
    position: &Position<'_, 'tree>,
    location: &Location<'tree>,
    pass: &'tree Directive,
    settings: &Scope<'tree>,
    matching: &Match,
    rewrite: Option<String>,
) -> Result<Handler, String> {
    let notes = position.notes();
    let protocol = pass.name().trim_end_matches("_pass");
    let address = position.filled(pass.word(0).unwrap_or_default());
    let address = address.literal().ok_or("the server has variables")?;
    notes.translated(pass);
    for name in ["fastcgi_split_path_info", "fastcgi_index"] {
        settings
            .nearest(name)
            .into_iter()
            .for_each(|directive| notes.no_line(directive, "Serow splits the paths of scripts itself"));
    }
    let is_script = protocol == "fastcgi"
        && script_name(settings).is_none_or(|name| {
            ["$fastcgi_script_name", "$request_filename", "$script_filename", "$fastcgi_path_info"]
                .iter()
                .any(|part| name.contains(part))
        });
    let mut handler = match is_script {
        true => php(position, location, settings, matching, address)?,
        false => {
            let mut table = Table::default();
            let mut need = Need::default();
            need.set("protocol", protocol);
            position.server.import.set_server(&format!("http://{address}"), need, &mut table)?;
            Handler::new(HandlerKind::Proxy, table)
        }
    };
    variables(position, settings, matching, protocol, &mut handler);
    times(position, settings, protocol, &mut handler.table);
    handler.rewrite = rewrite;
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
    matching: &Match,
    address: &str,
) -> Result<Handler, String> {
    let mut table = Table::default();
    let folder = position.server.folder_of(settings);
    // php-fpm in a container has another path than nginx: SCRIPT_FILENAME begins with it then.
    let in_php = script_name(settings)
        .map(|name| name.split('$').next().unwrap_or_default().trim_end_matches('/').to_owned())
        .filter(|start| start.starts_with('/'));
    match (&folder, &in_php) {
        (Some(folder), _) if folder.is_alias => {
            return Err("PHP below an `alias` has no translation: write a site of its own, or `root`".to_owned());
        }
        (Some(_), _) => {
            position.server.set_folder(location, settings, &position.variables, &mut table)?;
        }
        (None, Some(start)) => table.set("root", start.as_str()),
        (None, None) => return Err("there is no `root` for the scripts".to_owned()),
    }
    if let (Some(folder), Some(start)) = (&folder, &in_php)
        && folder.path.trim_end_matches('/') != start
    {
        table.set("root-in-php", start.as_str());
    }
    match position.server.import.is_upstream(address) {
        true => position.server.import.set_server(&format!("http://{address}"), Need::fastcgi(), &mut table)?,
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
    if let Some(path) = matching.exact_path().filter(|path| path.ends_with(".php")) {
        table.set("entry-points", path);
    }
    Ok(Handler::new(HandlerKind::Php, table))
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
    let is_exact = scripts.is_exact();
    let has_steps = ["if", "rewrite", "return", "set"].iter().any(|step| scripts.scope.own_one(step).is_some());
    if has_steps {
        return None;
    }
    let made = handler(position, location, pass, &scripts.scope, &Match::all(), None);
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
        if query.is_none() {
            position.notes().differs(
                location.scope.own_one("try_files").unwrap_or(location.directive),
                "the front controller also gets the query of the request, which nginx drops here",
            );
        }
        if is_exact {
            handler.table.set("entry-points", script);
        }
        handler
    }))
}

/// Variables that Serow sets as the protocol's usual file does.
const USUAL: &[&str] = &[
    "QUERY_STRING",
    "REQUEST_METHOD",
    "CONTENT_TYPE",
    "CONTENT_LENGTH",
    "SCRIPT_NAME",
    "SCRIPT_FILENAME",
    "REQUEST_URI",
    "DOCUMENT_ROOT",
    "SERVER_PROTOCOL",
    "REQUEST_SCHEME",
    "HTTPS",
    "GATEWAY_INTERFACE",
    "SERVER_SOFTWARE",
    "REMOTE_ADDR",
    "REMOTE_PORT",
    "REMOTE_USER",
    "SERVER_ADDR",
    "SERVER_PORT",
    "SERVER_NAME",
    "REDIRECT_STATUS",
    "PATH_INFO",
    "UWSGI_SCHEME",
    "SCGI",
    "HTTP_PROXY",
];

/// `fastcgi_param` and the like: those that the protocol's usual file sets are there anyway.
fn variables<'tree>(
    position: &Position<'_, 'tree>,
    settings: &Scope<'tree>,
    matching: &Match,
    protocol: &str,
    handler: &mut Handler,
) {
    let notes = position.notes();
    let decided = position.server.with_decisions(&position.variables, settings);
    let mut set = Vec::new();
    for param in settings.nearest(&format!("{protocol}_param")) {
        let (Some(name), Some(value)) = (param.word(0), param.word(1)) else { continue };
        if ["PHP_VALUE", "PHP_ADMIN_VALUE"].contains(&name) {
            notes.lost(
                param,
                "values of php.ini stand in `ini` of `php` if Serow starts php-fpm, or in the pool of php-fpm",
            );
            continue;
        }
        if ["DOCUMENT_URI", "PATH_TRANSLATED"].contains(&name) {
            notes.no_line(param, "SCRIPT_NAME, PATH_INFO and SCRIPT_FILENAME say the same");
            continue;
        }
        if name == "DOCUMENT_ROOT" && protocol != "fastcgi" {
            notes.differs(param, "only PHP learns the folder: other applications that serve files know their own");
            continue;
        }
        // `HTTPS on` for an application behind another proxy.
        if USUAL.contains(&name) && !(name == "HTTPS" && value == "on") {
            notes.no_line(param, "programs have this variable");
            continue;
        }
        match decided.resolve(&position.filled(value), Use::Message) {
            Ok(value) => {
                notes.translated(param);
                match name.strip_prefix("HTTP_") {
                    Some("X_REAL_IP" | "X_FORWARDED_FOR" | "X_FORWARDED_PROTO" | "X_FORWARDED_HOST" | "HOST") => {
                        notes
                            .differs(param, "Serow says who the client is, and how it is connected, by its own fields");
                    }
                    Some(field) => {
                        let field = super::condition::field_name(&field.to_ascii_lowercase());
                        handler.fields.push((field, value.written()));
                    }
                    // A program does not know what the path of the route matched; a map of the path does.
                    None => match matching.expression().filter(|_| value.names_group()) {
                        Some(pattern) => {
                            let made =
                                position.server.import.group_map(&name.to_ascii_lowercase(), "$uri", pattern, &value);
                            set.push((name.to_owned(), Value::Text(format!("${made}"))));
                        }
                        None => set.push((name.to_owned(), Value::Text(value.written()))),
                    },
                }
            }
            Err(why) => notes.lost(param, why),
        }
    }
    if !set.is_empty() {
        handler.table.set("variables", Value::Table(set));
    }
}

fn times<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, protocol: &str, table: &mut Table) {
    let notes = position.notes();
    if let Some(read) = settings.nearest_one(&format!("{protocol}_read_timeout")) {
        match read.word(0).and_then(milliseconds) {
            Some(60_000) => notes.translated(read),
            Some(time) => {
                notes.translated(read);
                table.set("response-timeout", written_duration(time));
                table.set("transfer-timeout", written_duration(time));
            }
            None => notes.lost(read, "this is not a duration"),
        }
    }
}
