//! `return` and `rewrite`: responses, redirects and other paths.

use std::rc::Rc;

use serow_nginx_syntax::{directive::Directive, scope::Scope};
use serow_settings_writer::{table::Table, value::Value};

use super::{
    handler::{Handler, HandlerKind},
    position::Position,
    text::{Part, Text, Use},
};

/// The handler of a `return`.
pub(super) fn of_return<'tree>(
    position: &Position<'_, 'tree>,
    directive: &'tree Directive,
    scope: &Rc<Scope<'tree>>,
) -> Result<Handler, String> {
    let words: Vec<&str> = directive.texts().collect();
    let (status, text) = match words.as_slice() {
        [url] if url.starts_with("http://") || url.starts_with("https://") || url.starts_with("$scheme") => {
            (302, Some(*url))
        }
        [status] => (status.parse().map_err(|_| "the status is not a number")?, None),
        [status, text] => (status.parse().map_err(|_| "the status is not a number")?, Some(*text)),
        _ => return Err("`return` has a status and a text".to_owned()),
    };
    let mut table = Table::default();
    match (status, text) {
        (444, _) => {
            table.set("close", Value::Bool(true));
            Ok(Handler::new(HandlerKind::Respond, table))
        }
        (301 | 302 | 303 | 307 | 308, Some(url)) => {
            let to = redirect_text(position, directive, &Text::of(url))?;
            let has_query = ["?", "$args", "$request_uri", "$query_string"].iter().any(|part| to.contains(part));
            let to = match to.split_once('#') {
                _ if has_query => to,
                Some((address, fragment)) => format!("{address}?#{fragment}"),
                _ => format!("{to}?"),
            };
            Ok(Handler::redirecting(to, status))
        }
        (200..=599, text) => {
            if status != 200 {
                table.set("status", Value::Number(status));
            }
            // These have no body (RFC 9110 §15.3.5, §15.4.5).
            if let Some(text) = text.filter(|text| !text.is_empty() && ![204, 304].contains(&status)) {
                let body = position.text(text, Use::Message)?;
                table.set("body", body.written());
                table.set_some("type", media_type(scope));
            } else if status == 200 && text.is_none() {
                table.set("status", Value::Number(200));
            }
            Ok(Handler::new(HandlerKind::Respond, table))
        }
        _ => Err(format!("Serow responds with statuses from 200 to 599, and not with {status}")),
    }
}

/// The media type of a text that `return` sends, where it is not that of Serow.
fn media_type(scope: &Scope<'_>) -> Option<String> {
    let added = scope.nearest("add_header");
    let content_type =
        added.iter().find(|field| field.word(0).is_some_and(|name| name.eq_ignore_ascii_case("content-type")));
    let default = scope.nearest_one("default_type");
    let text = content_type.and_then(|field| field.word(1)).or_else(|| default.and_then(|default| default.word(0)))?;
    (text != "text/plain").then(|| text.to_owned())
}

/// The target of a redirect with the variables that can stand in one.
fn redirect_text(position: &Position<'_, '_>, directive: &Directive, target: &Text) -> Result<String, String> {
    let server = position.server;
    let text = position.variables.filled(target).replaced(|name| match name {
        "http_host" => {
            let why = "the host of the redirect is `$host`, without the port of the request's Host";
            position.notes().differs(directive, why);
            Ok(Some(Text::of("$host")))
        }
        "server_name" => Ok(Some(Text::of(&server.first_name().unwrap_or_else(|| "$host".to_owned())))),
        _ => position.variables.resolve_one(name, Use::Message).map(Some),
    })?;
    let host = text.host();
    let may_choose = |name: &str| {
        ["host", "scheme", "request_uri", "uri"].contains(&name) || server.import.map_values(name).is_some()
    };
    if let Some(name) = host.variables().find(|name| !may_choose(name)) {
        if matches!(text.parts.as_slice(), [Part::Variable(first), Part::Literal(next), ..] if first == name && next.starts_with("://"))
        {
            return Err(format!("the scheme of the target comes from ${name}: write https in its place"));
        }
        return Err(format!("${name} would choose the host that clients are sent to, which they may do themselves"));
    }
    Ok(text.written().trim().replace('*', "%2A"))
}

