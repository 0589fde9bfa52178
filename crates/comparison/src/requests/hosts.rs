//! Hosts for the names of servers.

use super::{super::sites::Site, Request, examples};

/// A host for each name of a server.
pub(super) fn of(site: &Site<'_>) -> Vec<String> {
    let mut hosts: Vec<String> = Vec::new();
    for name in &site.names {
        let host = match *name {
            "_" | "" | "*" => continue,
            expression if expression.starts_with('~') => match examples::of(&expression[1..], false).into_iter().next()
            {
                Some(example) => example,
                None => continue,
            },
            name if name.contains('$') => continue,
            name => match (name.strip_prefix('.'), name.strip_prefix("*."), name.strip_suffix(".*")) {
                (Some(rest), ..) => format!("sub.{rest}"),
                (_, Some(rest), _) => format!("sub.{rest}"),
                (.., Some(rest)) => format!("{rest}.test"),
                _ => name.to_owned(),
            },
        };
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

/// The requests that show which server a host leads to.
pub(super) fn requests(base: &Request, hosts: &[String], listeners: &[usize]) -> Vec<Request> {
    let mut requests = Vec::new();
    for listener in listeners {
        for host in hosts.iter().map(String::as_str).take(6).chain([UNKNOWN]) {
            for target in ["/", "/index.html?a=b"] {
                requests.push(Request {
                    listener: *listener,
                    host: host.to_owned(),
                    target: target.to_owned(),
                    ..base.clone()
                });
            }
        }
    }
    requests
}

/// A host that no server has.
pub(in super::super) const UNKNOWN: &str = "unknown.invalid";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_hosts_that_match_them() {
        let names = vec!["_", ".a.test", "*.b.test", "c.*", r"~^d\d\.test$", "e.test", "$f"];
        let hosts = of(&Site { names, locations: Vec::new() });
        assert_eq!(hosts, ["sub.a.test", "sub.b.test", "c.test", "d1.test", "e.test"]);
    }
}
