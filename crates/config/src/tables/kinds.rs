//! The kinds of tables a settings file has, and which keys belong to which.

use std::sync::LazyLock;

use crate::{
    diagnostics::names::{self, Telling},
    meaning::applications::AppTable,
    options::AcmeOptions,
    tables::{
        FromTable,
        handlers::{FilesTable, RedirectTable, RespondTable},
        nginx,
        root::RootTable,
        sites::{RouteTable, SiteTable},
        upstreams::{ProxyTable, UpstreamTable},
    },
};

/// A kind of table: how it is called, and its keys.
type Kind = (&'static str, fn() -> Vec<&'static str>);

/// All kinds.
const KINDS: [Kind; 10] = [
    ("the root, above the first [table]", RootTable::keys),
    ("[acme]", AcmeOptions::keys),
    ("an [[upstream]]", UpstreamTable::keys),
    ("a [[site]]", SiteTable::keys),
    ("a [[site.route]]", RouteTable::keys),
    ("`app`", AppTable::keys),
    ("`files`", FilesTable::keys),
    ("`proxy`", ProxyTable::keys),
    ("`redirect`", RedirectTable::keys),
    ("`respond`", RespondTable::keys),
];

/// The same with their keys, found out once.
static KEYS: LazyLock<Vec<(&str, Vec<&str>)>> = LazyLock::new(|| {
    let keys = KINDS.iter().map(|(name, keys)| (*name, keys()));
    keys.collect()
});

/// What is wrong with a key that is none of those a table knows.
pub(crate) fn unknown(key: &str, known: &[&str], telling: Telling) -> String {
    let homes = KEYS.iter().filter(|(_, keys)| keys.contains(&key)).map(|(name, _)| *name);
    let homes = homes.collect::<Vec<_>>().join(" or ");
    if homes.is_empty() {
        if let Some(counterpart) = nginx::counterpart(key) {
            return format!("unknown key `{0}`; nginx's {0} is {counterpart}", names::shown(key));
        }
        return names::unknown(key, known, telling);
    }
    let told = match telling {
        Telling::All if known.len() <= FEW => format!("there are {}; ", known.join(", ")),
        _ => String::new(),
    };
    format!("unknown key `{key}` here; {told}it belongs to {homes}")
}

/// Whether any table has such a key.
pub(crate) fn is_key(name: &str) -> bool {
    KEYS.iter().any(|(_, keys)| keys.contains(&name))
}

/// As many keys as can be named in passing.
const FEW: usize = 8;
