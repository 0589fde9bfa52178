//! The value of the settings that a label means.

use toml_edit::Value;

/// The value that a label means: a number, a switch, a list or a table in TOML, or the text itself.
///
/// # Errors
///
/// It is too long, or would lead to the environment of the server.
pub(crate) fn meant(text: &str) -> Result<Value, String> {
    if text.len() > MAX_LENGTH {
        return Err(format!("it is longer than {MAX_LENGTH} bytes"));
    }
    let parsed = text.trim().parse::<Value>().ok();
    let mut value = parsed.filter(|value| !value.is_datetime()).unwrap_or_else(|| text.into());
    // Comments and line breaks around it.
    value.decor_mut().clear();
    if names_environment(&value) { Err("it may not name variables with ${…}".to_owned()) } else { Ok(value) }
}

/// Whether a text in a value, whatever its escapes are, has what the settings replace by variables of the environment: the
/// server has secrets there.
fn names_environment(value: &Value) -> bool {
    match value {
        Value::String(text) => text.value().contains("${"),
        Value::Array(values) => values.iter().any(names_environment),
        Value::InlineTable(table) => table.iter().any(|(key, value)| key.contains("${") || names_environment(value)),
        _ => false,
    }
}

/// Bytes of the value of a label.
const MAX_LENGTH: usize = 2000;

#[cfg(test)]
mod tests {
    use toml_edit::DocumentMut;

    use super::*;

    #[test]
    fn values_of_labels_are_values_of_toml_and_nothing_else() {
        for (label, expected) in [
            ("10M", r#""10M""#),
            ("7", "7"),
            ("true", "true"),
            (r#"["a", "b"]"#, r#"["a", "b"]"#),
            (r#"{ X-A = "b" }"#, r#"{ X-A = "b" }"#),
            ("7 # x", r#""7 # x""#),
            ("2026-01-01", r#""2026-01-01""#),
            ("", r#""""#),
        ] {
            assert_eq!(meant(label).unwrap().to_string(), expected, "{label:?}");
        }
        for label in ["a\"\n[[site]]\nhosts = [\"*\"]", "7\n[[site]]", "\"a\"\napp = \"sh\"", "\u{1}", "'''\"\"\"\\"] {
            let written = format!("key = {}\n", meant(label).unwrap());
            let read: DocumentMut = written.parse().unwrap();
            assert_eq!((read.iter().count(), read["key"].as_str()), (1, Some(label)), "{written}");
        }
    }

    #[test]
    fn the_environment_of_the_server_is_not_for_labels() {
        for label in
            ["${SECRET}", "a${", r#"["${A}"]"#, r#""\u0024{SECRET}""#, r#"{ a = ["\u0024{A}"] }"#, r#"{ "${A}" = 1 }"#]
        {
            assert!(meant(label).is_err(), "{label}");
        }
        assert!(meant(&"x".repeat(2001)).is_err());
        assert!(meant("$host").is_ok());
    }
}
