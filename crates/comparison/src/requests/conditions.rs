//! Changes of a request that conditions and maps depend on.

use super::{
    super::sites::{Kind, Location},
    examples,
};
use serow_nginx_syntax::directive::Directive;

/// A change of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Field(String, String),
    Query(String),
    Method(String),
    Path(String),
    Host(String),
}

/// The changes that meet the conditions of a location, and those that the maps it names look at.
pub(super) fn of(location: &Location<'_>, directives: &[Directive], host: &str) -> Vec<Change> {
    let mut changes = Vec::new();
    let maps = maps(directives);
    let Some(block) = location.directive() else { return changes };
    let own = block.children().iter().filter(|inner| inner.name() != "location");
    for directive in own {
        match directive.name() {
            "if" => condition(directive, &maps, &mut changes),
            "valid_referers" => referers(directive, host, &mut changes),
            "limit_except" => add(Change::Method("PUT".to_owned()), &mut changes),
            _ => {}
        }
        named_maps(directive, &maps, &mut changes);
    }
    if location.is_passed() || location.kind == Kind::Server {
        // The fields that a proxy sends may come from the blocks around.
        for outer in location.around.iter().rev().skip(1) {
            for directive in outer.children().iter().filter(|inner| inner.block.is_none()) {
                named_maps(directive, &maps, &mut changes);
            }
        }
    }
    changes.truncate(MAX_CHANGES);
    changes
}

fn add(change: Change, changes: &mut Vec<Change>) {
    if !changes.contains(&change) {
        changes.push(change);
    }
}

fn maps(directives: &[Directive]) -> Vec<&Directive> {
    let https = directives.iter().filter(|directive| directive.name() == "http");
    https.flat_map(Directive::children).filter(|directive| directive.name() == "map").collect()
}

/// The changes for the condition of an `if`.
fn condition(directive: &Directive, maps: &[&Directive], changes: &mut Vec<Change>) {
    let text: Vec<&str> = directive.texts().collect();
    let text = text.join(" ");
    let inner = text.trim().trim_start_matches('(').trim();
    let inner = inner.strip_suffix(')').unwrap_or(inner).trim();
    let (variable, rest) = inner.split_once(' ').unwrap_or((inner, ""));
    let (operator, value) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
    let Some(variable) = variable.strip_prefix('$') else { return };
    if variable == "invalid_referer" {
        add(Change::Field("Referer".to_owned(), "https://evil.example/page".to_owned()), changes);
        return;
    }
    let values = match operator {
        "" => vec!["1".to_owned()],
        "=" | "!=" => vec![value.to_owned()],
        "~" | "!~" => examples::of(value, false),
        "~*" | "!~*" => examples::of(value, true),
        _ => return,
    };
    for value in values {
        set(variable, &value, operator.contains('~'), maps, 0, changes);
    }
}

/// Adds the change that gives a variable a value.
fn set(variable: &str, value: &str, is_part: bool, maps: &[&Directive], depth: usize, changes: &mut Vec<Change>) {
    let is_sendable = value.bytes().all(|byte| (b' '..127).contains(&byte));
    if !is_sendable {
        return;
    }
    let query_value = value.replace(' ', "+");
    let rooted = || if value.starts_with('/') || !is_part { value.to_owned() } else { format!("/{value}") };
    let change = match variable {
        "http_host" | "host" if !value.is_empty() && !value.contains([' ', '/']) => Change::Host(value.to_owned()),
        "request_method" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            Change::Method(value.to_owned())
        }
        "args" | "query_string" if is_query(&query_value) => Change::Query(query_value),
        "is_args" => Change::Query("a=b".to_owned()),
        "uri" | "document_uri" | "request_uri" if rooted().starts_with('/') && !rooted().contains(' ') => {
            Change::Path(rooted())
        }
        "content_type" => Change::Field("Content-Type".to_owned(), value.to_owned()),
        "http_cookie" => Change::Field("Cookie".to_owned(), value.to_owned()),
        name => match (name.strip_prefix("http_"), name.strip_prefix("cookie_"), name.strip_prefix("arg_")) {
            (Some(name), ..) => Change::Field(field_name(name), value.to_owned()),
            (_, Some(name), _) => Change::Field("Cookie".to_owned(), format!("{name}={value}")),
            (.., Some(name)) if is_query(&query_value) => Change::Query(format!("{name}={query_value}")),
            _ => return map(name, maps, depth, changes),
        },
    };
    add(change, changes);
}

fn is_query(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
}

