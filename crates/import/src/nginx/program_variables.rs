//! `fastcgi_param` and the like: the variables that programs get.

use serow_nginx_syntax::{directive::Directive, scope::Scope};
use serow_settings_writer::{matching::Match, value::Value};

use super::{
    handler::{Handler, HandlerKind},
    position::Position,
    text::{Text, Use},
};

/// The values of nginx's own files of parameters, and others that say the same: Serow sends these variables itself.
fn usual_values(name: &str) -> &'static [&'static str] {
    match name {
        "QUERY_STRING" => &["$query_string", "$args"],
        "REQUEST_METHOD" => &["$request_method"],
        "CONTENT_TYPE" => &["$content_type", "$http_content_type"],
        "CONTENT_LENGTH" => &["$content_length", "$http_content_length"],
        "REQUEST_URI" => &["$request_uri"],
        "SERVER_PROTOCOL" => &["$server_protocol"],
        "REQUEST_SCHEME" => &["$scheme"],
        "HTTPS" => &["$https"],
        "GATEWAY_INTERFACE" => &["CGI/1.1", "CGI/1.0"],
        "SERVER_SOFTWARE" => &["nginx", "nginx/$nginx_version"],
        "REMOTE_ADDR" => &["$remote_addr"],
        "REMOTE_PORT" => &["$remote_port"],
        "REMOTE_USER" => &["$remote_user"],
        "SERVER_ADDR" => &["$server_addr"],
        "SERVER_PORT" => &["$server_port"],
        "SERVER_NAME" => &["$server_name", "$host"],
        "REDIRECT_STATUS" => &["200"],
        "SCGI" => &["1"],
        "HTTP_HOST" => &["$host", "$http_host"],
        "HTTP_PROXY" => &[""],
        _ => &[],
    }
}

/// Sets the variables of a handler.
pub(super) fn set<'tree>(
    position: &Position<'_, 'tree>,
    settings: &Scope<'tree>,
    (protocol, matching): (&str, &Match),
    handler: &mut Handler,
) {
    let params = settings.nearest(&format!("{protocol}_param"));
    // A value that is sent only if it is not empty leaves the one before it: `HTTPS $https if_not_empty` behind `HTTPS on`.
    let always = |name: &str| {
        let is_always = |param: &&Directive| param.word(0) == Some(name) && param.word(2) != Some("if_not_empty");
        params.iter().rposition(is_always)
    };
    let last = |name: &str| always(name).or_else(|| params.iter().rposition(|param| param.word(0) == Some(name)));
    let mut set = Vec::new();
    for (number, param) in params.iter().enumerate() {
        let (Some(name), Some(value)) = (param.word(0), param.word(1)) else { continue };
        if last(name) != Some(number) {
            position.notes().no_line(param, "the program gets the last value of this variable");
            continue;
        }
        let of_path = match handler.kind {
            HandlerKind::Php => of_script(position, param, (name, value), handler),
            _ => without_path(position, param, (protocol, name, value)),
        };
        if !of_path && !is_there(position, param, name, value) {
            add(position, settings, matching, (param, name, value), handler, &mut set);
        }
    }
    if handler.kind != HandlerKind::Php
        && set.iter().any(|(name, _)| name == "SCRIPT_NAME")
        && last("PATH_INFO").is_none()
    {
        // Serow's is the whole path.
        set.push(("PATH_INFO".to_owned(), Value::from("")));
    }
    if !set.is_empty() {
        handler.table.set("variables", Value::Table(set));
    }
}

/// Whether Serow sends the same variable, or one that has no counterpart at all; notes it.
fn is_there(position: &Position<'_, '_>, param: &Directive, name: &str, value: &str) -> bool {
    let notes = position.notes();
    let filled = position.filled(value).written();
    match name {
        "PHP_VALUE" | "PHP_ADMIN_VALUE" => notes.lost(
            param,
            "values of php.ini stand in `ini` of `php` if Serow starts php-fpm, or in the pool of php-fpm",
        ),
        "DOCUMENT_URI" | "PATH_TRANSLATED" => {
            notes.no_line(param, "SCRIPT_NAME, PATH_INFO and SCRIPT_FILENAME say the same");
        }
        "REQUEST_METHOD" | "CONTENT_TYPE" | "CONTENT_LENGTH" if !usual_values(name).contains(&filled.as_str()) => {
            notes.lost(param, "programs get that of the request");
        }
        "HTTP_PROXY" if !value.is_empty() => notes.lost(param, "programs take it for a setting of their own (httpoxy)"),
        _ if usual_values(name).iter().any(|usual| *usual == value || *usual == filled) => {
            notes.no_line(param, "programs have this variable");
        }
        _ => return false,
    }
    true
}

