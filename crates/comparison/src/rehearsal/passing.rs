//! Servers that requests are passed to: the address of an origin in the place of each.

use std::io;

use super::Making;
use serow_nginx_syntax::directive::Directive;

/// A variable that names servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    /// With its dollar sign.
    name: String,
    /// The port behind it, as in `:8080`, or nothing.
    port: String,
}

/// The names of upstreams.
pub(super) fn upstreams(directives: &[Directive]) -> Vec<String> {
    let https = directives.iter().filter(|directive| directive.name() == "http");
    let upstreams = https.flat_map(Directive::children).filter(|directive| directive.name() == "upstream");
    upstreams.filter_map(|upstream| upstream.word(0).map(str::to_owned)).collect()
}

/// The variables that name servers in directives that pass requests on.
pub(super) fn variables(directives: &[Directive]) -> Vec<Variable> {
    let mut found = Vec::new();
    for directive in all(directives) {
        if super::super::sites::PASSES.contains(&directive.name())
            && let Some(word) = directive.word(0)
            && let Some(variable) = variable_of(Target::of(word).authority)
            && !found.contains(&variable)
        {
            found.push(variable);
        }
    }
    // One that only renames another is as good as that: `set $backend $upstream`.
    let mut named = Vec::new();
    for directive in all(directives) {
        let sources: Vec<&str> = match directive.name() {
            "set" => directive.texts().skip(1).collect(),
            "map" => directive.children().iter().filter_map(|line| line.word(0)).collect(),
            _ => continue,
        };
        let target = if directive.name() == "set" { directive.word(0) } else { directive.word(1) };
        for variable in found.iter().filter(|variable| target == Some(variable.name.as_str())) {
            named.extend(
                sources
                    .iter()
                    .filter_map(|source| variable_of(source))
                    .map(|source| Variable { port: variable.port.clone(), ..source }),
            );
        }
    }
    found.extend(named);
    let is_set = |variable: &Variable| {
        all(directives).iter().any(|directive| match directive.name() {
            "set" => directive.word(0) == Some(variable.name.as_str()),
            "map" | "geo" | "split_clients" => directive.texts().last() == Some(variable.name.as_str()),
            _ => false,
        })
    };
    found.retain(is_set);
    found
}

fn all(directives: &[Directive]) -> Vec<&Directive> {
    let inner = directives.iter().flat_map(|directive| all(directive.children()));
    directives.iter().chain(inner).collect()
}

fn variable_of(authority: &str) -> Option<Variable> {
    let rest = authority.strip_prefix('$')?;
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len());
    let port = &rest[end..];
    let is_port =
        port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    is_port.then(|| Variable { name: format!("${}", &rest[..end]), port: port.to_owned() })
}

/// The parts of `proxy_pass`'s word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Target<'text> {
    /// `http://`, or nothing.
    scheme: &'text str,
    authority: &'text str,
    /// The path and what else follows.
    rest: &'text str,
}

impl<'text> Target<'text> {
    fn of(word: &'text str) -> Self {
        let start = word.find("://").map_or(0, |position| position + 3);
        let (scheme, behind) = word.split_at(start);
        let end = end_of_authority(behind);
        Self { scheme, authority: &behind[..end], rest: &behind[end..] }
    }

    /// The scheme without encryption, which the origins do not have.
    fn plain_scheme(&self) -> &'text str {
        match self.scheme {
            "https://" => "http://",
            "grpcs://" => "grpc://",
            "suwsgi://" => "uwsgi://",
            scheme => scheme,
        }
    }
}

fn end_of_authority(text: &str) -> usize {
    if let Some(path) = text.strip_prefix("unix:") {
        return path.find(':').map_or(text.len(), |position| 5 + position + 1);
    }
    let mut end = 0;
    while end < text.len() {
        let rest = &text[end..];
        if rest.starts_with(['/', '?']) {
            return end;
        }
        if rest.starts_with('$') && end > 0 && OF_PATHS.iter().any(|name| rest[1..].starts_with(name)) {
            return end;
        }
        end += rest.chars().next().map_or(1, char::len_utf8);
    }
    text.len()
}

/// Variables that begin paths, not hosts.
const OF_PATHS: &[&str] = &["request_uri", "uri", "document_uri", "is_args", "args", "1", "2", "fastcgi"];

