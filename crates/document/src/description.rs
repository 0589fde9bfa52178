//! The description of a key, made from the help of the option.

use serde_json::{Value, json};

/// Explains the keys of a schema to readers of the file.
pub fn explain(schema: &mut Value, is_key: fn(&str) -> bool) {
    match schema {
        Value::Object(entries) => {
            if let Some(text) = entries.get("description").and_then(Value::as_str).map(|text| of_key(text, is_key)) {
                entries.insert("description".to_owned(), json!(text));
            }
            entries.values_mut().for_each(|schema| explain(schema, is_key));
        }
        Value::Array(elements) => elements.iter_mut().for_each(|schema| explain(schema, is_key)),
        _ => (),
    }
}

/// The explanation of a key.
pub fn of_key(documentation: &str, is_key: fn(&str) -> bool) -> String {
    let paragraphs = documentation.split("\n\n").map(|lines| lines.split_whitespace().collect::<Vec<_>>().join(" "));
    let text = paragraphs.map(|paragraph| paragraph_of_key(&paragraph)).collect::<Vec<_>>().join("\n\n");
    keys_in_place_of_options(&text.replace("(repeatable", "(one, or several in an array"), is_key)
}

/// Defaults without a value stand in brackets.
fn paragraph_of_key(paragraph: &str) -> String {
    match paragraph.strip_suffix(']').and_then(|text| text.rsplit_once(" [default: ")) {
        Some((text, default)) => format!("{}. Default: {default}.", text.trim_end_matches('.')),
        None => paragraph.to_owned(),
    }
}

/// `--listen` is the key `listen`; options without a key stay.
fn keys_in_place_of_options(text: &str, is_key: fn(&str) -> bool) -> String {
    let mut parts = text.split("--");
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |character: char| matches!(character, 'a'..='z' | '0'..='9' | '-');
        let end = part.find(|character| !is_name(character)).unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        match is_key(name) {
            true => result.push_str(&format!("`{name}`{rest}")),
            false => result.push_str(&format!("--{part}")),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_keys() {
        for (text, expected) in [
            (
                "Where to listen (repeatable) [default: 8080]",
                "Where to listen (one, or several in an array). Default: 8080.",
            ),
            ("A line\nthat goes on.\n\nAnother.", "A line that goes on.\n\nAnother."),
            ("Where --tls-client-ca is given, not --json.", "Where `tls-client-ca` is given, not --json."),
            ("curl --http2-prior-knowledge", "curl --http2-prior-knowledge"),
        ] {
            assert_eq!(of_key(text, |key| matches!(key, "listen" | "tls-client-ca")), expected);
        }
    }
}
