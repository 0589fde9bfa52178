//! Maps on the status of the response, which decide whether it is logged.

use serow_nginx_syntax::{directive::Directive, pattern::Pattern};

use super::super::{import::Import, text::Text};

/// The statuses with which a response is logged, if the condition is the variable of a map on `$status`: `4xx,500-503`.
pub(super) fn with_lines(import: &Import<'_>, condition: &Text) -> Option<String> {
    let variable = condition.variable()?;
    let is_meant = |map: &&Directive| {
        map.word(0) == Some("$status") && map.word(1).is_some_and(|name| name.trim_start_matches('$') == variable)
    };
    // Of several maps of a variable, the last counts.
    let map = import.http.own("map").rfind(is_meant)?;
    let logged: Vec<bool> = (100..600).map(|status: u16| is_logged(map, &status.to_string())).collect::<Option<_>>()?;
    for directive in [map].into_iter().chain(map.children()) {
        import.notes.translated(directive);
    }
    let mut ranges = Vec::new();
    for (class, logged) in (1..6).zip(logged.chunks(100)) {
        if logged.iter().all(|is_logged| *is_logged) {
            ranges.push(format!("{class}xx"));
            continue;
        }
        let mut first = None;
        for (number, is_logged) in logged.iter().copied().chain([false]).enumerate() {
            match (first, is_logged) {
                (None, true) => first = Some(number),
                (Some(start), false) if start + 1 == number => ranges.push(format!("{class}{start:02}")),
                (Some(start), false) => ranges.push(format!("{class}{start:02}-{class}{:02}", number - 1)),
                _ => {}
            }
            first = first.filter(|_| is_logged);
        }
    }
    Some(ranges.join(","))
}

/// Whether the value of a map for a status is neither empty nor `0`; nothing if it is not fixed.
fn is_logged(map: &Directive, status: &str) -> Option<bool> {
    let is_default = |line: &&Directive| line.name() == "default";
    let exact = map.children().iter().find(|line| line.name() == status);
    let mut matching = None;
    for line in map.children().iter().filter(|line| line.name().starts_with('~')) {
        let expression = line.name().trim_start_matches('~');
        let (expression, ignores_case) =
            expression.strip_prefix('*').map_or((expression, false), |expression| (expression, true));
        if matching.is_none() && Pattern::new(expression, ignores_case).ok()?.matches(status) {
            matching = Some(line);
        }
    }
    let line = exact.or(matching).or_else(|| map.children().iter().find(is_default));
    let value = line.and_then(|line| line.word(0)).unwrap_or_default();
    (!value.contains('$')).then_some(!value.is_empty() && value != "0")
}
