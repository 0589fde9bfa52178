//! Contents of the cache: the question of `serow cache`, and the answer for programs and people.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serow_config::printable::on_one_line;
use serow_site::{CacheStore, ContentsLine, ContentsOrder};

use super::{
    cache,
    purge_command::NO_CACHE,
    table,
    units::{bytes, count},
};

/// The question what a cache holds: as JSON, what a master sends to its generation.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct CacheInquiry {
    /// By what it is listed.
    #[serde(rename = "cache-by")]
    pub by: CacheOrder,
}

/// By what the contents of a cache are listed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum CacheOrder {
    /// The URLs that take the most memory.
    Largest,
    /// The URLs that were requested most.
    Requested,
    /// The hosts that take the most memory.
    Host,
    /// The tags that the most responses have.
    Tag,
}

impl CacheInquiry {
    /// Reads the query of a request.
    pub(super) fn read(query: Option<&str>) -> Result<Self, &'static str> {
        let by = match query.unwrap_or_default() {
            "" | "by=largest" => CacheOrder::Largest,
            "by=requested" => CacheOrder::Requested,
            "by=host" => CacheOrder::Host,
            "by=tag" => CacheOrder::Tag,
            _ => return Err("write ?by=largest, ?by=requested, ?by=host or ?by=tag"),
        };
        Ok(Self { by })
    }

    /// The path that asks for it.
    pub(super) fn path(self) -> &'static str {
        match self.by {
            CacheOrder::Largest => "/cache?by=largest",
            CacheOrder::Requested => "/cache?by=requested",
            CacheOrder::Host => "/cache?by=host",
            CacheOrder::Tag => "/cache?by=tag",
        }
    }

    /// The answer, in JSON.
    ///
    /// # Errors
    ///
    /// There is no cache; one line.
    pub fn answer(self, store: Option<&CacheStore>) -> Result<String, String> {
        let Some(store) = store else { return Err(NO_CACHE.to_owned()) };
        let order = match self.by {
            CacheOrder::Largest => ContentsOrder::Largest,
            CacheOrder::Requested => ContentsOrder::Requested,
            CacheOrder::Host => ContentsOrder::Host,
            CacheOrder::Tag => ContentsOrder::Tag,
        };
        let line = |line: ContentsLine| {
            let ContentsLine { name, responses, bytes, requests } = line;
            json!({ "name": name, "responses": responses, "bytes": bytes, "requests": requests })
        };
        let list: Vec<_> = store.contents(order, MAX_LINES).into_iter().map(line).collect();
        let answer = json!({ "cache": cache::document(Some(&store.report())), "by": self.by, "list": list });
        Ok(format!("{answer:#}"))
    }
}

/// The answer for people; nothing where it is not one.
pub(super) fn table(answer: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(answer).ok()?;
    let by: CacheOrder = serde_json::from_value(answer["by"].clone()).ok()?;
    let lines = cache::lines(&answer);
    let width = lines.iter().map(|(name, _)| name.len()).max()?;
    let lines: String = lines.iter().map(|(name, text)| format!("{name:width$}  {text}\n")).collect();
    let list = answer["list"].as_array().filter(|list| !list.is_empty());
    let heading = match by {
        CacheOrder::Largest | CacheOrder::Requested => "URL",
        CacheOrder::Host => "host",
        CacheOrder::Tag => "tag",
    };
    let mut rows = vec![[heading, "responses", "size", "requests"].map(str::to_owned)];
    rows.extend(list.into_iter().flatten().map(|line| {
        let size = line["bytes"].as_u64().map_or_else(String::new, bytes);
        let name = on_one_line(line["name"].as_str().unwrap_or_default());
        let requests = line["requests"].as_u64().map_or_else(String::new, count);
        [name, count(line["responses"].as_u64().unwrap_or(0)), size, requests]
    }));
    let table = if rows.len() > 1 { format!("\n{}", table::lines(&rows, 1).concat()) } else { String::new() };
    Some(lines + &table)
}

/// As many lines as fit on a screen.
const MAX_LINES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_paths_and_json() {
        for by in [CacheOrder::Largest, CacheOrder::Requested, CacheOrder::Host, CacheOrder::Tag] {
            let inquiry = CacheInquiry { by };
            let (_, query) = inquiry.path().split_once('?').unwrap();
            assert_eq!(CacheInquiry::read(Some(query)), Ok(inquiry));
            let json = serde_json::to_value(inquiry).unwrap();
            assert_eq!(CacheInquiry::deserialize(&json).unwrap(), inquiry);
        }
        assert!(CacheInquiry::read(Some("by=size")).is_err());
        assert_eq!(CacheInquiry::read(None), Ok(CacheInquiry { by: CacheOrder::Largest }));
    }

    #[test]
    fn contents_as_a_table() {
        let name = "https://example.com/a\n";
        let list = json!([
            { "name": name, "responses": 2, "bytes": 2048, "requests": 7 },
            { "name": "http://b/", "responses": 1000, "bytes": 1, "requests": 1500 },
        ]);
        let answer = json!({ "cache": cache::document(Some(&cache::example())), "by": "largest", "list": list });
        let table = table(&answer.to_string()).unwrap();
        assert!(table.starts_with("cache       1,234 responses, 5.0 MiB of 64.0 MiB\n"), "{table}");
        assert!(table.contains("https://example.com/a"), "{table}");
        let last: Vec<_> = table.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(last, ["http://b/", "1,000", "1", "B", "1,500"], "{table}");
        assert_eq!(super::table("{}"), None);
    }

    #[test]
    fn an_empty_cache_has_no_table() {
        let store = CacheStore::in_memory(1 << 20, 1 << 10);
        let inquiry = CacheInquiry { by: CacheOrder::Tag };
        let table = table(&inquiry.answer(Some(&store)).unwrap()).unwrap();
        assert!(
            table.starts_with("cache       0 responses, 0 B of 1.0 MiB\n") && table.lines().count() == 3,
            "{table}"
        );
        assert!(inquiry.answer(None).unwrap_err().starts_with("the server has no cache"));
    }
}
