//! Access logs.

use serow_nginx_syntax::{directive::Directive, scope::Scope};
use serow_settings_writer::{table::Table, value::Value};

use super::{
    super::{
        position::Position,
        server::Server,
        text::{Text, Use, Variables},
    },
    statuses,
};

/// Sets the access log of a route; the log of the whole server is that of most routes.
pub(crate) fn set<'tree>(position: &Position<'_, 'tree>, settings: &Scope<'tree>, table: &mut Table) {
    let server = position.server;
    let logs = settings.nearest("access_log");
    if logs.is_empty() {
        // nginx's own default is a file.
        return;
    }
    if logs.iter().any(|log| log.word(0) == Some("off")) {
        logs.iter().for_each(|log| server.notes().translated(log));
        table.set("access-log", "off");
        return;
    }
    let mut values = Vec::new();
    let mut is_never = true;
    for log in logs {
        let value = value(server, &position.variables, settings, log);
        is_never &= value == Ok(None);
        match value {
            Ok(value) => {
                server.notes().translated(log);
                values.extend(value);
            }
            Err(why) => server.notes().lost(log, why),
        }
    }
    match values.len() {
        0 if is_never => table.set("access-log", "off"),
        0 => {}
        1 => table.set("access-log", values.remove(0)),
        _ => table.set("access-log", Value::List(values)),
    }
}

/// A log; nothing for one without lines.
fn value<'tree>(
    server: &Server<'_, 'tree>,
    variables: &Variables,
    settings: &Scope<'tree>,
    log: &'tree Directive,
) -> Result<Option<Value>, String> {
    let destination = log.word(0).unwrap_or_default();
    if destination.contains('$') {
        return Err("Serow's logs have no variables in their names: write `access-log` in each site".to_owned());
    }
    let file = match destination {
        "/dev/stdout" | "/proc/self/fd/1" => "-".to_owned(),
        syslog if syslog.starts_with("syslog:") => self::syslog(syslog)?,
        path => server.import.path(path),
    };
    let mut entries = vec![("file".to_owned(), Value::Text(file.clone()))];
    let mut format = "combined";
    for word in log.texts().skip(1) {
        match word.split_once('=') {
            Some(("if", condition)) => {
                let condition = variables.filled(&Text::of(condition));
                match (condition.literal(), statuses::with_lines(server.import, &condition)) {
                    (Some("" | "0"), _) => return Ok(None),
                    (Some(_), _) => {}
                    (None, Some(statuses)) if statuses.is_empty() => return Ok(None),
                    (None, Some(statuses)) => entries.push(("status".to_owned(), Value::Text(statuses))),
                    (None, None) => {
                        let condition = variables.resolve(&condition, Use::Log)?;
                        entries.push(("if".to_owned(), Value::Text(condition.written())));
                    }
                }
            }
            Some(("buffer" | "flush" | "gzip", _)) => {}
            Some(_) => return Err(format!("`{word}` has no translation")),
            None if word == "gzip" => {}
            None => format = word,
        }
    }
    if format != "combined" {
        let text = log_format(settings, format).ok_or_else(|| format!("there is no `log_format {format}`"))?;
        let text = format_text(server, variables, text)?;
        if !text.replace("$$", "").contains('$') {
            return Err(format!("`log_format {format}` has no variables"));
        }
        entries.push(("format".to_owned(), Value::Text(text)));
    }
    Ok(Some(match entries.len() {
        1 => Value::Text(file),
        _ => Value::Table(entries),
    }))
}

fn log_format<'tree>(settings: &Scope<'tree>, name: &str) -> Option<&'tree Directive> {
    settings.nearest("log_format").into_iter().find(|format| format.word(0) == Some(name))
}

fn format_text(server: &Server<'_, '_>, variables: &Variables, format: &Directive) -> Result<String, String> {
    let mut text = Text::default();
    for word in format.texts().skip(1) {
        match word.strip_prefix("escape=") {
            Some("json") => server
                .notes()
                .differs(format, "values are escaped as in the format combined: \"json\" is a format of Serow's own"),
            Some(_) => {}
            None => text.push_text(&Text::of(word)),
        }
    }
    let mut resolved = Text::default();
    for part in &text.parts {
        let single = Text { parts: vec![part.clone()] };
        match variables.resolve(&single, Use::Log) {
            Ok(part) => resolved.push_text(&part),
            Err(why) => {
                server.notes().differs(format, format!("{why}: a dash is in its place"));
                resolved.push_literal("-");
            }
        }
    }
    server.notes().translated(format);
    let text = resolved.written();
    if text.contains(char::is_control) {
        server.notes().differs(format, "a line of a log has spaces in the place of control characters");
    }
    Ok(text.replace(char::is_control, " "))
}

/// A destination such as `syslog:server=host:514,facility=local7,tag=nginx`.
fn syslog(text: &str) -> Result<String, String> {
    let mut address = String::new();
    let mut options = Vec::new();
    for part in text.trim_start_matches("syslog:").split(',') {
        match part.split_once('=') {
            Some(("server", server)) => {
                address = match server.strip_prefix("unix:") {
                    Some(path) => format!("syslog:unix:{path}"),
                    None if server.contains(':') => format!("syslog:udp://{server}"),
                    None => format!("syslog:udp://{server}:514"),
                };
            }
            Some((option @ ("facility" | "severity" | "tag"), value)) => options.push(format!("{option}={value}")),
            _ if part == "nohostname" => {}
            _ => return Err(format!("`{part}` has no translation")),
        }
    }
    match options.is_empty() {
        true => Ok(address),
        false => Ok(format!("{address}?{}", options.join("&"))),
    }
}
