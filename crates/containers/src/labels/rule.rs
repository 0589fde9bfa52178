//! The rules of Traefik's routers, as far as they mean hosts and paths: `Host`, `Path`, `PathPrefix`, `&&`, `||` and
//! parentheses.

use super::{WantedPath, host};

/// Alternatives, each a host with a path.
pub(super) type Alternatives = Vec<(String, WantedPath)>;

/// An alternative of a rule, as far as it is read.
#[derive(Clone, Debug, Default)]
struct Alternative {
    host: Option<String>,
    path: Option<WantedPath>,
}

/// Reads a rule.
///
/// # Errors
///
/// It is not one, or means more than hosts and paths.
pub(super) fn parse(text: &str) -> Result<Alternatives, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("the rule is longer than {MAX_LENGTH} bytes"));
    }
    let mut reading = Reading { rest: text, depth: 0 };
    let alternatives = reading.alternatives()?;
    reading.skip_blanks();
    if !reading.rest.is_empty() {
        return Err(reading.unexpected("&& or ||"));
    }
    alternatives.into_iter().map(|alternative| alternative.complete()).collect()
}

/// A rule that is being read.
struct Reading<'a> {
    rest: &'a str,
    /// How many parentheses are open.
    depth: usize,
}

impl<'a> Reading<'a> {
    fn alternatives(&mut self) -> Result<Vec<Alternative>, String> {
        let mut all = self.conjunction()?;
        while self.takes("||") {
            all.extend(self.conjunction()?);
            check_number(&all)?;
        }
        Ok(all)
    }

    fn conjunction(&mut self) -> Result<Vec<Alternative>, String> {
        let mut all = self.factor()?;
        while self.takes("&&") {
            let others = self.factor()?;
            let mut both = Vec::new();
            for one in &all {
                for other in &others {
                    both.push(one.with(other)?);
                    check_number(&both)?;
                }
            }
            all = both;
        }
        Ok(all)
    }

    fn factor(&mut self) -> Result<Vec<Alternative>, String> {
        if self.takes("(") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err("the rule has too many parentheses".to_owned());
            }
            let all = self.alternatives()?;
            self.depth -= 1;
            return if self.takes(")") { Ok(all) } else { Err(self.unexpected(")")) };
        }
        if self.takes("!") {
            return Err("rules with ! are not supported".to_owned());
        }
        let name = self.name()?;
        let value = self.argument()?;
        let alternative = match &*name.to_ascii_lowercase() {
            "host" => Alternative { host: Some(host(value)?), path: None },
            "path" => Alternative { host: None, path: Some(WantedPath::exact(value)?) },
            "pathprefix" => Alternative { host: None, path: Some(WantedPath::below(value)?) },
            _ => return Err(format!("{name} is not supported: write Host, Path or PathPrefix")),
        };
        Ok(vec![alternative])
    }

    fn name(&mut self) -> Result<&'a str, String> {
        self.skip_blanks();
        let end = self.rest.bytes().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        if end == 0 {
            return Err(self.unexpected("Host, Path or PathPrefix"));
        }
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(name)
    }

    /// The only argument, between the quotes of Go; in double ones, backslashes mean something, and no host or path has any.
    fn argument(&mut self) -> Result<&'a str, String> {
        if !self.takes("(") {
            return Err(self.unexpected("("));
        }
        self.skip_blanks();
        let quote = self.rest.chars().next().filter(|quote| matches!(quote, '`' | '"'));
        let Some(quote) = quote else { return Err(self.unexpected("a text between ` and `")) };
        let Some((value, rest)) = self.rest[1..].split_once(quote) else {
            return Err(format!("the text after {quote} does not end"));
        };
        self.rest = rest;
        if self.takes(",") {
            return Err("several values are not supported: combine with ||".to_owned());
        }
        if self.takes(")") { Ok(value) } else { Err(self.unexpected(")")) }
    }

    fn takes(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn unexpected(&self, expected: &str) -> String {
        match self.rest.chars().next() {
            Some(found) => format!("the rule has {found:?} where {expected} is expected"),
            None => format!("the rule ends where {expected} is expected"),
        }
    }
}

