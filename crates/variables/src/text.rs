//! A text with variables in it, parsed once and filled in often.

use crate::{error::VariableError, form::Form, source::Source, variable::Variable};

/// A text with variables in it: `$name`, `${name}`, and `$$` for a dollar.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    parts: Box<[Part]>,
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Literal text.
    Text(Box<str>),
    /// A variable, which a request fills in.
    Variable(Variable),
}

/// A piece of a text that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'t> {
    /// Literal text.
    Text(&'t str),
    /// The name of a variable.
    Name(&'t str),
}

impl Text {
    pub(crate) fn of_parts(parts: Vec<Part>) -> Self {
        Self { parts: parts.into() }
    }

    /// Its parts.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The text, if there is no variable in it.
    #[must_use]
    pub fn constant(&self) -> Option<&str> {
        match &*self.parts {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether a variable of it is what the route's path matched.
    #[must_use]
    pub fn has_captures(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Variable(variable) if variable.is_capture()))
    }

    /// Whether a variable of it is a value of the response.
    #[must_use]
    pub fn reads_response(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Variable(Variable::Response(_))))
    }

    /// Whether two requests that differ in their paths alone may have different values.
    #[must_use]
    pub fn depends_on_path(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Variable(variable) if variable.depends_on_path()))
    }

    /// Appends the text with the values of a request, escaped.
    pub fn append(&self, source: &Source<'_>, form: Form, output: &mut Vec<u8>) {
        self.parts.iter().for_each(|part| part.append(source, form, output));
    }
}

impl Part {
    /// Appends the part with the values of a request, escaped.
    pub fn append(&self, source: &Source<'_>, form: Form, output: &mut Vec<u8>) {
        match self {
            Self::Text(text) => output.extend_from_slice(text.as_bytes()),
            Self::Variable(variable) => {
                let start = output.len();
                variable.append(source, output);
                form.escape(start, output);
            }
        }
    }
}

/// Takes a text with variables apart.
///
/// # Errors
///
/// A `$` without a name behind it.
pub fn read_pieces(text: &str) -> Result<Vec<Piece<'_>>, VariableError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(place) = rest.find('$') {
        if place > 0 {
            pieces.push(Piece::Text(&rest[..place]));
        }
        rest = &rest[place..];
        let (piece, behind) = read_dollar(rest)?;
        pieces.push(piece);
        rest = behind;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Ok(pieces)
}

/// Reads what begins with a `$`: the piece, and what follows it.
pub(crate) fn read_dollar(text: &str) -> Result<(Piece<'_>, &str), VariableError> {
    let rest = text.strip_prefix('$').unwrap_or(text);
    if let Some(behind) = rest.strip_prefix('$') {
        return Ok((Piece::Text(&rest[..1]), behind));
    }
    if let Some(inside) = rest.strip_prefix('{') {
        let end = inside.find('}');
        let end =
            end.ok_or_else(|| VariableError::new("a ${ has no } behind it: write ${name}, or $$ for a dollar"))?;
        return Ok((Piece::Name(&inside[..end]), &inside[end + 1..]));
    }
    // A number ends where its digits end.
    let is_number = rest.starts_with(|first: char| first.is_ascii_digit());
    let is_name = |character: char| match is_number {
        true => character.is_ascii_digit(),
        false => character.is_ascii_alphanumeric() || character == '_',
    };
    match rest.split_at(rest.find(|character| !is_name(character)).unwrap_or(rest.len())) {
        ("", _) => Err(VariableError::new("a $ has no name behind it: write $$ for a dollar")),
        (name, behind) => Ok((Piece::Name(name), behind)),
    }
}

