//! Addresses and cookies of other servers, as clients are to see them.

use serow_config::{
    tables::{maps::Pairs, upstreams::ProxySettings},
    values::Texts,
};
use serow_document::{Place, Problem, Problems};
use serow_router::{CookieFlags, NamePattern, ResponseRewriting, RewritePattern, RewriteRule, ends_with_host};
use serow_variables::{Expression, Piece, Scope, Text, read_pieces};

/// Finds out what the tables of a proxy mean; notes what means nothing.
pub(crate) struct RewritingReading<'a> {
    /// The variables of texts.
    pub(crate) scope: &'a Scope,
    /// Where the proxy is.
    pub(crate) place: &'a Place,
    pub(crate) problems: &'a Problems,
}

impl RewritingReading<'_> {
    /// The changes in responses of a proxy with these settings.
    pub(crate) fn rewriting(&self, settings: &ProxySettings) -> Option<ResponseRewriting> {
        let ProxySettings { rewrite_location, cookie_domain, cookie_path, cookie_flags, .. } = settings;
        let location = self.rules(rewrite_location, "rewrite-location", location_refusal);
        let domain = self.rules(cookie_domain, "cookie-domain", domain_refusal);
        let path = self.rules(cookie_path, "cookie-path", |key| {
            let is_path = key.starts_with('/') && !key.contains(';');
            (!is_path).then(|| "write a path, as in \"/app/\"".to_owned())
        });
        let flags = self.flags(cookie_flags, &self.place.key("cookie-flags"));
        Some(ResponseRewriting {
            location: location?,
            cookie_domain: domain?,
            cookie_path: path?,
            cookie_flags: flags?,
            ..ResponseRewriting::default()
        })
    }

    /// Rules; `refusal` says what is wrong with a key that is not an expression.
    fn rules(
        &self,
        pairs: &Pairs,
        key: &'static str,
        refusal: impl Fn(&str) -> Option<String>,
    ) -> Option<Vec<RewriteRule>> {
        let place = self.place.key(key);
        let rules: Vec<Option<_>> = pairs
            .0
            .iter()
            .map(|(from, to)| {
                let place = place.key(from.as_str());
                let pattern = match self.expression(from, &place)? {
                    Some(expression) => RewritePattern::Expression(expression),
                    None => match refusal(from) {
                        Some(text) => return self.refused(Problem::of_key(place, text)),
                        None => RewritePattern::Text(from.clone()),
                    },
                };
                let text = self.text(&pattern, to).map_err(|text| Problem::of_value(place, text));
                Some(RewriteRule { text: self.noted(text)?, pattern })
            })
            .collect();
        rules.into_iter().collect()
    }

    /// The text in place of what matches; its captures are those of an expression.
    fn text(&self, pattern: &RewritePattern, text: &str) -> Result<Text, String> {
        let groups = match pattern {
            RewritePattern::Text(_) => 0,
            RewritePattern::Expression(expression) => expression.group_names().count(),
        };
        let is_missing = |number: &usize| *number == 0 || *number > groups;
        let numbers =
            read_pieces(text).map_err(|error| error.to_string())?.into_iter().filter_map(|piece| match piece {
                Piece::Name(name) => name.parse::<usize>().ok(),
                Piece::Text(_) => None,
            });
        if let Some(number) = numbers.into_iter().find(is_missing) {
            return Err(match groups {
                0 => format!(
                    "${number} is a group of a regular expression: begin the key with ~, or write $$ for a dollar"
                ),
                1 => format!("${number} is not there: the expression has one group, $1; write $$ for a dollar"),
                _ => format!("${number} is not there: the expression has {groups} groups; write $$ for a dollar"),
            });
        }
        if let RewritePattern::Text(from) = pattern
            && ends_with_host(text)
            && !ends_with_host(from)
            && !from.ends_with("//")
        {
            let text = "behind this, the rest of the address would go on with the host: write a slash at its end";
            return Err(text.to_owned());
        }
        if let Some(character) = text.chars().find(|character| !matches!(character, '!'..='~') || *character == ';') {
            return Err(format!("{character:?} cannot be in an address, domain or path: leave it out"));
        }
        let scope = match pattern {
            RewritePattern::Text(_) => self.scope.clone(),
            RewritePattern::Expression(expression) => self.scope.of_expression(expression),
        };
        Text::parse(text, &scope).map_err(|error| error.to_string())
    }

    fn flags(&self, pairs: &Pairs<Texts>, place: &Place) -> Option<Vec<(NamePattern, CookieFlags)>> {
        let mut read = Vec::new();
        for (name, flags) in &pairs.0 {
            let place = place.key(name.as_str());
            let pattern = match self.expression(name, &place)? {
                Some(expression) => NamePattern::Expression(expression),
                None if name == "*" => NamePattern::Any,
                None if !name.is_empty() && name.bytes().all(serow::is_token_byte) => NamePattern::Name(name.clone()),
                None => {
                    let text = "this is not the name of a cookie: write one, \"*\" for all, or ~ and an expression";
                    return self.refused(Problem::of_key(place, text));
                }
            };
            if flags.0.is_empty() {
                return self.refused(Problem::of_value(place, "there is no flag: write \"secure\" or another one"));
            }
            let flags = flags.0.iter().try_fold(CookieFlags::default(), |flags, flag| flags.with(flag));
            let flags = flags.map_err(|error| Problem::of_value(place, error.to_string()));
            read.push((pattern, self.noted(flags)?));
        }
        if let Some(useless) = read.iter().position(|(name, _)| matches!(name, NamePattern::Any)).map(|all| all + 1)
            && let Some((name, _)) = pairs.0.get(useless)
        {
            let text = "\"*\" stands before this, and is for all cookies: write \"*\" last";
            return self.refused(Problem::of_key(place.key(name.as_str()), text));
        }
        Some(read)
    }

    /// The regular expression that a key is, if it is one.
    fn expression(&self, key: &str, place: &Place) -> Option<Option<Expression>> {
        let expression = match (key.strip_prefix("~*"), key.strip_prefix('~')) {
            (Some(text), _) => Expression::ignoring_case(text.trim_start()),
            (None, Some(text)) => text.trim_start().parse(),
            (None, None) => return Some(None),
        };
        let expression = expression.map_err(|error| Problem::of_key(place.clone(), format!("this {error}")));
        self.noted(expression).map(Some)
    }

    fn noted<T>(&self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.add(problem)).ok()
    }

    fn refused<T>(&self, problem: Problem) -> Option<T> {
        self.noted(Err(problem))
    }
}

/// Why no address begins with this.
fn location_refusal(from: &str) -> Option<String> {
    let is_address = from.starts_with('/') || from.contains("//");
    (!is_address).then(|| "write the beginning of an address, as in \"http://app:8080/\", or of a path".to_owned())
}

/// Why no cookie has this domain.
fn domain_refusal(from: &str) -> Option<String> {
    let is_host = serow_message::authority::is_valid(from.trim_start_matches('.').as_bytes()) && !from.contains(':');
    (!is_host).then(|| "write the domain of cookies, as in \"app.internal\"".to_owned())
}
