//! Commands that purge the cache.

use std::fmt;

use serde::{Deserialize, Serialize};
use serow_cache::{PurgeTarget, WrittenUris};
use serow_site::CacheStore;

use super::units::count;

/// Purges the cache: as JSON, the body of a POST to `/purge`.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PurgeCommand {
    /// The responses to purge.
    pub purge: PurgedResponses,
    /// Whether responses become stale instead of being removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub soft: bool,
}

/// The responses that a command purges.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum PurgedResponses {
    /// The responses of this URL.
    Url(String),
    /// Those of all URLs that begin so.
    Prefix(String),
    /// Those with this tag.
    Tag(String),
    /// All.
    All,
}

impl PurgeCommand {
    /// Reads a command from JSON, or returns what is wrong with the text.
    pub(crate) fn read(json: &[u8]) -> Result<Self, String> {
        let command: Self = serde_json::from_slice(json)
            .map_err(|error| format!("invalid command ({error}); write it as in {EXAMPLES}"))?;
        command.check()?;
        Ok(command)
    }

    /// Whether it names something that can be purged.
    ///
    /// # Errors
    ///
    /// Says what is wrong, and what to write; one line.
    pub fn check(&self) -> Result<(), String> {
        match &self.purge {
            PurgedResponses::Url(text) | PurgedResponses::Prefix(text) => uris(text).map(drop),
            PurgedResponses::Tag(name) => tag(name).map(drop),
            PurgedResponses::All => Ok(()),
        }
    }

    /// Applies it; returns what was done, in a line.
    ///
    /// # Errors
    ///
    /// There is no cache, or the command is wrong; one line.
    pub fn apply(&self, cache: Option<&CacheStore>) -> Result<String, String> {
        let Some(cache) = cache else { return Err(NO_CACHE.to_owned()) };
        let purge = |target| cache.purge(target, self.soft).unwrap_or_default();
        let purged = match &self.purge {
            PurgedResponses::Url(text) => uris(text)?.iter().map(|uri| purge(PurgeTarget::Uri(uri))).sum(),
            PurgedResponses::Prefix(text) => uris(text)?.iter().map(|uri| purge(PurgeTarget::Prefix(uri))).sum(),
            PurgedResponses::All => purge(PurgeTarget::Everything),
            PurgedResponses::Tag(name) => {
                purge(PurgeTarget::Tag(tag(name)?));
                let done = if self.soft { "made stale" } else { "removed" };
                return Ok(format!("responses with the tag {name:?} were {done}"));
            }
        };
        let responses =
            if purged == 1 { "1 response".to_owned() } else { format!("{} responses", count(purged as u64)) };
        let hint = if purged == 0 { self.purge.hint() } else { "" };
        Ok(format!("{responses} {}{hint}", if self.soft { "made stale" } else { "removed" }))
    }
}

impl PurgedResponses {
    /// A hint at the part that a URL may lack for which there is nothing.
    fn hint(&self) -> &'static str {
        match self {
            Self::Url(text) | Self::Prefix(text) if !names_port(text) => PORT,
            _ => "",
        }
    }
}

/// Whether a URL has a port.
fn names_port(url: &str) -> bool {
    let behind_scheme = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = behind_scheme.split('/').next().unwrap_or_default();
    authority.rsplit(']').next().is_some_and(|end| end.contains(':'))
}

/// Clients send the port as a part of the host, unless it is that of the scheme.
const PORT: &str = "; a URL has the port that clients name in it, as in http://example.com:8080/page";

fn uris(text: &str) -> Result<WrittenUris, String> {
    WrittenUris::parse(text).map_err(|error| error.to_string())
}

/// The name of a tag, as responses can have it.
fn tag(name: &str) -> Result<&[u8], String> {
    let is_in_fields = !name.is_empty() && name.trim() == name && !name.contains(char::is_control);
    let why = "is not a tag: write one as in the field Surrogate-Key, xkey or Cache-Tag of responses";
    if is_in_fields { Ok(name.as_bytes()) } else { Err(format!("{name:?} {why}")) }
}

/// As in the audit log. Texts of the caller are in quotes: a line break in one must not begin a line of the log.
impl fmt::Display for PurgeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.purge {
            PurgedResponses::Url(text) => write!(f, "purge url={text:?}")?,
            PurgedResponses::Prefix(text) => write!(f, "purge prefix={text:?}")?,
            PurgedResponses::Tag(text) => write!(f, "purge tag={text:?}")?,
            PurgedResponses::All => f.write_str("purge all")?,
        }
        f.write_str(if self.soft { " soft" } else { "" })
    }
}