/// Adds text to the last part, if that is text.
pub(crate) fn push_text(text: &str, parts: &mut Vec<Part>) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(before)) => *before = [before, text].concat().into(),
        _ => parts.push(Part::Text(text.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use serow_message::{Connection, Headers, Method, Peer, Request, RequestHead, Scheme, Target, Version};

    use super::*;
    use crate::scope::Scope;
    use crate::{Expression, Maps};

    fn request() -> Request {
        let target = Target::parse("/a%20b?c=d&e=%3C&E=f&g".into(), false).unwrap();
        let (method, version) = (Method::GET, Version::HTTP_11);
        let mut head = RequestHead { method, target, version, headers: Headers::new() };
        for (name, value) in [
            ("host", "A.Example:8080"),
            ("user-agent", "curl \"8\""),
            ("cookie", "beta=1; id=\"x\""),
            ("cookie", "other=2"),
            ("x-forwarded-for", "192.0.2.1"),
            ("x-forwarded-for", "192.0.2.2"),
            ("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ] {
            head.headers.append(name, value).unwrap();
        }
        let peer = Peer::Tcp("[::ffff:10.0.0.1]:4711".parse().unwrap());
        let connection = Connection::new(peer, Some("192.0.2.9:80".parse().unwrap()), Scheme::Http);
        Request::new(head, serow_message::Body::empty(), connection)
    }

    fn scope() -> Scope {
        let expression: Expression = "^/(?<first>[a-z])(.*)$".parse().unwrap();
        Scope::new(Arc::new(Maps::default())).of_site("a.example").of_expression(&expression)
    }

    fn filled(text: &str, form: Form) -> String {
        let request = request();
        let captures: [&[u8]; 2] = [b"a", b" b\r\n<\"$uri\xff"];
        let source = Source { captures: &captures, ..Source::of(&request, b"/a b") };
        let mut output = b"|".to_vec();
        Text::parse(text, &scope()).unwrap().append(&source, form, &mut output);
        String::from_utf8_lossy(&output[1..]).into_owned()
    }

    #[test]
    fn every_variable_has_its_value() {
        for (text, expected) in [
            ("$remote_addr $remote_port $remote_user", "10.0.0.1 4711 Aladdin"),
            ("$request", "GET /a%20b?c=d&e=%3C&E=f&g HTTP/1.1"),
            ("$request_method $uri $document_uri $request_uri", "GET /a b /a b /a%20b?c=d&e=%3C&E=f&g"),
            ("$args|$query_string|$is_args", "c=d&e=%3C&E=f&g|c=d&e=%3C&E=f&g|?"),
            ("$arg_c$arg_e$arg_E|$arg_g|$arg_none", "d%3C%3C||"),
            ("$server_protocol $scheme|$https|$host $http_host", "HTTP/1.1 http||a.example A.Example:8080"),
            ("$server_addr $server_port $server_name", "192.0.2.9 80 a.example"),
            ("$http_user_agent $http_x_forwarded_for $http_none", "curl \"8\" 192.0.2.1, 192.0.2.2 "),
            ("$cookie_beta $cookie_id $cookie_OTHER $cookie_none", "1 \"x\" 2 "),
            ("$ssl_protocol$ssl_cipher$ssl_server_name$ssl_early_data", ""),
            ("$first ${first}0 $1", "a a0 a"),
            ("$$ $$1 $${uri} 5$$", "$ $1 ${uri} 5$"),
            ("", ""),
        ] {
            assert_eq!(filled(text, Form::Raw), expected, "{text}");
        }
    }

    #[test]
    fn values_are_escaped_and_the_text_is_not() {
        for (form, expected) in [
            (Form::Raw, "<\">& b\r\n<\"$uri\u{fffd}"),
            (Form::Field, "<\">& b<\"$uri\u{fffd}"),
            (Form::Html, "<\">& b\r\n&lt;&quot;$uri\u{fffd}"),
            (Form::Json, "<\">& b\\u000d\\u000a\\u003c\\u0022$uri\\ufffd"),
        ] {
            assert_eq!(filled("<\">&$2", form), expected, "{form:?}");
        }
        for (media_type, expected) in [
            ("text/html; charset=utf-8", Form::Html),
            ("image/svg+xml", Form::Html),
            ("application/problem+json", Form::Json),
            ("text/javascript", Form::Json),
            ("text/plain", Form::Raw),
        ] {
            assert_eq!(Form::of_media_type(media_type), expected, "{media_type}");
        }
    }

    #[test]
    fn mistakes_say_what_to_write() {
        for (text, expected) in [
            ("$remote_adr", "there is no $remote_adr; did you mean $remote_addr?"),
            ("$firts", "there is no $firts; did you mean $first?"),
            ("$nothing_like_it", "there is no $nothing_like_it; docs/matching.md has the names, and $$ is a dollar"),
            ("$http_", "there is no $http_; did you mean $http2?"),
            ("$status", "$status is known only when the response is sent, to the access log"),
            ("$3", "$3 is not there: the path of the route has 2 stars or groups; write $$ for a dollar"),
            ("5$", "a $ has no name behind it: write $$ for a dollar"),
            ("$(a)", "a $ has no name behind it: write $$ for a dollar"),
            ("${uri", "a ${ has no } behind it: write ${name}, or $$ for a dollar"),
        ] {
            assert_eq!(Text::parse(text, &scope()).unwrap_err().to_string(), expected, "{text}");
        }
    }

    proptest! {
        /// No text makes it panic, and no value begins another line of a header.
        #[test]
        fn any_text_and_any_value(text: String, value: Vec<u8>) {
            let source_request = request();
            let captures: [&[u8]; 2] = [&value, &value];
            let source = Source { captures: &captures, ..Source::of(&source_request, &value) };
            for text in [text.as_str(), "$first-$2-$uri"] {
                let Ok(parsed) = Text::parse(text, &scope()) else { continue };
                for form in [Form::Raw, Form::Field, Form::Html, Form::Json] {
                    let mut output = Vec::new();
                    parsed.append(&source, form, &mut output);
                    if form == Form::Field && !text.contains(char::is_control) {
                        prop_assert!(!output.iter().any(|byte| matches!(byte, ..0x20 | 0x7f)));
                    }
                }
            }
        }
    }
}
