//! The kinds of tables a settings file has, and which keys belong to which.

use std::sync::LazyLock;

use serow_document::names::{self, Telling};

use crate::{
    options::AcmeOptions,
    tables::{
        FromTable,
        access::LimitTable,
        applications::AppTable,
        cgi::CgiTable,
        handlers::{FilesTable, RedirectTable, RespondTable},
        maps::MapTable,
        matching::WhenTable,
        nginx, other_servers,
        php::PhpTable,
        root::RootTable,
        sites::{RouteTable, SiteTable},
        upstreams::{ProxyTable, UpstreamTable},
    },
};

/// A kind of table: how it is called, and its keys.
type Kind = (&'static str, fn() -> Vec<&'static str>);

/// All kinds.
const KINDS: [Kind; 15] = [
    ("the root, above the first [table]", RootTable::keys),
    ("[acme]", AcmeOptions::keys),
    ("a [[limit]]", LimitTable::keys),
    ("a [[map]]", MapTable::keys),
    ("an [[upstream]]", UpstreamTable::keys),
    ("a [[site]]", SiteTable::keys),
    ("a [[site.route]]", RouteTable::keys),
    ("`when`", WhenTable::keys),
    ("`app`", AppTable::keys),
    ("`cgi`", CgiTable::keys),
    ("`files`", FilesTable::keys),
    ("`php`", PhpTable::keys),
    ("`proxy`", ProxyTable::keys),
    ("`redirect`", RedirectTable::keys),
    ("`respond`", RespondTable::keys),
];

/// The same with their keys, found out once.
static KEYS: LazyLock<Vec<(&str, Vec<&str>)>> = LazyLock::new(|| {
    let keys = KINDS.iter().map(|(name, keys)| (*name, keys()));
    keys.collect()
});

/// The error about a key that is none of those that a table knows.
pub fn unknown(key: &str, known: &[&str], telling: Telling) -> String {
    if key == "workers" && known.contains(&"processes") {
        return "unknown key `workers` here; the number of workers of an application is `processes`".to_owned();
    }
    let homes = homes(key);
    if homes.is_empty() {
        return unknown_everywhere(key, known, telling);
    }
    let told = match telling {
        Telling::All if known.len() <= FEW => format!("there are {}; ", known.join(", ")),
        _ => String::new(),
    };
    format!("unknown key `{key}` here; {told}it belongs to {homes}")
}

/// The error about a key that no table knows.
fn unknown_everywhere(key: &str, known: &[&str], telling: Telling) -> String {
    let shown = names::shown(key);
    if let Some(counterpart) = nginx::counterpart(key) {
        return format!("unknown key `{shown}`; nginx's {shown} is {counterpart}");
    }
    // nginx's spelling of a key of another table.
    let usual = key.to_lowercase().replace('_', "-");
    let homes = homes(&usual);
    if !homes.is_empty() && !known.contains(&usual.as_str()) {
        return format!("unknown key `{shown}`; `{usual}` belongs to {homes}");
    }
    if let Some(counterpart) = other_servers::counterpart(key) {
        return format!("unknown key `{shown}`; write {counterpart}");
    }
    names::unknown(key, known, telling)
}

/// The tables that have such a key.
fn homes(key: &str) -> String {
    let homes = KEYS.iter().filter(|(_, keys)| keys.contains(&key)).map(|(name, _)| *name);
    homes.collect::<Vec<_>>().join(" or ")
}

/// Whether any table has such a key.
pub fn is_key(name: &str) -> bool {
    KEYS.iter().any(|(_, keys)| keys.contains(&name))
}

/// As many keys as can be named in passing.
const FEW: usize = 8;
