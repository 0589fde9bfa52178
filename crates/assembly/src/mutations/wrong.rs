//! Ways to make a right settings file wrong. Each knows by how it does it that the result is wrong, and nothing of the
//! reader; where a file offers no occasion, there is no result.

use super::{
    entries::{Entry, entries, replaced},
    random::Random,
};

/// A way to make a file wrong.
type Way = fn(&str, &mut Random) -> Option<String>;

/// All of them, and what is wrong then.
pub(super) const WAYS: [(&str, Way); 19] = [
    ("a letter of a key is another", letter_of_a_key),
    ("a key has an underscore", underscore),
    ("a value is a date", |text, random| other_value(text, random, |_| true, &["1979-05-27", "07:32:00"])),
    ("a value is a fraction", |text, random| other_value(text, random, |_| true, &["1.5", "nan", "-inf", "6.02e23"])),
    ("a value is a list of lists", |text, random| other_value(text, random, |_| true, &["[[\"a\"]]", "[[]]"])),
    ("a value is a table of nothing known", |text, random| other_value(text, random, |_| true, &["{ nothing = 1 }"])),
    ("a value is true", |text, random| other_value(text, random, |entry| !is_switch(entry), &["true", "false"])),
    ("a number is a word", |text, random| other_value(text, random, is_number, &["\"many\"", "\"\"", "\"-\""])),
    ("a number is beyond all bounds", |text, random| {
        other_value(text, random, is_number, &["-1", "18446744073709551616"])
    }),
    ("a value is missing", |text, random| other_value(text, random, |_| true, &["", "#", "=", "value"])),
    ("a unit is none", unit),
    ("a word is none", word),
    ("a bracket or a quotation mark is missing", bracket),
    ("a key is there twice", |text, random| doubled(text, random, |_| true)),
    ("a section is there twice", section_twice),
    ("what has to be there is not", required),
    ("a key is at the wrong place", moved),
    ("a line is nonsense", nonsense),
    ("what is named is not there", reference),
];

/// Keys whose value in the examples is on or off, and those that can be.
const SWITCHES: [&str; 22] = [
    "listing",
    "precompressed",
    "compress",
    "sendfile",
    "hidden",
    "reuse-port",
    "proxy-protocol",
    "tls",
    "sticky-fallback",
    "server-insecure",
    "retry-all-methods",
    "buffer-requests",
    "buffer-responses",
    "underscores-in-headers",
    "preload",
    "dev",
    "cache",
    "basic",
    "client-certificate",
    "forward-auth",
    "jwt",
    "login",
];

/// Keys that take one of some words only, and the words.
const WORDS: [(&str, &[&str]); 14] = [
    ("tls-versions", &["1.2", "1.3", "1.2-1.3"]),
    ("tls-client", &["required", "optional"]),
    ("tls-unknown-name", &["default", "refuse"]),
    ("http", &["both", "1", "2"]),
    ("log-level", &["off", "error", "warn", "info", "debug", "trace"]),
    ("listing", &["on", "off", "html", "json"]),
    ("symlinks", &["within", "owner", "all", "none"]),
    ("sendfile", &["on", "off"]),
    ("compress", &["on", "off", "br", "zstd", "gzip"]),
    ("balance", &["round-robin", "least-requests", "latency"]),
    ("sticky", &["off", "insert", "prefix", "rewrite"]),
    ("send-proxy", &["off", "v1", "v2"]),
    ("check", &["off", "tcp", "http", "grpc"]),
    ("forwarded", &["x", "standard", "both", "off"]),
];

/// Keys that the root, sites and routes have.
const ANYWHERE: [&str; 4] = ["access-log", "body-timeout", "listen", "max-body"];

fn is_switch(entry: &Entry<'_>) -> bool {
    SWITCHES.contains(&entry.key) || matches!(entry.value, "true" | "false")
}

fn is_number(entry: &Entry<'_>) -> bool {
    entry.value.bytes().all(|byte| byte.is_ascii_digit())
}

