//! Texts with variables: as nginx reads them, and as Serow's settings have them.

use std::collections::{HashMap, HashSet};

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    /// As it stands.
    Literal(String),
    /// The value of the variable with this name.
    Variable(String),
}

/// A text with variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Text {
    pub(crate) parts: Vec<Part>,
}

impl Text {
    /// The parts of a text of nginx: `$name`, `${name}`, `$1`.
    pub(crate) fn of(raw: &str) -> Self {
        let mut text = Self::default();
        let mut rest = raw;
        while let Some(dollar) = rest.find('$') {
            text.push_literal(&rest[..dollar]);
            let behind = &rest[dollar + 1..];
            let (name, left) = variable_name(behind);
            if name.is_empty() {
                text.push_literal("$");
            } else {
                text.parts.push(Part::Variable(name.to_owned()));
            }
            rest = left;
        }
        text.push_literal(rest);
        text
    }

    pub(crate) fn push_literal(&mut self, literal: &str) {
        if literal.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Literal(last)) => last.push_str(literal),
            _ => self.parts.push(Part::Literal(literal.to_owned())),
        }
    }

    pub(crate) fn push_text(&mut self, text: &Self) {
        for part in &text.parts {
            match part {
                Part::Literal(literal) => self.push_literal(literal),
                Part::Variable(_) => self.parts.push(part.clone()),
            }
        }
    }

    /// It with other texts in the place of variables; nothing leaves a variable as it is.
    ///
    /// # Errors
    ///
    /// The first error of `replacement`.
    pub(crate) fn replaced(
        &self,
        mut replacement: impl FnMut(&str) -> Result<Option<Self>, String>,
    ) -> Result<Self, String> {
        let mut replaced = Self::default();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => replaced.push_literal(literal),
                Part::Variable(name) => match replacement(name)? {
                    Some(text) => replaced.push_text(&text),
                    None => replaced.parts.push(part.clone()),
                },
            }
        }
        Ok(replaced)
    }

    /// It without groups of an expression that has only so many: they are empty.
    pub(crate) fn without_groups_above(&self, groups: usize) -> Self {
        let is_missing = |name: &str| name.parse::<usize>().is_ok_and(|number| number > groups);
        self.replaced(|name| Ok(is_missing(name).then(Self::default))).unwrap_or_default()
    }

    /// It with one slash in the place of several that follow each other.
    pub(crate) fn with_single_slashes(&self) -> Self {
        let mut single = Self::default();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => {
                    let mut last = ' ';
                    let mut letters = literal.to_owned();
                    letters.retain(|letter| (letter, std::mem::replace(&mut last, letter)) != ('/', '/'));
                    single.push_literal(&letters);
                }
                Part::Variable(_) => single.parts.push(part.clone()),
            }
        }
        single
    }

    /// The text if it has no variables.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(literal)] => Some(literal),
            _ => None,
        }
    }

    /// The name of the variable that it consists of.
    pub(crate) fn variable(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [Part::Variable(name)] => Some(name),
            _ => None,
        }
    }

    /// The names of its variables.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(name.as_str()),
            Part::Literal(_) => None,
        })
    }

    /// Whether it names a group of an expression, as in `$1`.
    pub(crate) fn names_group(&self) -> bool {
        self.variables().any(|name| name.starts_with(|first: char| first.is_ascii_digit()))
    }

    /// The text at its beginning that has no variables.
    pub(crate) fn leading(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(literal)) => literal,
            _ => "",
        }
    }

    /// Its beginning up to the path: the scheme and the host, of a URL; nothing, of a path.
    pub(crate) fn host(&self) -> Self {
        let mut host = Self::default();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => {
                    let start = literal.find("://").map_or(0, |position| position + 3);
                    match literal[start..].find('/') {
                        Some(slash) => {
                            host.push_literal(&literal[..start + slash]);
                            return host;
                        }
                        None => host.push_literal(literal),
                    }
                }
                Part::Variable(_) => host.parts.push(part.clone()),
            }
        }
        host
    }

    /// It in a settings file, where `$$` is a dollar.
    pub(crate) fn written(&self) -> String {
        let mut written = String::new();
        for (position, part) in self.parts.iter().enumerate() {
            match part {
                Part::Literal(literal) => written.push_str(&literal.replace('$', "$$")),
                Part::Variable(name) => {
                    let goes_on = matches!(self.parts.get(position + 1), Some(Part::Literal(next))
                        if next.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_'));
                    match goes_on {
                        true => written.push_str(&format!("${{{name}}}")),
                        false => written.push_str(&format!("${name}")),
                    }
                }
            }
        }
        written
    }
}

/// The name at the beginning of a text, and the rest. A capture is one digit.
fn variable_name(text: &str) -> (&str, &str) {
    if let Some(braced) = text.strip_prefix('{')
        && let Some((name, rest)) = braced.split_once('}')
    {
        return (name, rest);
    }
    if text.starts_with(|first: char| first.is_ascii_digit()) {
        return text.split_at(1);
    }
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(text.len());
    text.split_at(end)
}

