//! The settings that were meant by values of another form.

use serow_document::{Place, Problem, Table};
use toml::de::DeValue;

/// The table to write in the place of a text; `main` says the most in it.
pub fn table_of_text(key: &str, main: &str, text: &str) -> String {
    match key {
        // A server has a port or a scheme, or it is an address; an upstream has a name.
        "proxy" if text.contains([':', '/', '.']) => format!("write {{ servers = {text:?} }}"),
        "app" if text.trim().contains(char::is_whitespace) => format!("write {{ command = {:?} }}", words(text)),
        _ => format!("write {{ {main} = {text:?} }}"),
    }
}

/// The table to write in the place of a number: that of a port of this machine, or of a status.
pub fn table_of_number(key: &str, main: &str, number: &str) -> String {
    match key {
        "proxy" => format!("write {{ servers = \"127.0.0.1:{number}\" }}"),
        _ => format!("write {{ {main} = {number} }}"),
    }
}

/// A command in its words, as they stand in an array.
pub fn words(command: &str) -> Vec<&str> {
    command.split_whitespace().collect()
}

/// A problem with the value of a key in this table, with what to write, where that is known.
pub fn explained(problem: Problem, table: &Table<'_>, place: &Place) -> Problem {
    let instead = problem.place().and_then(|wrong| {
        let key = wrong.key_below(place)?;
        let last = wrong.last_key()?;
        let mut value = table.get(key)?.get_ref();
        if last != key {
            value = value.as_table()?.get(last)?.get_ref();
        }
        Some((wrong.clone(), instead(last, value)?))
    });
    instead.map_or(problem, |(place, text)| Problem::of_value(place, text))
}

fn instead(key: &str, value: &DeValue<'_>) -> Option<String> {
    match (key, value) {
        ("spa", DeValue::Boolean(true)) => Some("write the page, as in spa = \"index.html\"".to_owned()),
        ("not-found", DeValue::Boolean(true)) => Some("write the page, as in not-found = \"404.html\"".to_owned()),
        ("default-ttl", DeValue::String(time)) => {
            Some(format!("write a time for each status, as in default-ttl = {{ \"200\" = {time:?} }}"))
        }
        _ => None,
    }
}