fn entry<'t>(text: &'t str, random: &mut Random, is_fit: impl Fn(&Entry<'_>) -> bool) -> Option<Entry<'t>> {
    let fit: Vec<_> = entries(text).into_iter().filter(is_fit).collect();
    random.choose(&fit).cloned()
}

fn other_value(
    text: &str,
    random: &mut Random,
    is_fit: impl Fn(&Entry<'_>) -> bool,
    values: &[&str],
) -> Option<String> {
    let entry = entry(text, random, is_fit)?;
    Some(replaced(text, entry.place, random.choose(values)?))
}

fn letter_of_a_key(text: &str, random: &mut Random) -> Option<String> {
    let entry = entry(text, random, |_| true)?;
    let mut key = entry.key.as_bytes().to_vec();
    let place = random.below(key.len());
    match random.below(4) {
        0 => drop(key.remove(place)),
        1 => key.insert(place, key[place]),
        2 => key[place] = b'a' + u8::try_from(random.below(26)).ok()?,
        _ => key.swap(place, (place + 1) % entry.key.len()),
    }
    let key = String::from_utf8(key).ok()?;
    // Some changes make another key of it, or none at all; the complete example has all keys.
    let is_key = super::EXAMPLES.iter().any(|text| entries(text).iter().any(|entry| entry.key == key));
    let others = ["site", "route", "files", "user", "group"];
    if is_key || others.contains(&key.as_str()) {
        return None;
    }
    Some(replaced(text, entry.line.start..entry.line.start + entry.key.len(), &key))
}

fn underscore(text: &str, random: &mut Random) -> Option<String> {
    let entry = entry(text, random, |entry| entry.key.contains('-'))?;
    let key = entry.key.replace('-', "_");
    Some(replaced(text, entry.line.start..entry.line.start + entry.key.len(), &key))
}

/// Durations and sizes get a unit that is none.
fn unit(text: &str, random: &mut Random) -> Option<String> {
    let is_fit = |entry: &Entry<'_>| {
        let text = entry.value.trim_matches('"');
        let unit = text.trim_start_matches(|character: char| character.is_ascii_digit());
        unit.len() < text.len() && matches!(unit, "ms" | "s" | "m" | "h" | "d" | "k" | "M" | "G")
    };
    let entry = entry(text, random, is_fit)?;
    let number = entry.value.trim_matches(|character: char| !character.is_ascii_digit());
    let units = ["sec", "min", "S", "D", "H", "w", "y", "us", "T", "TB", "Ki", "%", " s", "\u{b5}s", "-"];
    Some(replaced(text, entry.place, &format!("\"{number}{}\"", random.choose(&units)?)))
}

fn word(text: &str, random: &mut Random) -> Option<String> {
    let entry = entry(text, random, |entry| WORDS.iter().any(|(key, _)| *key == entry.key))?;
    let (_, words) = WORDS.iter().find(|(key, _)| *key == entry.key)?;
    let mut word = random.choose(words)?.to_string();
    match random.below(4) {
        0 => word.insert(random.below(word.len()), 'x'),
        1 => word.truncate(word.len() - 1),
        2 => word = word.to_uppercase(),
        _ => word.push(' '),
    }
    let is_word = words.contains(&word.as_str()) || (entry.key == "compress" && words.contains(&word.trim()));
    (!is_word).then(|| replaced(text, entry.place, &format!("\"{word}\"")))
}

/// Nothing else on these lines could stand for what is missing: their comments have neither brackets nor quotation
/// marks.
fn bracket(text: &str, random: &mut Random) -> Option<String> {
    let marks = ['[', ']', '{', '}', '"'];
    let is_quiet = |entry: &&Entry<'_>| !text[entry.place.end..entry.line.end].contains(marks);
    let mut places: Vec<_> = Vec::new();
    for entry in entries(text).iter().filter(is_quiet) {
        let mut is_quoted = false;
        for (place, character) in entry.value.char_indices() {
            // Within a text, brackets are letters as others.
            if character == '"' || (marks.contains(&character) && !is_quoted) {
                places.push(entry.place.start + place);
            }
            is_quoted ^= character == '"';
        }
    }
    let place = *random.choose(&places)?;
    Some(replaced(text, place..place + 1, ""))
}

fn doubled(text: &str, random: &mut Random, is_fit: impl Fn(&Entry<'_>) -> bool) -> Option<String> {
    let entry = entry(text, random, is_fit)?;
    Some(replaced(text, entry.line.end..entry.line.end, &text[entry.line]))
}

/// `[section]` and what is in it once more, behind itself.
fn section_twice(text: &str, random: &mut Random) -> Option<String> {
    let starts =
        text.match_indices("\n[").map(|(place, _)| place + 1).filter(|place| !text[*place..].starts_with("[["));
    let start = *random.choose(&starts.collect::<Vec<_>>())?;
    let end = text[start..].find("\n[").map_or(text.len(), |length| start + length + 1);
    Some(replaced(text, end..end, &text[start..end]))
}

fn required(text: &str, random: &mut Random) -> Option<String> {
    let keys = ["root", "path", "redirect", "respond", "proxy", "name", "servers"];
    // A route need not have a name.
    let is_of_route = |entry: &Entry<'_>| {
        let section = text[..entry.line.start].rsplit("\n[[").next();
        entry.key == "name" && section.is_some_and(|section| section.starts_with("site.route]]"))
    };
    let is_alone = |entry: &Entry<'_>| {
        (keys.contains(&entry.key) && !is_of_route(entry)) || (entry.key == "files" && !entry.is_at_root)
    };
    let entry = entry(text, random, is_alone)?;
    Some(replaced(text, entry.line, ""))
}