const EXAMPLES: &str =
    r#"{"purge":{"url":"https://example.com/a"}}, with prefix or tag in place of url, or {"purge":"all","soft":true}"#;

/// For commands about a cache that is not there.
pub(super) const NO_CACHE: &str =
    "the server has no cache: write [cache] into the settings file, or start it with --cache, as in --cache 256M";

#[cfg(test)]
mod tests {
    use super::*;

    const WITHOUT_PORT: &str =
        "0 responses removed; a URL has the port that clients name in it, as in http://example.com:8080/page";

    #[test]
    fn commands_purge_or_say_why_not() {
        let store = CacheStore::in_memory(1 << 20, 1 << 10);
        for (json, expected) in [
            (r#"{"purge":"all"}"#, Ok("0 responses removed")),
            (r#"{"purge":"all","soft":true}"#, Ok("0 responses made stale")),
            (r#"{"purge":{"url":"https://Example.com/a"}}"#, Ok(WITHOUT_PORT)),
            (r#"{"purge":{"url":"https://[::1]/a"}}"#, Ok(WITHOUT_PORT)),
            (r#"{"purge":{"url":"https://[::1]:8443/a"}}"#, Ok("0 responses removed")),
            (r#"{"purge":{"url":"example.com:8080/a:b"}}"#, Ok("0 responses removed")),
            (r#"{"purge":{"prefix":"example.com"},"soft":false}"#, Ok(WITHOUT_PORT)),
            (r#"{"purge":{"tag":"product-1"}}"#, Ok("responses with the tag \"product-1\" were removed")),
            (
                r#"{"purge":{"tag":"two words"},"soft":true}"#,
                Ok("responses with the tag \"two words\" were made stale"),
            ),
            (r#"{"purge":{"url":"https://a/#b"}}"#, Err("\"https://a/#b\" has a fragment")),
            (r#"{"purge":{"prefix":"/a"}}"#, Err("\"/a\" has no valid host")),
            (r#"{"purge":{"tag":""}}"#, Err("\"\" is not a tag: write one")),
            (r#"{"purge":{"tag":" a"}}"#, Err("\" a\" is not a tag")),
            (r#"{"purge":{"tag":"a\nb"}}"#, Err("\"a\\nb\" is not a tag")),
            (r#"{"purge":"everything"}"#, Err("invalid command (")),
            (r#"{"purge":{"url":"a","tag":"b"}}"#, Err("invalid command (")),
            (r#"{"purge":"all","hard":true}"#, Err("invalid command (")),
            (r#"{}"#, Err("invalid command (")),
            ("", Err("invalid command (")),
        ] {
            let done = PurgeCommand::read(json.as_bytes()).and_then(|command| command.apply(Some(&store)));
            match (&done, expected) {
                (Ok(done), Ok(expected)) => assert_eq!(done, expected, "{json}"),
                (Err(reason), Err(expected)) => assert!(reason.starts_with(expected), "{json}: {reason}"),
                (done, _) => panic!("{json}: {done:?}"),
            }
        }
        let without = PurgeCommand { purge: PurgedResponses::All, soft: false };
        assert!(without.apply(None).unwrap_err().starts_with("the server has no cache: write [cache]"));
    }

    #[test]
    fn commands_stay_the_same_as_json() {
        for json in [
            r#"{"purge":{"url":"https://example.com/a"}}"#,
            r#"{"purge":{"prefix":"example.com"},"soft":true}"#,
            r#"{"purge":{"tag":"a"}}"#,
            r#"{"purge":"all"}"#,
        ] {
            let command = PurgeCommand::read(json.as_bytes()).unwrap();
            assert_eq!(serde_json::to_string(&command).unwrap(), json);
        }
    }

    #[test]
    fn text_of_the_caller_stays_on_its_line() {
        let command = |purge| PurgeCommand { purge, soft: true }.to_string();
        assert_eq!(command(PurgedResponses::Url("a\nb".to_owned())), r#"purge url="a\nb" soft"#);
        assert_eq!(command(PurgedResponses::Tag("a\nERROR".to_owned())), r#"purge tag="a\nERROR" soft"#);
        assert_eq!(command(PurgedResponses::All), "purge all soft");
    }
}
