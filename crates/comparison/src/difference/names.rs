//! Ports and folders of the rehearsal, and the original names in their place.

use super::super::rehearsal::{Listener, Rehearsal};
use serow_nginx_syntax::directive::Directive;

/// The original names.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Names {
    /// Texts of the rehearsal and the originals, the longest first.
    replaced: Vec<(String, String)>,
    listeners: Vec<Listener>,
    /// Servers of upstreams with several ones, and the names of these.
    groups: Vec<(String, String)>,
}

impl Names {
    pub(in super::super) fn new(rehearsal: &Rehearsal, origins: &[(String, u16)], original: &[Directive]) -> Self {
        let mut replaced: Vec<(String, String)> =
            origins.iter().map(|(name, port)| (format!("127.0.0.1:{port}"), name.clone())).collect();
        replaced.extend(rehearsal.moved.iter().cloned());
        replaced.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let https = original.iter().filter(|directive| directive.name() == "http");
        let blocks =
            https.flat_map(Directive::children).chain(original).filter(|directive| directive.name() == "upstream");
        let mut groups = Vec::new();
        for block in blocks {
            let Some(upstream) = block.word(0) else { continue };
            let servers = block.children().iter().filter(|inner| inner.name() == "server");
            groups.extend(servers.filter_map(|server| Some((server.word(0)?.to_owned(), upstream.to_owned()))));
        }
        Self { replaced, listeners: rehearsal.listeners.clone(), groups }
    }

    /// A text with the original names.
    pub(in super::super) fn named(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (new, original) in &self.replaced {
            if text.contains(new.as_str()) {
                text = text.replace(new, original);
            }
        }
        for listener in &self.listeners {
            for port in [listener.nginx, listener.serow].map(|port| port.to_string()) {
                if text == port {
                    return listener.port.to_string();
                }
                let with_colon = format!(":{port}");
                if text.contains(&with_colon) {
                    text = text.replace(&with_colon, &format!(":{}", listener.port));
                }
            }
        }
        text
    }

    /// A field's value with the original names, and without what differs in each request.
    pub(in super::super) fn lasting(&self, value: &str) -> String {
        let is_id = value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digits = value.trim_start_matches("t=");
        let is_time = digits.len() >= 10 && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match (is_id, is_time) {
            (true, _) => "an identifier".to_owned(),
            (_, true) => "a time".to_owned(),
            _ => self.named(value),
        }
    }

    /// The upstream of a server, or the server itself: which of its servers an upstream chooses is up to it.
    pub(in super::super) fn group(&self, origin: &str) -> String {
        let found = self.groups.iter().find(|(server, _)| server == origin);
        found.map_or_else(|| origin.to_owned(), |(_, upstream)| upstream.clone())
    }

    /// The target of a redirect: without the origin of the request itself.
    pub(in super::super) fn redirect(&self, target: &str, host: &str, listener: usize) -> String {
        let target = self.named(target);
        let scheme =
            if self.listeners.get(listener).is_some_and(|listener| listener.is_tls) { "https" } else { "http" };
        let Some((own, rest)) = target.split_once("://") else { return target };
        if rest.starts_with("unix:") {
            let of_group = |(server, upstream): &(String, String)| {
                let path = rest.strip_prefix(server.as_str()).filter(|path| path.starts_with('/'))?;
                Some(format!("{own}://{upstream}{path}"))
            };
            return self.groups.iter().find_map(of_group).unwrap_or(target);
        }
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (name, port) = match authority.rsplit_once(':') {
            Some((name, port)) => (name, port.parse().unwrap_or(0)),
            None => (authority, if own == "https" { 443 } else { 80 }),
        };
        let is_own_port =
            self.listeners.get(listener).is_none_or(|listener| listener.port == port) || !authority.contains(':');
        if own == scheme && name.eq_ignore_ascii_case(host) && is_own_port && !path.is_empty() {
            return path.to_owned();
        }
        if let Some((_, upstream)) = self.groups.iter().find(|(server, _)| server == authority) {
            return format!("{own}://{upstream}{path}");
        }
        let is_usual = matches!((own, port), ("http", 80) | ("https", 443));
        let port = if is_usual { String::new() } else { format!(":{port}") };
        format!("{own}://{name}{port}{path}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let listener = Listener {
            original: "*:80".to_owned(),
            port: 80,
            is_tls: false,
            nginx: 40_001,
            serow: 40_002,
            is_used: true,
        };
        Names {
            replaced: vec![("127.0.0.1:40003".to_owned(), "app:3000".to_owned())],
            listeners: vec![listener],
            groups: vec![("app:3000".to_owned(), "apps".to_owned()), ("h:80".to_owned(), "self".to_owned())],
        }
    }

    #[test]
    fn ports_have_their_original_names() {
        assert_eq!(names().named("http://127.0.0.1:40003/x"), "http://app:3000/x");
        assert_eq!(names().named("h:40001"), "h:80");
        assert_eq!(names().named("40002"), "80");
        assert_eq!(names().lasting("00f3de756ff54216b8c65e6437fd538e"), "an identifier");
        assert_eq!(names().lasting("t=1700000000.123"), "a time");
        assert_eq!(names().group("app:3000"), "apps");
    }

    #[test]
    fn redirects_to_the_same_host_are_paths() {
        for (target, same) in [
            ("http://h:40001/a/", "/a/"),
            ("http://h/a/", "/a/"),
            ("/a/", "/a/"),
            ("https://h/a", "https://h/a"),
            ("https://h:443/a", "https://h/a"),
            ("http://other:8080/", "http://other:8080/"),
            ("http://127.0.0.1:40003/a", "http://apps/a"),
            ("http://h:8080/a", "http://h:8080/a"),
        ] {
            assert_eq!(names().redirect(target, "h", 0), same, "{target}");
        }
    }
}
