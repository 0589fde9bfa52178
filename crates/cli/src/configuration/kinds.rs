//! The kinds of tables a settings file has, and which keys belong to which.

use super::{
    handlers::{FilesTable, RedirectTable, RespondTable},
    names,
    root::RootTable,
    sites::{RouteTable, SiteTable},
    tables::FromTable,
};

/// A kind of table: how it is called, and its keys.
type Kind = (&'static str, fn() -> Vec<&'static str>);

/// All kinds.
const KINDS: [Kind; 6] = [
    ("the root, above the first [table]", RootTable::keys),
    ("a [[site]]", SiteTable::keys),
    ("a [[site.route]]", RouteTable::keys),
    ("`files`", FilesTable::keys),
    ("`redirect`", RedirectTable::keys),
    ("`respond`", RespondTable::keys),
];

/// What is wrong with a key that is none of those a table knows.
pub(super) fn unknown(key: &str, known: &[&str]) -> String {
    let homes = KINDS.iter().filter(|(_, keys)| keys().contains(&key)).map(|(name, _)| *name);
    let homes = homes.collect::<Vec<_>>().join(" or ");
    match (homes.is_empty(), known.len() <= FEW) {
        (true, _) => names::unknown(key, known),
        (false, true) => format!("{}; `{key}` belongs to {homes}", names::none_of(key, known)),
        (false, false) => format!("unknown key `{key}` here; it belongs to {homes}"),
    }
}

/// As many keys as can be named in passing.
const FEW: usize = 8;