impl Alternative {
    fn with(&self, other: &Self) -> Result<Self, String> {
        let both = |name: &str| format!("the rule asks for two {name} at once");
        Ok(Self {
            host: match (&self.host, &other.host) {
                (Some(_), Some(_)) => return Err(both("hosts")),
                (one, other) => one.clone().or_else(|| other.clone()),
            },
            path: match (&self.path, &other.path) {
                (Some(_), Some(_)) => return Err(both("paths")),
                (one, other) => one.clone().or_else(|| other.clone()),
            },
        })
    }

    fn complete(self) -> Result<(String, WantedPath), String> {
        let host = self.host.ok_or("the rule has an alternative without Host: all hosts are not a container's")?;
        Ok((host, self.path.unwrap_or(WantedPath::Below(String::new()))))
    }
}

fn check_number(all: &[Alternative]) -> Result<(), String> {
    if all.len() > MAX_ALTERNATIVES { Err("the rule has too many alternatives".to_owned()) } else { Ok(()) }
}

/// Bytes of a rule.
const MAX_LENGTH: usize = 4000;

/// Parentheses in each other: the stack is not a stranger's.
const MAX_DEPTH: usize = 20;

/// Alternatives of a rule: (a || b) && (c || d) has four, and a few more lines have billions.
const MAX_ALTERNATIVES: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn below(path: &str) -> WantedPath {
        WantedPath::Below(path.to_owned())
    }

    #[test]
    fn rules_are_hosts_with_paths() {
        let alternatives = |text: &str| {
            let found = parse(text).unwrap_or_else(|reason| panic!("{text}: {reason}"));
            found.into_iter().map(|(host, path)| format!("{host} {path:?}")).collect::<Vec<_>>().join(", ")
        };
        for (text, expected) in [
            ("Host(`a.example`)", r#"a.example Below("")"#),
            (r#"Host("A.example")"#, r#"a.example Below("")"#),
            ("host(`a`)&&pathprefix(`/api/`)", r#"a Below("/api")"#),
            (" Host( `a` ) && Path(`/x`) ", r#"a Exact("/x")"#),
            ("Host(`a`) || Host(`b`) && Path(`/x`)", r#"a Below(""), b Exact("/x")"#),
            ("(Host(`a`) || Host(`b`)) && PathPrefix(`/x`)", r#"a Below("/x"), b Below("/x")"#),
            ("PathPrefix(`/x`) && (Host(`a`))", r#"a Below("/x")"#),
        ] {
            assert_eq!(alternatives(text), expected, "{text}");
        }
        assert_eq!(parse("PathPrefix(`/`) && Host(`a`)"), Ok(vec![("a".to_owned(), below(""))]));
    }

    #[test]
    fn other_rules_are_refused() {
        for (text, reason) in [
            ("", "the rule ends where Host"),
            ("Host(a)", "the rule has 'a' where a text"),
            ("Host('a')", "the rule has '\\'' where a text"),
            ("Host(`a`", "the rule ends where )"),
            ("Host(`a", "the text after ` does not end"),
            ("Host(`a`, `b`)", "several values"),
            ("Host(`a`) Host(`b`)", "the rule has 'H' where && or ||"),
            ("Host(`a`) AND Path(`/`)", "the rule has 'A' where && or ||"),
            ("Host(`a`) && Host(`b`)", "the rule asks for two hosts"),
            ("!Host(`a`)", "rules with !"),
            ("PathPrefix(`/x`)", "the rule has an alternative without Host"),
            ("Host(`a`) && PathPrefix(`x`)", "\"x\" is not a path"),
            ("HostRegexp(`.*`)", "HostRegexp is not supported"),
            ("Host(`a`) && Headers(`X`, `y`)", "several values"),
            ("Host(`a`) && Method(`GET`)", "Method is not supported"),
            ("Host(`ä`)", "\"ä\" is not a host"),
            (&"(".repeat(1000), "the rule has too many parentheses"),
            (&"x".repeat(5000), "the rule is longer"),
            (&vec!["(Host(`a`) || Host(`b`))"; 100].join("&&"), "the rule asks for two hosts"),
            (&vec!["Host(`a`)"; 200].join("||"), "the rule has too many alternatives"),
        ] {
            assert!(parse(text).is_err_and(|found| found.starts_with(reason)), "{text}: {:?}", parse(text));
        }
    }
}
