//! Where two responses to a request differ, and what the origins got.

pub(super) mod names;
pub(super) mod reasons;
pub(super) mod remarks;

use std::{borrow::Cow, collections::BTreeSet};

use self::names::Names;
use super::{
    exchange::{Answer, Outcome, excerpt},
    origin::Received,
    requests::Request,
};

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The part of the responses: `status`, a field, `origin: …`.
    pub part: String,
    /// nginx's value, or a dash.
    pub nginx: String,
    /// Serow's value, or a dash.
    pub serow: String,
    /// Why it is meant, or the remark of the report; nothing if it is not known.
    pub reason: Option<Cow<'static, str>>,
}

/// A server's response, and what the origins got.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side<'a> {
    pub(super) outcome: &'a Outcome,
    pub(super) received: &'a [Received],
}

/// The fields that count in all configurations.
const FIELDS: &[&str] = &[
    "allow",
    "cache-control",
    "content-disposition",
    "content-encoding",
    "content-range",
    "content-type",
    "expires",
    "location",
    "set-cookie",
    "vary",
    "www-authenticate",
];

/// The fields and variables of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Named {
    /// The fields that `add_header` names, in small letters.
    pub(super) response: BTreeSet<String>,
    /// The fields that `proxy_set_header` names, in small letters.
    pub(super) request: BTreeSet<String>,
    /// The variables that `fastcgi_param` and the like name.
    pub(super) variables: BTreeSet<String>,
}

/// All differences, without their reasons.
pub(super) fn between(
    request: &Request,
    nginx: Side<'_>,
    serow: Side<'_>,
    named: &Named,
    names: &Names,
) -> Vec<Difference> {
    let (one, other) = match (nginx.outcome, serow.outcome) {
        (Outcome::Answered(one), Outcome::Answered(other)) => (one, other),
        (one, other) if one == other => return Vec::new(),
        (one, other) => return vec![difference("response", brief(one), brief(other))],
    };
    if one.status != other.status {
        return vec![difference("status", shown(one, request, names), shown(other, request, names))];
    }
    let mut found = Vec::new();
    let are_messages = is_message(one) && is_message(other);
    let fields: BTreeSet<&str> = FIELDS.iter().copied().chain(named.response.iter().map(String::as_str)).collect();
    for field in fields {
        if are_messages && matches!(field, "content-type" | "content-encoding" | "vary") {
            continue;
        }
        let values = [one, other].map(|answer| value(answer, field, request, names));
        let [nginx, serow] = values;
        if nginx != serow && !(field == "vary" && nginx.is_none()) {
            found.push(difference(field, or_dash(nginx), or_dash(serow)));
        }
    }
    let of_origins = origins(nginx.received, serow.received, named, names);
    let are_of_origins = one.field("x-origin").is_some() && other.field("x-origin").is_some();
    if of_origins.is_empty() && !are_messages && !are_of_origins && is_readable(one) && is_readable(other) {
        let bodies = [one, other].map(|answer| names.named(&String::from_utf8_lossy(&answer.body)));
        if bodies[0] != bodies[1] {
            found.push(difference("body", excerpt(&one.body), excerpt(&other.body)));
        }
    }
    found.extend(of_origins);
    found
}

fn difference(part: impl Into<String>, nginx: impl Into<String>, serow: impl Into<String>) -> Difference {
    Difference { part: part.into(), nginx: nginx.into(), serow: serow.into(), reason: None }
}

fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".to_owned())
}

fn is_readable(answer: &Answer) -> bool {
    answer.field("content-encoding").is_none()
}

fn brief(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Answered(answer) => answer.status.to_string(),
        Outcome::Closed => "closed".to_owned(),
        Outcome::Failed(why) => why.clone(),
    }
}

/// A status with the target of its redirect.
fn shown(answer: &Answer, request: &Request, names: &Names) -> String {
    match value(answer, "location", request, names) {
        Some(location) => format!("{} {location}", answer.status),
        None => answer.status.to_string(),
    }
}

/// Whether a body is a message of the server itself, and not a page of the site.
fn is_message(answer: &Answer) -> bool {
    let body = String::from_utf8_lossy(&answer.body);
    let is_of_nginx = body.contains("<center>nginx");
    let is_of_serow = body.len() < 40 && body.starts_with(&answer.status.to_string())
        || body.contains("\"status\":")
        || body.starts_with(MESSAGE);
    answer.status >= 300
        && (body.is_empty() || is_of_nginx || is_of_serow || answer.field("content-encoding").is_some())
}

/// The beginning of Serow's page for errors.
const MESSAGE: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\"";

/// A field's value in a form in which equal meanings are equal.
fn value(answer: &Answer, field: &str, request: &Request, names: &Names) -> Option<String> {
    let value = answer.field(field)?;
    Some(match field {
        "location" => names.redirect(&value, &request.host, request.listener),
        "content-type" => value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase(),
        "expires" => "a date".to_owned(),
        // RFC 7617 §2.1: it says how the client encodes a name.
        "www-authenticate" => value.replace(", charset=\"UTF-8\"", ""),
        "set-cookie" => {
            // The attributes have no order, and say the same twice.
            let mut parts: Vec<&str> = value.split(';').map(str::trim).collect();
            if let Some((_, attributes)) = parts.split_first_mut() {
                attributes.sort_unstable();
            }
            parts.dedup();
            parts.join("; ")
        }
        "vary" | "allow" | "cache-control" => {
            let mut parts: Vec<String> = value.split(',').map(|part| part.trim().to_ascii_lowercase()).collect();
            parts.sort();
            parts.dedup();
            parts.join(", ")
        }
        _ => names.lasting(&value),
    })
}

