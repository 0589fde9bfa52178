//! The resources to request: URLs with words behind them, `https://a/script.js,u=1,after=10s`.

use std::{error::Error, fmt, time::Duration};

use serow_client::{Origin, OriginError};
use serow_message::Priority;

/// A resource to request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceSpec {
    /// The path with its query.
    pub path: String,
    /// Its priority; `None` for the default.
    pub priority: Option<Priority>,
    /// When it is asked for, from the beginning.
    pub after: Duration,
    /// The later changes of its priority, in order.
    pub changes: Vec<Change>,
}

/// Another priority for what has been asked for (RFC 9218 §7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// From the beginning; never before the request.
    pub at: Duration,
    /// From then on.
    pub priority: Priority,
}

/// The error for a text that is not a resource spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResourceSpecError {
    /// The URL is none.
    Url(OriginError),
    /// The first one has no server.
    NoServer(String),
    /// It is of another server than the first.
    OtherServer {
        /// The URL.
        url: String,
        /// Of the first.
        origin: String,
    },
    /// A word behind the URL is none.
    Word {
        /// The word.
        word: String,
        /// Why it is invalid.
        problem: &'static str,
    },
}

/// Reads URLs with words behind them. All are of one server; from the second on a path is enough.
///
/// | word | what |
/// | --- | --- |
/// | `u=0` … `u=7` | how urgent: 0 is the most, 3 the default (RFC 9218 §4.1) |
/// | `i` | of use while it comes, so that it may share with others (RFC 9218 §4.2) |
/// | `after=TIME` | asked for so long after the beginning |
/// | `at=TIME` | the following priority is sent at this time, after the request |
///
/// A comma of the URL itself is written `%2C` where what follows it looks like a word.
///
/// ```
/// use serow_load::waterfall::read_resource_specs;
///
/// let (origin, specs) = read_resource_specs(["https://a/picture.png,u=5,at=10s,u=2", "/script.js,u=1,after=500ms"])?;
/// assert_eq!(origin.to_string(), "https://a");
/// assert_eq!(specs[1].path, "/script.js");
/// # Ok::<(), serow_load::waterfall::ResourceSpecError>(())
/// ```
///
/// # Errors
///
/// A text that is not a URL, or has unknown words; a path before any server; several servers.
///
/// # Panics
///
/// Where there is no text at all.
pub fn read_resource_specs<'a>(
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<(Origin, Vec<ResourceSpec>), ResourceSpecError> {
    let mut texts = texts.into_iter().map(split);
    let (first, words) = texts.next().expect("there is a text");
    if first.starts_with('/') {
        return Err(ResourceSpecError::NoServer(first.to_owned()));
    }
    let (origin, path) = Origin::of_url(first).map_err(ResourceSpecError::Url)?;
    let mut specs = vec![resource_spec(path, &words)?];
    for (url, words) in texts {
        let path = if url.starts_with('/') {
            Origin::of_url(&format!("{origin}{url}")).map_err(ResourceSpecError::Url)?.1
        } else {
            let (other, path) = Origin::of_url(url).map_err(ResourceSpecError::Url)?;
            if other != origin {
                return Err(ResourceSpecError::OtherServer { url: url.to_owned(), origin: origin.to_string() });
            }
            path
        };
        specs.push(resource_spec(path, &words)?);
    }
    Ok((origin, specs))
}

/// The URL, and the words behind it.
fn split(text: &str) -> (&str, Vec<&str>) {
    let (mut url, mut words) = (text, Vec::new());
    while let Some((before, word)) = url.rsplit_once(',').filter(|(_, word)| is_word(word)) {
        words.insert(0, word);
        url = before;
    }
    (url, words)
}

/// Whether a text behind a comma is meant as a word: a name, perhaps with a value. Those that are none of ours are
/// wrong rather than a part of the URL, so that slips are noticed.
fn is_word(text: &str) -> bool {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase());
    is_name && (text == "i" || text.contains('=')) && !value.contains('/')
}

fn resource_spec(path: String, words: &[&str]) -> Result<ResourceSpec, ResourceSpecError> {
    let mut spec = ResourceSpec { path, priority: None, after: Duration::ZERO, changes: Vec::new() };
    let mut priority = None;
    let mut at = None;
    for word in words {
        let error = |problem| ResourceSpecError::Word { word: (*word).to_owned(), problem };
        let said = || priority.unwrap_or_default();
        match word.split_once('=').unwrap_or((word, "")) {
            ("u", urgency) => priority = Some(Priority { urgency: digit(urgency).ok_or(error(URGENCIES))?, ..said() }),
            ("i", "" | "?1") => priority = Some(Priority { incremental: true, ..said() }),
            ("i", "?0") => priority = Some(Priority { incremental: false, ..said() }),
            ("after", _) if at.is_some() => return Err(error("behind at=; it belongs before that")),
            ("after", time) => spec.after = duration(time).ok_or(error(TIMES))?,
            ("at", time) => {
                let moment = duration(time).ok_or(error(TIMES))?;
                note(&mut spec, at, priority);
                if moment <= at.unwrap_or(spec.after) {
                    return Err(error("no later than what stands before it"));
                }
                at = Some(moment);
            }
            _ => return Err(error(WORDS)),
        }
    }
    note(&mut spec, at, priority);
    Ok(spec)
}

/// Adds a priority: of the request, or of a later change.
fn note(spec: &mut ResourceSpec, at: Option<Duration>, priority: Option<Priority>) {
    match (at, priority) {
        (None, _) => spec.priority = priority,
        (Some(at), Some(priority)) => spec.changes.push(Change { at, priority }),
        (Some(_), None) => {}
    }
}

fn digit(text: &str) -> Option<u8> {
    text.parse().ok().filter(|urgency| text.len() == 1 && *urgency <= Priority::BACKGROUND)
}

/// `10s`, `0.2s`, `500ms`, `2m`; without a unit in seconds.
fn duration(text: &str) -> Option<Duration> {
    let end = text.find(|character: char| !matches!(character, '0'..='9' | '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok()? * factor;
    (seconds <= LONGEST).then(|| Duration::from_nanos((seconds * 1e9).round() as u64))
}

impl fmt::Display for ResourceSpecError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(error) => error.fmt(formatter),
            Self::NoServer(url) => {
                write!(formatter, "{url:?} has no server: write it in front, as in https://example.com{url}")
            }
            Self::OtherServer { url, origin } => {
                write!(formatter, "{url:?} is of another server than {origin}; all are fetched over one connection")
            }
            Self::Word { word, problem } => write!(formatter, "{word:?} is {problem}"),
        }
    }
}

impl Error for ResourceSpecError {}

const URGENCIES: &str = "not one of u=0 (most urgent) to u=7";
const TIMES: &str = "without a time: write one of up to a day, as in 500ms 0.2s 10s 1m";
const WORDS: &str = "not one of u=0…7, i, after=TIME, at=TIME; if it belongs to the URL, write its comma as %2C";

/// A day, in seconds: whoever writes more has mistaken the unit.
const LONGEST: f64 = 24.0 * 60.0 * 60.0;

#[cfg(test)]
mod tests;