/// Whether a variable follows from the script that `php` finds; notes it.
fn of_script(position: &Position<'_, '_>, param: &Directive, (name, value): (&str, &str), handler: &Handler) -> bool {
    let notes = position.notes();
    let filled = position.filled(value);
    let text = |key: &str| match handler.table.get(key) {
        Some(Value::Text(text)) => Some(text.trim_end_matches('/').to_owned()),
        _ => None,
    };
    let script = handler.rewrite.as_deref().map(|path| path.split('?').next().unwrap_or_default());
    let is_usual = match name {
        "SCRIPT_FILENAME" => true,
        "DOCUMENT_ROOT" => {
            let folder = filled.literal().map(|folder| folder.trim_end_matches('/').to_owned());
            match folder {
                Some(folder) => [text("root-in-php"), text("root")].contains(&Some(folder)),
                None => matches!(filled.variable(), Some("document_root" | "realpath_root")),
            }
        }
        "SCRIPT_NAME" => match filled.literal() {
            Some(literal) => {
                let is_only = text("entry-points").is_some_and(|only| only == literal);
                script == Some(literal) || is_only
            }
            None => is_path(&filled) && script.is_none(),
        },
        "PATH_INFO" => {
            filled.variable() == Some("fastcgi_path_info")
                || filled.literal() == Some("")
                || filled.variable() == Some("1")
        }
        _ => return false,
    };
    match is_usual {
        true => notes.no_line(param, "Serow finds the script by the path, and sends this variable"),
        false => {
            let why = format!("{name} follows from the script that Serow finds: it has another value");
            notes.differs(param, why);
        }
    }
    true
}

/// Whether a program that has no folder gets such a variable as nginx's own file has it; notes it.
fn without_path(position: &Position<'_, '_>, param: &Directive, (protocol, name, value): (&str, &str, &str)) -> bool {
    let filled = position.filled(value);
    match name {
        "PATH_INFO" if is_path(&filled) => position.notes().no_line(param, "programs have this variable"),
        "SCRIPT_NAME" if filled.literal() == Some("") => {
            position.notes().no_line(param, "the program has the whole path in PATH_INFO");
        }
        "DOCUMENT_ROOT" if protocol != "fastcgi" && value == "$document_root" => {
            let why = "only PHP learns the folder: other applications that serve files know their own";
            position.notes().differs(param, why);
        }
        _ => return false,
    }
    true
}

/// Whether a text is the path of the request.
fn is_path(text: &Text) -> bool {
    matches!(text.variable(), Some("uri" | "document_uri" | "fastcgi_script_name"))
}

/// Adds a variable with a value of its own.
fn add<'tree>(
    position: &Position<'_, 'tree>,
    settings: &Scope<'tree>,
    matching: &Match,
    (param, name, value): (&'tree Directive, &str, &str),
    handler: &mut Handler,
    set: &mut Vec<(String, Value)>,
) {
    let notes = position.notes();
    let is_name = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !text.starts_with(|first: char| first.is_ascii_digit())
    };
    let with_hyphens = name.strip_prefix("HTTP_").filter(|field| field.contains('-'));
    if !is_name(name) && !with_hyphens.is_some_and(|field| is_name(&field.replace('-', ""))) {
        let why = "names of variables begin with a letter, and have letters, digits and _: a field of the request is HTTP_X_NAME";
        return notes.lost(param, why);
    }
    let filled = position.filled(value).replaced(|variable| {
        let path = matching.exact_path().filter(|_| variable == "fastcgi_script_name");
        Ok(path.map(Text::of))
    });
    let decided = position.server.with_decisions(&position.variables, settings);
    let value = match filled.and_then(|filled| decided.resolve(&filled, Use::Message)) {
        Ok(value) => value,
        Err(why) => return notes.lost(param, why),
    };
    if name == "SCRIPT_FILENAME" && value.literal().is_none() {
        return notes.lost(param, "the program depends on the request: write a route for each, or a folder of `cgi`");
    }
    notes.translated(param);
    let field = name.strip_prefix("HTTP_").map(|field| field.replace('-', "_"));
    match field.as_deref() {
        Some("X_REAL_IP" | "X_FORWARDED_FOR" | "X_FORWARDED_PROTO" | "X_FORWARDED_HOST") => {
            notes.differs(param, "Serow says who the client is, and how it is connected, by its own fields");
        }
        Some("HOST") => notes.differs(param, "programs get the Host of the request"),
        Some(field) => {
            if with_hyphens.is_some() {
                let why =
                    "the program gets it as a field of the request: names of variables have letters, digits and _";
                notes.differs(param, why);
            }
            let field = super::condition::field_name(&field.to_ascii_lowercase());
            handler.fields.push((field, value.written()));
        }
        // A program does not know what the path of the route matched; a map of the path does.
        None => match matching.expression().filter(|_| value.names_group()) {
            Some(pattern) => {
                let made = position.server.import.group_map(&name.to_ascii_lowercase(), "$uri", pattern, &value);
                set.push((name.to_owned(), Value::Text(format!("${made}"))));
            }
            None => set.push((name.to_owned(), Value::Text(value.written()))),
        },
    }
}