/// The differences between what the origins got.
fn origins(nginx: &[Received], serow: &[Received], named: &Named, names: &Names) -> Vec<Difference> {
    if nginx.len() != serow.len() {
        let list = |received: &[Received]| match received {
            [] => "–".to_owned(),
            all => all.iter().map(|one| names.group(&one.origin)).collect::<Vec<_>>().join(", "),
        };
        return vec![difference("origin", list(nginx), list(serow))];
    }
    let mut found = Vec::new();
    for (one, other) in nginx.iter().zip(serow) {
        let mut add = |part: &str, one: String, other: String| {
            if one != other {
                found.push(difference(format!("origin: {part}"), one, other));
            }
        };
        add("server", names.group(&one.origin), names.group(&other.origin));
        add("method", one.method.clone(), other.method.clone());
        add("target", names.named(&one.target), names.named(&other.target));
        add("length", one.body_length.to_string(), other.body_length.to_string());
        add("protocol", one.protocol.to_owned(), other.protocol.to_owned());
        if one.protocol != other.protocol {
            continue;
        }
        let all: BTreeSet<&str> = one.fields.iter().chain(&other.fields).map(|(name, _)| name.as_str()).collect();
        for name in all {
            if one.protocol == "http" && is_compared_field(name, named)
                || one.protocol != "http" && is_compared_variable(name, named)
            {
                add(name, of_origin(one, name, names), of_origin(other, name, names));
            }
        }
    }
    found
}

fn is_compared_field(name: &str, named: &Named) -> bool {
    let is_of_connection =
        matches!(name, "connection" | "content-length" | "transfer-encoding" | "via" | "te" | "keep-alive" | "upgrade");
    !is_of_connection && (named.request.contains(name) || name.starts_with("x-") || OF_REQUESTS.contains(&name))
}

/// Fields that applications act upon.
const OF_REQUESTS: &[&str] = &[
    "host",
    "authorization",
    "cookie",
    "referer",
    "user-agent",
    "content-type",
    "accept",
    "forwarded",
    "range",
    "if-modified-since",
];

fn is_compared_variable(name: &str, named: &Named) -> bool {
    !matches!(
        name,
        "SERVER_SOFTWARE"
            | "REMOTE_PORT"
            | "GATEWAY_INTERFACE"
            | "SERVER_ADDR"
            | "SERVER_PROTOCOL"
            | "CONTENT_LENGTH"
            | "HTTP_CONNECTION"
    ) && (named.variables.contains(name) || matches!(name, "HTTP_HOST" | "HTTP_PROXY"))
}

fn of_origin(received: &Received, name: &str, names: &Names) -> String {
    let values: Vec<&str> =
        received.fields.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_str()).collect();
    // Programs take the last of several variables with one name.
    let value = match received.protocol {
        "http" => values.join(", "),
        _ => values.last().copied().unwrap_or_default().to_owned(),
    };
    let value = names.lasting(&value);
    // A program cannot tell a variable without a value from one that is missing.
    if value.is_empty() { "–".to_owned() } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16, fields: &[(&str, &str)], body: &str) -> Outcome {
        let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Outcome::Answered(Answer { status, fields, body: body.as_bytes().to_vec() })
    }

    fn parts(nginx: &Outcome, serow: &Outcome) -> Vec<String> {
        let side = |outcome| Side { outcome, received: &[] };
        let found = between(&Request::default(), side(nginx), side(serow), &Named::default(), &Names::default());
        found.into_iter().map(|difference| difference.part).collect()
    }

    #[test]
    fn responses_differ_in_status_fields_or_body() {
        let page = answered(200, &[("content-type", "text/html; charset=utf-8"), ("cache-control", "a, b")], "x");
        let same = answered(200, &[("content-type", "text/html"), ("cache-control", "b,a"), ("server", "other")], "x");
        assert_eq!(parts(&page, &same), Vec::<String>::new());
        let other = answered(200, &[("content-type", "text/plain"), ("expires", "0")], "y");
        assert_eq!(parts(&page, &other), ["cache-control", "content-type", "expires", "body"]);
        assert_eq!(parts(&page, &answered(404, &[], "x")), ["status"]);
        assert_eq!(parts(&page, &Outcome::Closed), ["response"]);
    }

    #[test]
    fn messages_of_the_servers_are_equal() {
        let nginx = answered(404, &[("content-type", "text/html")], "<hr><center>nginx</center>");
        assert_eq!(
            parts(&nginx, &answered(404, &[("content-type", "text/plain")], "404 Not Found\n")),
            Vec::<String>::new()
        );
        assert_eq!(
            parts(&nginx, &answered(404, &[("content-type", "text/plain")], "a page")),
            ["content-type", "body"]
        );
    }
}
