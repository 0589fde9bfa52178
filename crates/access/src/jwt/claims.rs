//! The claims of a token.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The claims of a verified token: a JSON object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claims(Map<String, Value>);

impl Claims {
    /// The claims of this JSON object.
    #[must_use]
    pub fn new(claims: Map<String, Value>) -> Self {
        Self(claims)
    }

    /// The claim with this name, or inside of an object at this path: `sub`, `realm_access.roles`. A name that has dots
    /// itself, as `https://example.com/roles`, is found as well.
    #[must_use]
    pub fn find(&self, path: &str) -> Option<&Value> {
        find(&self.0, path)
    }

    /// A claim as text: texts, numbers, truth values, and arrays of them, with commas.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        text(self.find(path)?)
    }

    /// Whether [`Claims::text`] of a claim is that of another claim as well: a list has an element with a comma, or with a
    /// space at its beginning or end. `["a,admin"]` would become two roles.
    #[must_use]
    pub fn is_ambiguous(&self, path: &str) -> bool {
        let is_ambiguous = |text: &str| text.contains(',') || text.trim() != text;
        let elements = self.find(path).and_then(Value::as_array);
        elements.is_some_and(|all| all.iter().filter_map(Value::as_str).any(is_ambiguous))
    }

    /// The claims and those inside of objects, as text, by names for variables: letters and digits, and _ for
    /// everything else.
    #[must_use]
    pub fn flattened(&self) -> Vec<(Box<str>, Box<str>)> {
        let mut claims = Vec::new();
        flatten(&self.0, "", MAX_FLATTENED_LEVELS, &mut claims);
        claims
    }
}

fn find<'a>(object: &'a Map<String, Value>, path: &str) -> Option<&'a Value> {
    if let Some(value) = object.get(path) {
        return Some(value);
    }
    let dots = path.match_indices('.').map(|(position, _)| position);
    dots.filter_map(|dot| Some((object.get(&path[..dot])?.as_object()?, &path[dot + 1..])))
        .find_map(|(inner, rest)| find(inner, rest))
}

fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        Value::Bool(value) => Some(Cow::Borrowed(if *value { "true" } else { "false" })),
        Value::Array(elements) => {
            let texts: Vec<_> = elements
                .iter()
                .filter(|element| !element.is_array() && !element.is_object())
                .filter_map(text)
                .collect();
            Some(Cow::Owned(texts.join(",")))
        }
        Value::Null | Value::Object(_) => None,
    }
}

fn flatten(object: &Map<String, Value>, prefix: &str, levels: usize, claims: &mut Vec<(Box<str>, Box<str>)>) {
    for (name, value) in object {
        let letter = |byte: u8| if byte.is_ascii_alphanumeric() { byte.to_ascii_lowercase() as char } else { '_' };
        let name = prefix.chars().chain(name.bytes().map(letter)).collect::<String>();
        match value {
            Value::Object(inner) if levels > 1 => flatten(inner, &format!("{name}_"), levels - 1, claims),
            value => claims.extend(text(value).map(|text| (name.into(), text.into()))),
        }
    }
}

/// resource_access.CLIENT.roles of Keycloak has three.
const MAX_FLATTENED_LEVELS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jwt::strict_json::parse_object;

    #[test]
    fn lists_are_ambiguous_if_an_element_would_read_as_two_or_as_another() {
        for (roles, expected) in [
            (r#"["a", "admin"]"#, false),
            (r#"["a,admin"]"#, true),
            (r#"["a", ",admin"]"#, true),
            (r#"["a", " admin"]"#, true),
            (r#"["admin\t"]"#, true),
            (r#"["a b"]"#, false),
            (r#"[1, true]"#, false),
            (r#""a,admin""#, false),
            ("{}", false),
        ] {
            let claims = Claims::new(parse_object(format!(r#"{{"roles": {roles}}}"#).as_bytes()).unwrap());
            assert_eq!(claims.is_ambiguous("roles"), expected, "{roles}");
        }
        assert!(!Claims::default().is_ambiguous("roles"));
    }

    #[test]
    fn claims_are_found_by_their_paths_and_have_names_for_variables() {
        let text = r#"{"sub": "bob", "n": 1.5, "ok": true, "none": null, "groups": ["a", 2, ["x"], {"y": 1}],
            "https://example.com/roles": ["ops"], "a": {"b.c": {"d": "deep"}, "e": {}}, "a.b": "dots"}"#;
        let claims = Claims::new(parse_object(text.as_bytes()).unwrap());
        for (path, expected) in [
            ("sub", Some("bob")),
            ("n", Some("1.5")),
            ("ok", Some("true")),
            ("none", None),
            ("groups", Some("a,2")),
            ("https://example.com/roles", Some("ops")),
            ("a.b.c.d", Some("deep")),
            ("a.b", Some("dots")),
            ("a.e", None),
            ("a", None),
            ("sub.x", None),
            ("", None),
            (".", None),
        ] {
            assert_eq!(claims.text(path).as_deref(), expected, "{path}");
        }
        let mut flattened = claims.flattened();
        flattened.sort();
        let flattened: Vec<_> = flattened.iter().map(|(name, text)| (&**name, &**text)).collect();
        let expected = [
            ("a_b", "dots"),
            ("a_b_c_d", "deep"),
            ("groups", "a,2"),
            ("https___example_com_roles", "ops"),
            ("n", "1.5"),
            ("ok", "true"),
            ("sub", "bob"),
        ];
        assert_eq!(flattened, expected);
    }
}