impl Making<'_> {
    /// Changes the server of `proxy_pass` and the like.
    pub(super) fn pass(&mut self, directive: &mut Directive) -> io::Result<()> {
        let Some(word) = directive.words.first_mut() else { return Ok(()) };
        let target = Target::of(&word.text);
        if target.scheme != target.plain_scheme() {
            self.note("the origins speak plain HTTP, where the configuration has https");
        }
        let authority = self.authority(target.authority)?;
        word.text = format!("{}{authority}{}", target.plain_scheme(), target.rest);
        Ok(())
    }

    /// The authority in the place of one in a directive that passes requests on.
    fn authority(&mut self, authority: &str) -> io::Result<String> {
        if self.upstreams.iter().any(|name| name == authority) {
            return Ok(authority.to_owned());
        }
        match variable_of(authority) {
            Some(variable) if self.is_set(&variable.name) => Ok(variable.name),
            named => {
                if let Some(Variable { name, .. }) = named {
                    self.note(format!(
                        "{name} names a server, and the configuration does not give it a value: it is compared with one \
                         server in its place, but the import answers its requests with 501"
                    ));
                }
                self.origin(authority)
            }
        }
    }

    fn origin(&mut self, name: &str) -> io::Result<String> {
        let port = self.origins.port(name.trim_end_matches(':'))?;
        Ok(format!("127.0.0.1:{port}"))
    }

    /// Whether the configuration itself gives a variable its values.
    fn is_set(&self, name: &str) -> bool {
        self.variables.iter().any(|variable| variable.name == name)
    }

    pub(super) fn upstream_server(&mut self, directive: &mut Directive) -> io::Result<()> {
        directive.words.retain(|word| {
            word.text != "resolve" && !word.text.starts_with("slow_start") && !word.text.starts_with("service=")
        });
        let Some(word) = directive.words.first_mut() else { return Ok(()) };
        word.text = {
            let name = word.text.clone();
            self.origin(&name)?
        };
        Ok(())
    }

    /// Changes the value of `set`, if its variable names servers.
    pub(super) fn set(&mut self, directive: &mut Directive) -> io::Result<()> {
        let [name, value] = directive.words.as_mut_slice() else { return Ok(()) };
        if let Some(variable) = self.variable(&name.text) {
            value.text = self.value(&variable, &value.text)?;
        }
        Ok(())
    }

    /// Changes the values of `map` and the like, if its variable names servers.
    pub(super) fn map(&mut self, directive: &mut Directive) -> io::Result<()> {
        let Some(variable) = directive.texts().last().and_then(|name| self.variable(name)) else { return Ok(()) };
        for line in directive.block.iter_mut().flatten() {
            if let Some(value) = line.words.first_mut() {
                value.text = self.value(&variable, &value.text)?;
            }
        }
        Ok(())
    }

    fn variable(&self, name: &str) -> Option<Variable> {
        self.variables.iter().find(|variable| variable.name == name).cloned()
    }

    fn value(&mut self, variable: &Variable, value: &str) -> io::Result<String> {
        let target = Target::of(value);
        let is_renamed = variable_of(target.authority).is_some_and(|other| self.is_set(&other.name));
        if value.is_empty()
            || value == "''"
            || is_renamed
            || (variable.port.is_empty() && self.upstreams.iter().any(|name| name == target.authority))
        {
            return Ok(format!("{}{}{}", target.plain_scheme(), target.authority, target.rest));
        }
        let authority = self.origin(&format!("{}{}", target.authority, variable.port))?;
        Ok(format!("{}{authority}{}", target.plain_scheme(), target.rest))
    }

    /// Changes the address that `proxy_redirect` replaces, if an origin has it.
    pub(super) fn redirect(&mut self, directive: &mut Directive) {
        let Some(word) = directive.words.first_mut() else { return };
        let target = Target::of(&word.text);
        if let Some(port) = self.origins.port_of(target.authority) {
            word.text = format!("{}127.0.0.1:{port}{}", target.plain_scheme(), target.rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_into_scheme_authority_and_path() {
        for (word, parts) in [
            ("http://app:3000/api/", ("http://", "app:3000", "/api/")),
            ("https://$backend$request_uri", ("https://", "$backend", "$request_uri")),
            ("http://unix:/run/app.sock:/x", ("http://", "unix:/run/app.sock:", "/x")),
            ("unix:/run/php.sock", ("", "unix:/run/php.sock", "")),
            ("$upstream", ("", "$upstream", "")),
            ("http://$app:8080", ("http://", "$app:8080", "")),
            ("127.0.0.1:9000", ("", "127.0.0.1:9000", "")),
        ] {
            let target = Target::of(word);
            assert_eq!((target.scheme, target.authority, target.rest), parts, "{word}");
        }
    }

    #[test]
    fn a_variable_may_have_a_port() {
        let variable = |name: &str, port: &str| Some(Variable { name: name.to_owned(), port: port.to_owned() });
        assert_eq!(variable_of("$app:8080"), variable("$app", ":8080"));
        assert_eq!(variable_of("$app"), variable("$app", ""));
        assert_eq!(variable_of("$app.internal"), None);
        assert_eq!(variable_of("app"), None);
    }
}
