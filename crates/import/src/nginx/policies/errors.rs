//! Pages of errors.

use serow_nginx_syntax::{directive::Directive, scope::Scope};
use serow_settings_writer::{table::Table, value::Value};

use super::super::{
    handler::{Handler, HandlerKind},
    position::Position,
    text::Use,
};

/// Sets the pages of errors.
pub(crate) fn set<'tree>(
    position: &Position<'_, 'tree>,
    settings: &Scope<'tree>,
    handler: &Handler,
    table: &mut Table,
) {
    let server = position.server;
    let mut pages: Vec<(String, Value)> = Vec::new();
    for directive in settings.nearest("error_page") {
        let target = directive.words.last().map(|word| word.text.as_str()).unwrap_or_default();
        let is_passed_on = match target.strip_prefix('@') {
            Some(name) => server.passes_on_redirect(name, settings),
            None => settings
                .nearest("auth_request_set")
                .iter()
                .any(|set| set.word(0) == Some(target) && set.word(1) == Some("$upstream_http_location")),
        };
        if is_passed_on {
            server.notes().no_line(directive, "Serow passes on the redirect of the server that decides");
            continue;
        }
        match page(position, directive) {
            Ok((statuses, page)) => {
                server.notes().translated(directive);
                for status in statuses {
                    // nginx takes the first of several for a status.
                    if !pages.iter().any(|(other, _)| *other == status) {
                        pages.push((status, page.clone()));
                    }
                }
            }
            Err(why) => server.notes().lost(directive, why),
        }
    }
    let is_whole = pages.iter().any(|(status, _)| status.parse().is_ok_and(|status: u16| status >= 400));
    let has_errors = match handler.kind {
        HandlerKind::Redirect => false,
        // The text of a `return` replaces the page of an error.
        HandlerKind::Respond => {
            handler.table.get("body").is_none() && matches!(handler.table.get("status"), Some(Value::Number(400..)))
        }
        HandlerKind::Files | HandlerKind::Proxy | HandlerKind::Php => true,
    };
    if is_whole && has_errors {
        table.set("error-pages", Value::Table(merged(pages)));
    }
    let name = format!("{}_intercept_errors", handler.family);
    if let Some(directive) = settings.nearest_one(&name) {
        server.notes().translated(directive);
        if settings.is_on(&name) == Some(true) && table.get("error-pages").is_some() {
            table.set("intercept", Value::Bool(true));
        }
    }
}

/// The named location that a `return` without a text leads on to, as in `error_page 418 = @name; return 418;`, with the
/// `error_page`.
pub(crate) fn leading_on<'tree>(
    directive: &Directive,
    settings: &Scope<'tree>,
) -> Option<(&'tree Directive, &'tree str)> {
    let status = directive.word(0).filter(|status| directive.words.len() == 1 && ("400".."600").contains(status))?;
    let found = settings.nearest("error_page").into_iter().find(|page| page.texts().any(|word| word == status))?;
    let (target, before) = found.words.split_last()?;
    let keeps_status = before.last().is_none_or(|word| word.text != "=");
    target.text.strip_prefix('@').filter(|_| !keeps_status).map(|name| (found, name))
}

/// The statuses of an `error_page`, and the page.
fn page(position: &Position<'_, '_>, directive: &Directive) -> Result<(Vec<String>, Value), String> {
    let words: Vec<&str> = directive.texts().collect();
    let Some((target, before)) = words.split_last() else { return Err("it has no page".to_owned()) };
    let (answer, statuses) = match before.split_last() {
        Some((last, statuses)) if last.starts_with('=') => (Some(&last[1..]), statuses),
        _ => (None, before),
    };
    let is_status = |status: &&str| status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
    if !statuses.iter().all(is_status) || statuses.is_empty() {
        return Err("the statuses are not numbers".to_owned());
    }
    if ["http://", "https://", "$scheme"].iter().any(|start| target.starts_with(start)) {
        return Err("an error that becomes a redirect to another server has no translation".to_owned());
    }
    if statuses.iter().any(|status| *status < "400") {
        return Err("only errors, from 400 on, have pages".to_owned());
    }
    let mut page = Vec::new();
    match target.strip_prefix('@') {
        Some(name) => {
            position.server.use_for_errors(name);
            page.push(("route".to_owned(), Value::Text(name.to_owned())));
        }
        None => {
            let path = position.text(target, Use::Message)?.written();
            let path = if path.starts_with(['/', '$']) { path } else { format!("/{path}") };
            if path.contains("$1") || path.starts_with('$') {
                return Err("the page of an error has a path of its own, without captures".to_owned());
            }
            // The query of the request does not get there.
            let path = if path.contains('?') { path } else { format!("{path}?") };
            page.push(("path".to_owned(), Value::Text(path)));
        }
    }
    match answer {
        None => {}
        Some("") => page.push(("status".to_owned(), Value::Text("route".to_owned()))),
        Some(status) => {
            let status = status.parse().map_err(|_| "the status behind `=` is not a number")?;
            page.push(("status".to_owned(), Value::Number(status)));
        }
    }
    Ok((statuses.iter().map(|status| (*status).to_owned()).collect(), Value::Table(page)))
}

/// The pages with statuses in a row that have the same page as one: `500-504`.
fn merged(pages: Vec<(String, Value)>) -> Vec<(String, Value)> {
    let mut numbered: Vec<(u16, u16, Value)> = Vec::new();
    for (status, page) in pages {
        let Ok(status) = status.parse::<u16>() else { continue };
        match numbered.last_mut() {
            Some((_, last, former)) if *last + 1 == status && *former == page => *last = status,
            _ => numbered.push((status, status, page)),
        }
    }
    let name = |first: u16, last: u16| if first == last { first.to_string() } else { format!("{first}-{last}") };
    numbered.into_iter().map(|(first, last, page)| (name(first, last), page)).collect()
}
