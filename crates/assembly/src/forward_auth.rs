//! Another server that decides about requests.

use std::{sync::Arc, time::Duration};

use serow_config::tables::forward_auth::ForwardAuthTable;
use serow_document::{Place, Problem, Problems};
use serow_gateway::TrustedProxies;
use serow_guards::{ForwardAuth, ForwardAuthSettings};
use serow_message::{KnownHeader, Target, TargetForm};
use serow_variables::Scope;

use crate::{access::is_user_field, proxy, proxying::Proxying};

/// The server that this table names; nothing where something is wrong, which is noted.
pub(crate) fn of(
    table: &ForwardAuthTable,
    place: &Place,
    (trust, scope): (&Arc<TrustedProxies>, &Scope),
    proxying: &Proxying<'_>,
    problems: &Problems,
) -> Option<ForwardAuth> {
    let ForwardAuthTable { to, set_header, copy, copy_response, user, timeout, cache, cache_key } = table;
    let noted = |problem| problems.add(problem);
    let (server, path) = parts(to);
    let target = Target::parse(path.clone().into(), false).ok().filter(|target| target.form() == TargetForm::Origin);
    let timeout = timeout.map_or(DEFAULT_TIMEOUT, |span| span.0);
    if target.is_none() {
        let text = format!("{path:?} is not a path: write it as in \"127.0.0.1:9091/api/verify\"");
        noted(Problem::of_value(place.key("to"), text));
    }
    let set_header =
        proxy::header_texts("set-header", set_header, scope).map_err(|error| noted(error.problem(place))).ok();
    let proxy = proxying.asking(server, timeout, &place.key("to"));
    let fields = |names: &Option<Vec<String>>, key: &str, is_right: fn(&str) -> bool| {
        let names = names.as_deref().unwrap_or_default();
        match names.iter().position(|name| !is_right(name)) {
            None => Some(names.iter().map(|name| name.as_str().into()).collect::<Vec<Arc<str>>>()),
            Some(number) => {
                let text = format!("{:?} cannot be copied: name a field that tells of the user", names[number]);
                noted(Problem::of_value(place.key(key).element(number), text));
                None
            }
        }
    };
    let copy = fields(copy, "copy", is_copied);
    let copy_response = fields(copy_response, "copy-response", is_copied_to_client);
    let user = match (user, copy.as_deref()) {
        (_, None) => None,
        (None, Some(copy)) => Some(found(copy, USER)),
        (Some(name), Some(copy)) => match found(copy, name) {
            None => {
                let text = format!("`copy` does not have {name:?}: add it there");
                noted(Problem::of_value(place.key("user"), text));
                None
            }
            found => Some(found),
        },
    };
    if cache.is_none() && cache_key.is_some() {
        noted(Problem::of_key(
            place.key("cache-key"),
            "`cache-key` needs `cache`: write cache = \"10s\", or leave it out",
        ));
        return None;
    }
    let cache_key = match cache_key {
        Some(names) => names.iter().map(|name| name.as_str().into()).collect(),
        None => CACHE_KEY.map(Arc::from).to_vec(),
    };
    let (copy, copy_response, user) = (copy?, copy_response?, user?);
    let (cache, trust) = (cache.map_or(Duration::ZERO, |span| span.0), Arc::clone(trust));
    let (target, set_header) = (target?, set_header?);
    let settings =
        ForwardAuthSettings { target, set_header, copy, copy_response, user, timeout, cache, cache_key, trust };
    Some(ForwardAuth::new(settings, proxy?))
}

/// The server or the upstream, and the path.
fn parts(to: &str) -> (&str, String) {
    if let Some(socket) = to.strip_prefix("h2c+").unwrap_or(to).strip_prefix("unix:") {
        // As nginx writes it: a colon separates the two paths.
        let end = socket.find(":/").map(|length| to.len() - socket.len() + length);
        return end.map_or((to, "/".to_owned()), |end| (&to[..end], to[end + 1..].to_owned()));
    }
    // A query may have a URL in it.
    let scheme = to.find("://").filter(|place| to[..*place].bytes().all(|byte| byte.is_ascii_alphanumeric()));
    let begin = scheme.map_or(0, |place| place + "://".len());
    match to[begin..].find(['/', '?']) {
        Some(length) => {
            let (server, path) = to.split_at(begin + length);
            (server, if path.starts_with('/') { path.to_owned() } else { format!("/{path}") })
        }
        None => (to, "/".to_owned()),
    }
}

fn found(names: &[Arc<str>], wanted: &str) -> Option<Arc<str>> {
    names.iter().find(|name| name.eq_ignore_ascii_case(wanted)).cloned()
}

/// Whether a field of the response may be one of the request: one of its own, or what a user logs in with.
fn is_copied(name: &str) -> bool {
    let known = KnownHeader::recognise(name.as_bytes());
    is_user_field(name) || matches!(known, Some(KnownHeader::Authorization | KnownHeader::Cookie))
}

/// Whether a field of the response may be one of the response to the client.
fn is_copied_to_client(name: &str) -> bool {
    is_user_field(name) || KnownHeader::recognise(name.as_bytes()) == Some(KnownHeader::SetCookie)
}

/// Authelia's name, which others can write too.
const USER: &str = "Remote-User";

const CACHE_KEY: [&str; 2] = ["Cookie", "Authorization"];

/// Such servers look into a database or ask another server; a browser's user would not wait longer.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_and_path_are_told_apart() {
        for (to, server, path) in [
            ("127.0.0.1:9091/api/verify", "127.0.0.1:9091", "/api/verify"),
            (
                "127.0.0.1:9091/api/verify?rd=https://auth.example/",
                "127.0.0.1:9091",
                "/api/verify?rd=https://auth.example/",
            ),
            ("127.0.0.1:9091", "127.0.0.1:9091", "/"),
            ("127.0.0.1:9091?a=/b", "127.0.0.1:9091", "/?a=/b"),
            ("https://auth.example/a/b", "https://auth.example", "/a/b"),
            ("h2c://[::1]:1/", "h2c://[::1]:1", "/"),
            ("authelia/api/verify", "authelia", "/api/verify"),
            ("authelia", "authelia", "/"),
            ("unix:/run/auth.sock:/verify?a=b:/c", "unix:/run/auth.sock", "/verify?a=b:/c"),
            ("unix:/run/auth.sock", "unix:/run/auth.sock", "/"),
            ("h2c+unix:/run/auth.sock:/verify", "h2c+unix:/run/auth.sock", "/verify"),
            ("", "", "/"),
        ] {
            assert_eq!(parts(to), (server, path.to_owned()), "{to}");
        }
    }
}