/// A key of the root in a site, or one of a site at the root.
fn moved(text: &str, random: &mut Random) -> Option<String> {
    let is_fit = |entry: &Entry<'_>| (!entry.is_at_root || text.contains("[[site]]")) && !ANYWHERE.contains(&entry.key);
    let entry = entry(text, random, is_fit)?;
    let line = &text[entry.line.clone()];
    if entry.is_at_root {
        return Some(format!("{}\n{line}", replaced(text, entry.line.clone(), "").trim_end()));
    }
    Some(format!("{line}{}", replaced(text, entry.line.clone(), "")))
}

fn nonsense(text: &str, random: &mut Random) -> Option<String> {
    let lines = [
        "= 5",
        "listen",
        "]",
        "[[",
        "\"x\"",
        "a = b",
        "a = 'b",
        "[a",
        "a = [1,,2]",
        "<xml/>",
        "listen :80;",
        "\u{1}",
        "# \u{0}",
        "# \u{7f}",
        "a.b.c",
        "a = \"\\q\"",
        "a = 1 b = 2",
        "[]",
        "[a]]",
        "a = 0x",
        "a = 1__0",
        "{}",
        "a = {b}",
    ];
    let places: Vec<_> = text.match_indices('\n').map(|(place, _)| place + 1).collect();
    let place = *random.choose(&places)?;
    Some(replaced(text, place..place, &format!("{}\n", random.choose(&lines)?)))
}

/// A file, a folder or a user that is not there.
fn reference(text: &str, random: &mut Random) -> Option<String> {
    let names = ["\"public\"", "\"app\"", "site.pem", "site.key", "other.pem", "other.key", "\"nobody\"", "\"root\""];
    let found: Vec<_> = names.iter().flat_map(|name| text.match_indices(name)).collect();
    let (place, name) = random.choose(&found)?;
    let end = place + name.trim_end_matches('"').len();
    let is_comment = text[..*place].rsplit('\n').next().is_some_and(|line| line.contains('#'));
    (!is_comment).then(|| replaced(text, end..end, "-is-not-there"))
}