/// A `rewrite` of the requests that it matches.
pub(super) enum Rewrite {
    /// A redirect.
    Redirect(Handler),
    /// Another path.
    Path(String),
}

/// The translation of a `rewrite` to a target.
pub(super) fn of_rewrite(position: &Position<'_, '_>, directive: &Directive, target: &Text) -> Result<Rewrite, String> {
    let flag = directive.word(2).unwrap_or_default();
    let begins_url = ["http://", "https://"].iter().any(|start| target.leading().starts_with(start))
        || matches!(target.parts.first(), Some(Part::Variable(name)) if name == "scheme");
    if begins_url || flag == "redirect" || flag == "permanent" {
        let to = with_query(&redirect_text(position, directive, target)?);
        return Ok(Rewrite::Redirect(Handler::redirecting(to, if flag == "permanent" { 301 } else { 302 })));
    }
    let path = position.variables.resolve(&path_of_target(&with_query_mark(target)), Use::Message)?;
    let path = with_query(&path.written().replace('*', "%2A"));
    match path.chars().next() {
        Some('$' | '@') => Err("the new path has to begin with a slash".to_owned()),
        Some('/') => Ok(Rewrite::Path(path)),
        _ => Ok(Rewrite::Path(format!("/{path}"))),
    }
}

/// A target with the query of the request behind its own, as `rewrite` of nginx appends it.
pub(super) fn with_query(target: &str) -> String {
    let has_arguments = target.contains('?') && !target.ends_with('?');
    let names_query = target.contains("$args") || target.contains("$query_string");
    if has_arguments && !names_query { format!("{target}&$args") } else { target.to_owned() }
}

/// A target with `?$args` at its end in place of `$is_args$args`, which is the same with the mark only if there are arguments.
pub(super) fn with_query_mark(target: &Text) -> Text {
    let is = |part: &Part, names: &[&str]| matches!(part, Part::Variable(name) if names.contains(&name.as_str()));
    let [before @ .., mark, arguments] = target.parts.as_slice() else { return target.clone() };
    if !is(mark, &["is_args"]) || !is(arguments, &["args", "query_string"]) {
        return target.clone();
    }
    let mut text = Text { parts: before.to_vec() };
    text.push_literal("?");
    text.parts.push(arguments.clone());
    text
}

/// A target as a path: `$request_uri` has a query, which belongs behind it.
pub(super) fn path_of_target(target: &Text) -> Text {
    let Some((last, before)) = target.parts.split_last() else { return target.clone() };
    if !before.is_empty() && *last == Part::Variable("request_uri".to_owned()) {
        let mut path = Text { parts: before.to_vec() };
        path.push_text(&Text::of("$uri"));
        return path;
    }
    target.clone()
}

/// An expression whose first group begins with the slash of the path, and a target that begins with this group, with the
/// slash outside of the group: what Serow puts into a path or a URL is a part of it.
pub(super) fn with_slash(expression: &str, target: &Text) -> (String, Text) {
    // All paths begin with a slash, so that these match from there on, too.
    let whole = ["^(.*)", "^(.+)", "(.*)", "(.+)"].iter().find_map(|start| expression.strip_prefix(start));
    let moved = match (whole, expression.strip_prefix("^(/")) {
        (Some(rest), _) => format!("^/(.*){rest}"),
        (_, Some(rest)) if !rest.split(')').next().unwrap_or_default().contains('|') => format!("^/({rest}"),
        _ => return (expression.to_owned(), target.clone()),
    };
    let first = Part::Variable("1".to_owned());
    let follows_text = target.parts.windows(2).any(|pair| match pair {
        [Part::Literal(before), part] => *part == first && !before.ends_with('/'),
        [Part::Variable(_), part] => *part == first,
        _ => false,
    });
    if target.parts.first() != Some(&first) && !follows_text {
        return (expression.to_owned(), target.clone());
    }
    let with_slash = target.replaced(|name| Ok((name == "1").then(|| Text::of("/$1")))).unwrap_or_default();
    (moved, with_slash)
}
