//! The servers and locations of a configuration, as far as requests and sample files need them.

use regex::bytes::RegexBuilder;

use serow_nginx_syntax::directive::Directive;

/// A server.
#[derive(Debug)]
pub(super) struct Site<'tree> {
    /// Its names.
    pub(super) names: Vec<&'tree str>,
    /// The server itself as a location for all paths, then its locations, nested ones after those around them.
    pub(super) locations: Vec<Location<'tree>>,
}

/// The way a location selects paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'tree> {
    Server,
    Exact(&'tree str),
    Prefix(&'tree str),
    Expression { pattern: &'tree str, ignores_case: bool },
    Named,
}

/// A location.
#[derive(Debug)]
pub(super) struct Location<'tree> {
    pub(super) kind: Kind<'tree>,
    /// The blocks from `http` to the location itself.
    pub(super) around: Vec<&'tree Directive>,
}

/// Directives that pass requests to another server.
pub(super) const PASSES: &[&str] =
    &["proxy_pass", "fastcgi_pass", "uwsgi_pass", "scgi_pass", "grpc_pass", "memcached_pass"];

/// All servers.
pub(super) fn of(directives: &[Directive]) -> Vec<Site<'_>> {
    let mut sites = Vec::new();
    for http in directives.iter().filter(|directive| directive.name() == "http") {
        for server in http.children().iter().filter(|directive| directive.name() == "server") {
            let names = server.children().iter().filter(|directive| directive.name() == "server_name");
            let mut site = Site { names: names.flat_map(Directive::texts).collect(), locations: Vec::new() };
            let location = Location { kind: Kind::Server, around: vec![http, server] };
            site.add(location);
            sites.push(site);
        }
    }
    sites
}

impl<'tree> Site<'tree> {
    fn add(&mut self, location: Location<'tree>) {
        let around = location.around.clone();
        self.locations.push(location);
        let Some(block) = around.last() else { return };
        for inner in block.children().iter().filter(|directive| directive.name() == "location") {
            let words: Vec<&str> = inner.texts().collect();
            let kind = match *words.as_slice() {
                ["=", path] => Kind::Exact(path),
                ["~", pattern] => Kind::Expression { pattern, ignores_case: false },
                ["~*", pattern] => Kind::Expression { pattern, ignores_case: true },
                ["^~", path] => Kind::Prefix(path),
                [text] => kind_of(text),
                _ => continue,
            };
            let mut around = around.clone();
            around.push(inner);
            self.add(Location { kind, around });
        }
    }
}

impl Site<'_> {
    /// The number of the location that gets a path, without the redirects that lead on from there.
    pub(super) fn location_of(&self, path: &str) -> usize {
        let mut found = 0;
        while let Some(inner) = self.best_in(found, path) {
            found = inner;
        }
        found
    }

    /// The number of a location, and those of the locations that its files and errors lead to.
    pub(super) fn reached_from(&self, location: usize) -> Vec<usize> {
        let mut reached = vec![location];
        let mut next = 0;
        while let Some(current) = reached.get(next).and_then(|number| self.locations.get(*number)) {
            next += 1;
            let steps = ["try_files", "error_page", "rewrite", "auth_request"]
                .into_iter()
                .flat_map(|name| current.nearest(name));
            for target in steps.filter_map(|step| match step.name() {
                "rewrite" => step.word(1),
                _ => step.texts().last(),
            }) {
                let found = match target.strip_prefix('@') {
                    Some(_) => self.locations.iter().position(|location| location.name() == Some(target)),
                    None if target.starts_with('/') => {
                        Some(self.location_of(target.split(['?', '$']).next().unwrap_or_default()))
                    }
                    None => None,
                };
                reached.extend(found.filter(|found| !reached.contains(found)));
            }
            // The index files are those of the request's own folder.
            for name in current.nearest("index").iter().filter(|_| next == 1).flat_map(|index| index.texts()) {
                let found = self.location_of(&format!("/{}", name.trim_start_matches('/')));
                reached.extend((!reached.contains(&found)).then_some(found));
            }
        }
        reached
    }

    /// The best location among those directly in another.
    fn best_in(&self, outer: usize, path: &str) -> Option<usize> {
        let depth = self.locations.get(outer)?.around.len();
        let block = self.locations.get(outer)?.directive()?;
        let is_in = |location: &Location<'_>| {
            location.around.len() == depth + 1
                && location.around.get(depth - 1).is_some_and(|around| std::ptr::eq(*around, block))
        };
        let all = || self.locations.iter().enumerate().filter(|(_, location)| is_in(location));
        if let Some((number, _)) = all().find(|(_, location)| location.kind == Kind::Exact(path)) {
            return Some(number);
        }
        let prefixes = all().filter_map(|(number, location)| match location.kind {
            Kind::Prefix(prefix) if path.starts_with(prefix) => Some((prefix.len(), number)),
            _ => None,
        });
        let longest = prefixes.max();
        let stops = longest.is_some_and(|(_, number)| {
            self.locations.get(number).and_then(Location::directive).and_then(|location| location.word(0)) == Some("^~")
        });
        let expression = all().find(|(_, location)| match location.kind {
            Kind::Expression { pattern, ignores_case } => {
                let built = RegexBuilder::new(pattern).unicode(false).case_insensitive(ignores_case).build();
                built.is_ok_and(|expression| expression.is_match(path.as_bytes()))
            }
            _ => false,
        });
        match (expression, longest) {
            (Some((number, _)), _) if !stops => Some(number),
            (_, longest) => longest.map(|(_, number)| number),
        }
    }
}