/// Whether a text is the name of a header field (RFC 9110 §5.6.2).
pub(crate) fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The variables that the configuration makes: by `set`, `map`, `geo`, `split_clients`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    /// Those that stand for a text at this place: by `set`, or since Serow has another name.
    texts: HashMap<String, Text>,
    /// Those that `[[map]]` makes.
    maps: HashSet<String>,
    /// The reasons why others have no counterpart.
    missing: HashMap<String, String>,
}

/// Where a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// In a request, or where the response is not known yet.
    Message,
    /// In a field of a response.
    Response,
    /// In the access log.
    Log,
}

impl Variables {
    pub(crate) fn set(&mut self, name: &str, text: Text) {
        self.texts.insert(name.to_owned(), text);
    }

    pub(crate) fn add_map(&mut self, name: &str) {
        self.maps.insert(name.to_owned());
    }

    /// Notes that a variable of `set` has no counterpart from here on, with the reason.
    pub(crate) fn lose(&mut self, name: &str, why: &str) {
        self.texts.remove(name);
        self.remove_map(name, why);
    }

    /// Notes that a variable has no counterpart, with the reason.
    pub(crate) fn remove_map(&mut self, name: &str, why: &str) {
        self.maps.remove(name);
        self.missing.insert(name.to_owned(), why.to_owned());
    }

    pub(crate) fn has_map(&self, name: &str) -> bool {
        self.maps.contains(name)
    }

    /// The text that a variable stands for.
    pub(crate) fn text_of(&self, name: &str) -> Option<&Text> {
        self.texts.get(name)
    }

    /// A text in which variables that stand for a text are replaced by it.
    pub(crate) fn filled(&self, text: &Text) -> Text {
        text.replaced(|name| Ok(self.texts.get(name).cloned())).unwrap_or_default()
    }

    /// A text with the variables of Serow.
    ///
    /// # Errors
    ///
    /// The reason why a variable has no counterpart, as a sentence.
    pub(crate) fn resolve(&self, text: &Text, place: Use) -> Result<Text, String> {
        text.replaced(|name| self.resolve_one(name, place).map(Some))
    }

    /// The text of a variable in Serow.
    ///
    /// # Errors
    ///
    /// The reason why it has no counterpart.
    pub(crate) fn resolve_one(&self, name: &str, place: Use) -> Result<Text, String> {
        let variable = |name: &str| Text { parts: vec![Part::Variable(name.to_owned())] };
        if let Some(text) = self.texts.get(name) {
            return Ok(text.clone());
        }
        let is_capture = name.len() == 1 && name.starts_with(|first: char| first.is_ascii_digit());
        let is_known_here = match place {
            Use::Message => false,
            Use::Response => is_known_in_responses(name),
            Use::Log => is_known_in_responses(name) || is_known_in_logs(name),
        };
        if is_capture || self.has_map(name) || is_known(name) || is_known_here {
            return Ok(variable(name));
        }
        match name {
            "binary_remote_addr" => Ok(variable("remote_addr")),
            "fastcgi_script_name" => Ok(variable("uri")),
            "proxy_add_x_forwarded_for" => Ok(Text::of("$http_x_forwarded_for, $remote_addr")),
            _ if self.missing.contains_key(name) => Err(format!(
                "${name} has no translation: {}",
                self.missing.get(name).map(String::as_str).unwrap_or_default()
            )),
            _ => Err(format!("Serow has no variable like ${name}")),
        }
    }
}

/// Names that Serow's texts have as nginx's.
fn is_known(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "args",
        "content_length",
        "content_type",
        "document_uri",
        "host",
        "hostname",
        "http2",
        "http3",
        "https",
        "is_args",
        "pid",
        "query_string",
        "remote_addr",
        "remote_port",
        "remote_user",
        "request",
        "request_id",
        "request_method",
        "request_uri",
        "scheme",
        "server_addr",
        "server_name",
        "server_port",
        "server_protocol",
        "ssl_cipher",
        "ssl_early_data",
        "ssl_protocol",
        "ssl_server_name",
        "uri",
    ];
    NAMES.contains(&name) || ["arg_", "cookie_", "http_"].iter().any(|start| name.starts_with(start))
}

/// Names that fields of responses and the access log have.
fn is_known_in_responses(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "upstream_addr",
        "upstream_cache_status",
        "upstream_connect_time",
        "upstream_header_time",
        "upstream_response_time",
        "upstream_status",
    ];
    NAMES.contains(&name)
}

/// Names that only the access log has.
fn is_known_in_logs(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "body_bytes_sent",
        "bytes_sent",
        "connection",
        "connection_requests",
        "limit_req_status",
        "msec",
        "realip_remote_addr",
        "realip_remote_port",
        "request_completion",
        "request_length",
        "request_time",
        "status",
        "time_iso8601",
        "time_local",
        "upstream_addr",
        "upstream_connect_time",
        "upstream_header_time",
        "upstream_response_time",
        "upstream_status",
    ];
    NAMES.contains(&name) || name.starts_with("sent_http_")
}
