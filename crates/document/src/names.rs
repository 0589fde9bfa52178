//! Unknown names, and suggestions for them.

/// Whether a message lists the known keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// All, where none is near.
    All,
    /// The near one, if there is one.
    Near,
}

/// The error message for a key that is not one of these.
pub fn unknown(key: &str, known: &[&str], telling: Telling) -> String {
    match (near(key, known), telling) {
        (Some(name), _) => format!("unknown key `{}`; did you mean `{name}`?", shown(key)),
        (None, Telling::All) if known.len() <= LISTED => {
            format!("unknown key `{}`; there are {}", shown(key), known.join(", "))
        }
        (None, Telling::All) => {
            let mut nearest = known.to_vec();
            nearest.sort_by_cached_key(|name| strsim::osa_distance(key, name));
            let nearest = nearest.get(..NEAREST).unwrap_or_default().join(", ");
            format!("unknown key `{}`; the nearest are {nearest}; 'serow reference' explains all", shown(key))
        }
        (None, Telling::Near) => format!("unknown key `{}`", shown(key)),
    }
}

/// The most keys that a message lists, and how many of more.
const LISTED: usize = 8;
const NEAREST: usize = 5;

/// The name that was meant, if one is near enough.
pub fn near<'n>(key: &str, known: &[&'n str]) -> Option<&'n str> {
    let key = key.to_lowercase().replace('_', "-");
    let distances = known.iter().map(|name| (strsim::osa_distance(&key, name), *name));
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    // Every third letter may be wrong; beyond, names only look alike because they are short.
    (distance <= name.len().div_ceil(3)).then_some(name)
}

/// A key on one line, and short enough to be read.
pub fn shown(key: &str) -> String {
    let longest = 60;
    let short: String = key.chars().take(longest).flat_map(char::escape_debug).collect();
    if key.chars().count() > longest { format!("{short}…") } else { short }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_near_one_is_suggested() {
        let known = ["head-timeout", "idle-timeout", "listen", "tls", "max-body"];
        for (key, expected) in [
            ("head-timout", Some("head-timeout")),
            ("head_timeout", Some("head-timeout")),
            ("HeadTimeout", Some("head-timeout")),
            ("idle", None),
            ("listne", Some("listen")),
            ("lsiten", Some("listen")),
            ("tsl", Some("tls")),
            ("ssl", None),
            ("body-max", None),
            ("", None),
        ] {
            assert_eq!(near(key, &known), expected, "{key}");
        }
        assert_eq!(near("a", &[]), None);
    }

    #[test]
    fn of_many_keys_the_nearest_five_are_listed() {
        let known = ["listen", "workers", "user", "group", "tls", "admin", "include", "sandbox", "backlog"];
        let text = unknown("lasting-logs", &known, Telling::All);
        let list = text.strip_prefix("unknown key `lasting-logs`; the nearest are ").unwrap();
        let (list, _) = list.split_once("; 'serow reference' explains all").unwrap();
        assert_eq!(list.split(", ").count(), 5, "{text}");
        assert!(
            unknown("lasting-logs", &known[1..], Telling::All)
                .ends_with("there are workers, user, group, tls, admin, include, sandbox, backlog")
        );
    }

    #[test]
    fn keys_are_shown_on_one_line_and_shortened() {
        assert_eq!(unknown("a\n\u{1b}", &["listen"], Telling::All), r"unknown key `a\n\u{1b}`; there are listen");
        assert!(unknown(&"x".repeat(1000), &[], Telling::Near).len() < 120);
    }
}