/// The kind of a location whose modifier and path are one word, as in `location ~*\.php$`.
fn kind_of(text: &str) -> Kind<'_> {
    if text.starts_with('@') {
        return Kind::Named;
    }
    if let Some(pattern) = text.strip_prefix("~*") {
        return Kind::Expression { pattern, ignores_case: true };
    }
    if let Some(pattern) = text.strip_prefix('~') {
        return Kind::Expression { pattern, ignores_case: false };
    }
    match text.strip_prefix('=') {
        Some(path) => Kind::Exact(path),
        None => Kind::Prefix(text.strip_prefix("^~").unwrap_or(text)),
    }
}

impl<'tree> Location<'tree> {
    /// Its own directive.
    pub(super) fn directive(&self) -> Option<&'tree Directive> {
        self.around.last().copied()
    }

    /// The name of a named location, with its @.
    fn name(&self) -> Option<&'tree str> {
        self.directive().and_then(|directive| directive.word(0)).filter(|word| word.starts_with('@'))
    }

    /// The directives of this name of the innermost block that has any.
    pub(super) fn nearest(&self, name: &str) -> Vec<&'tree Directive> {
        let own = |block: &&'tree Directive| -> Vec<&'tree Directive> {
            block.children().iter().filter(|directive| directive.name() == name).collect()
        };
        self.around.iter().rev().map(own).find(|found| !found.is_empty()).unwrap_or_default()
    }

    /// Its own directives of this name.
    pub(super) fn own(&self, name: &str) -> impl Iterator<Item = &'tree Directive> {
        let name = name.to_owned();
        self.directive().into_iter().flat_map(Directive::children).filter(move |directive| directive.name() == name)
    }

    /// Whether it passes requests to another server.
    pub(super) fn is_passed(&self) -> bool {
        PASSES.iter().any(|name| self.own(name).next().is_some())
    }

    /// The folder of its files, and whether the path of the location takes no part in their names.
    pub(super) fn folder(&self) -> Option<(&'tree str, bool)> {
        for block in self.around.iter().rev() {
            for directive in block.children() {
                match (directive.name(), directive.word(0)) {
                    ("root", Some(path)) => return Some((path, false)),
                    ("alias", Some(path)) => return Some((path, true)),
                    _ => {}
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory;

    #[test]
    fn a_path_leads_to_its_location() {
        let directives = memory::directives(
            r"http { server { location / { } location = /a { } location /b/ { location ~ \.png$ { } }
                location ^~ /c/ { } location ~ \.php$ { } location @d { } } }",
        );
        let sites = of(&directives);
        for (path, words) in [
            ("/x", "/"),
            ("/a", "= /a"),
            ("/ab", "/"),
            ("/b/x", "/b/"),
            ("/b/x.png", r"~ \.png$"),
            ("/c/x.php", "^~ /c/"),
            ("/x.php", r"~ \.php$"),
        ] {
            let location = sites[0].locations[sites[0].location_of(path)].directive().expect("it has one");
            assert_eq!(location.texts().collect::<Vec<_>>().join(" "), words, "{path}");
        }
    }
}