/// `x_forwarded_proto` as `X-Forwarded-Proto`.
fn field_name(variable: &str) -> String {
    let parts = variable.split('_').map(|part| match part.split_at_checked(1) {
        Some((first, rest)) => format!("{}{rest}", first.to_ascii_uppercase()),
        None => String::new(),
    });
    parts.collect::<Vec<_>>().join("-")
}

/// The changes for the entries of the map that makes a variable.
fn map(variable: &str, maps: &[&Directive], depth: usize, changes: &mut Vec<Change>) {
    if depth > 3 {
        return;
    }
    let made = maps.iter().find(|map| map.word(1).is_some_and(|name| name.trim_start_matches('$') == variable));
    let Some(made) = made else { return };
    let Some(source) = made.word(0).and_then(|source| source.strip_prefix('$')) else { return };
    let source = source.trim_start_matches('{').trim_end_matches('}');
    let is_name = source.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name {
        return;
    }
    let entries =
        made.children().iter().filter(|line| !matches!(line.name(), "default" | "hostnames" | "volatile" | "include"));
    let before = changes.len();
    for line in entries.take(4) {
        let key = line.name();
        let values = match (key.strip_prefix("~*"), key.strip_prefix('~')) {
            (Some(pattern), _) => examples::of(pattern, true),
            (_, Some(pattern)) => examples::of(pattern, false),
            _ => vec![key.trim_start_matches('\\').replace("*.", "sub.").replace(".*", ".test")],
        };
        for value in values.iter().take(1) {
            set(source, value, key.starts_with('~'), maps, depth + 1, changes);
        }
    }
    if before == changes.len() && depth == 0 {
        set(source, "other", false, maps, depth + 1, changes);
    }
}

/// The changes for all maps whose variables a directive names.
fn named_maps(directive: &Directive, maps: &[&Directive], changes: &mut Vec<Change>) {
    for made in maps {
        let Some(name) = made.word(1).and_then(|name| name.strip_prefix('$')) else { continue };
        let names = |word: &str| {
            word.match_indices(name).any(|(position, _)| {
                let before = &word[..position];
                let follows = word[position + name.len()..].chars().next();
                (before.ends_with('$') || before.ends_with("${"))
                    && !follows.is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            })
        };
        if directive.texts().any(names) {
            map(name, maps, 0, changes);
        }
    }
    directive
        .children()
        .iter()
        .filter(|inner| inner.name() != "location")
        .for_each(|inner| named_maps(inner, maps, changes));
}

fn referers(directive: &Directive, host: &str, changes: &mut Vec<Change>) {
    let mut referer = |value: String| add(Change::Field("Referer".to_owned(), value), changes);
    referer("https://evil.example/page".to_owned());
    for word in directive.texts().take(3) {
        match word {
            "none" => {}
            "blocked" => referer("hidden".to_owned()),
            "server_names" => referer(format!("https://{host}/page")),
            pattern if pattern.starts_with('~') => {
                examples::of(&pattern[1..], true)
                    .into_iter()
                    .take(1)
                    .for_each(|example| referer(format!("https://{example}")));
            }
            name => referer(format!("https://{}/page", name.replace("*.", "sub.").replace(".*", ".test"))),
        }
    }
}

const MAX_CHANGES: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{memory, sites};

    fn changes(text: &str) -> Vec<Change> {
        let directives = memory::directives(text);
        let sites = sites::of(&directives);
        of(&sites[0].locations[0], &directives, "h")
    }

    #[test]
    fn conditions_say_how_to_meet_them() {
        let field = |name: &str, value: &str| Change::Field(name.to_owned(), value.to_owned());
        for (text, change) in [
            (
                "http { server { if ($http_x_forwarded_proto = http) { return 301 /; } } }",
                field("X-Forwarded-Proto", "http"),
            ),
            ("http { server { if ($http_user_agent ~* (bot|x)) { return 403; } } }", field("User-Agent", "bot")),
            ("http { server { if ($arg_a = \"b\") { return 403; } } }", Change::Query("a=b".to_owned())),
            ("http { server { if ($request_method = POST) { return 403; } } }", Change::Method("POST".to_owned())),
            ("http { map $cookie_a $m { one 1; } server { if ($m) { return 403; } } }", field("Cookie", "a=one")),
            ("http { map $http_b $m { ~^c d; } server { add_header X \"<$m>\"; } }", field("B", "c")),
        ] {
            let found = changes(text);
            assert!(
                found.iter().any(|one| one.eq(&change) || ignoring_case(one) == ignoring_case(&change)),
                "{text}: {found:?}"
            );
        }
    }

    fn ignoring_case(change: &Change) -> String {
        format!("{change:?}").to_ascii_lowercase()
    }
}
