//! `split_clients` and `geo`: values of shares of all texts, and of networks.

use std::{collections::HashSet, net::Ipv4Addr};

use serow_nginx_syntax::directive::Directive;
use serow_settings_writer::{table::Table, value::Value};

use super::{
    process::network,
    text::{Text, Use, Variables},
};
use crate::report::Notes;

/// A table of a map of this text; its variable follows.
pub(super) fn looking_up(source: &str, variables: &Variables) -> Result<Table, String> {
    let mut table = Table::default();
    table.set("from", variables.resolve(&Text::of(source), Use::Message)?.written());
    table.set("to", "");
    Ok(table)
}

/// A value, which has no variables here.
fn fixed(value: &str) -> String {
    value.replace('$', "$$")
}

/// A `split_clients`.
pub(super) fn split_clients(directive: &Directive, variables: &Variables, notes: &Notes) -> Result<Table, String> {
    let source = directive.word(0).unwrap_or_default();
    let mut table = looking_up(source, variables)?;
    if Text::of(source).variables().any(|name| name == "binary_remote_addr") {
        notes.differs(directive, "clients get other values than before: the hash is that of the address as a text");
    }
    let (mut shares, mut default) = (Vec::<(String, Value)>::new(), None);
    for line in directive.children() {
        let (share, value) = (line.name(), fixed(line.word(0).unwrap_or_default()));
        if share == "*" {
            default = Some(value);
        } else if shares.iter().any(|(other, _)| *other == value) {
            return Err(format!("two shares have the value {value:?}: in `shares`, each value has one"));
        } else {
            shares.push((value, Value::from(share)));
        }
    }
    table.set("shares", Value::Table(shares));
    table.set_some("default", default.filter(|default| !default.is_empty()));
    Ok(table)
}

/// A `geo`.
pub(super) fn geo(directive: &Directive, variables: &Variables, notes: &Notes) -> Result<Table, String> {
    let source = directive.word(0).filter(|_| directive.words.len() == 2);
    let mut table = looking_up(source.unwrap_or("$remote_addr"), variables)?;
    let (mut networks, mut default) = (Vec::<(String, Option<(&str, &Directive)>)>::new(), None);
    let has_ranges = directive.children().iter().any(|line| line.name() == "ranges");
    let mut ranges = Vec::new();
    for line in directive.children() {
        let (name, value) = (line.name(), line.word(0).unwrap_or_default());
        match name {
            "ranges" => {}
            "default" if has_ranges => default = Some(value),
            "default" => {
                default = Some(value);
                // It takes the place of these networks.
                networks.extend(["0.0.0.0/0", "::/0"].map(|all| (all.to_owned(), None)));
            }
            "proxy" | "proxy_recursive" => {
                return Err("the trusted proxies are those of the whole server: `trust`".to_owned());
            }
            "delete" if has_ranges => return Err("`delete` of a range of addresses has no translation".to_owned()),
            range if has_ranges => {
                let (first, last) = ends(range).ok_or_else(|| format!("{range} is not a range of addresses"))?;
                ranges.push((first, last));
                networks.extend(networks_of(first, last).map(|network| (network, Some((value, line)))));
            }
            "delete" => networks.push((geo_network(value)?, None)),
            _ => networks.push((geo_network(name)?, Some((value, line)))),
        }
    }
    ranges.sort_unstable();
    if ranges.windows(2).any(|pair| pair[0].1 >= pair[1].0) {
        return Err("ranges of addresses that overlap have no translation".to_owned());
    }
    // Of equal ones, the last counts.
    let mut known = HashSet::new();
    networks.reverse();
    networks.retain(|(network, _)| known.insert(network.clone()));
    let networks: Vec<(String, &str, &Directive)> = networks
        .into_iter()
        .rev()
        .filter_map(|(network, line)| line.map(|(value, line)| (network, value, line)))
        .collect();
    // nginx takes texts without an address for 255.255.255.255.
    let others =
        networks.iter().filter(|(network, value, _)| has_last(network) && default.unwrap_or_default() != *value);
    for (_, _, line) in others.filter(|_| source.is_some()) {
        notes.differs(line, "it is not for texts without an address: these have the default");
    }
    let networks = networks.into_iter().map(|(network, value, _)| (network, Value::Text(fixed(value))));
    table.set("networks", Value::Table(networks.collect()));
    table.set_some("default", default.filter(|default| !default.is_empty()).map(fixed));
    Ok(table)
}

/// The first and the last address of a range such as `10.0.0.1-10.0.0.9`.
fn ends(range: &str) -> Option<(u32, u32)> {
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| Some(text.trim().parse::<Ipv4Addr>().ok()?.to_bits());
    Some((number(first)?, number(last)?)).filter(|(first, last)| first <= last)
}

/// The networks that a range consists of.
fn networks_of(first: u32, last: u32) -> impl Iterator<Item = String> {
    let mut next = Some(first);
    std::iter::from_fn(move || {
        let first = next?;
        // The largest one that begins here, and does not go beyond the end.
        let count = u64::from(last - first) + 1;
        let bits = first.trailing_zeros().min(count.ilog2());
        next = first
            .checked_add(u32::MAX.checked_shr(32 - bits).unwrap_or(0))
            .filter(|end| *end < last)
            .map(|end| end + 1);
        Some(format!("{}/{}", Ipv4Addr::from_bits(first), 32 - bits))
    })
}

fn geo_network(text: &str) -> Result<String, String> {
    let network = network(text).filter(|network| !network.starts_with("::ffff:"));
    network.ok_or_else(|| format!("{text} is not a network"))
}

/// Whether a network has the address 255.255.255.255.
fn has_last(network: &str) -> bool {
    let (address, length) = network.split_once('/').unwrap_or((network, "32"));
    let rest = length.parse().ok().and_then(|length| u32::MAX.checked_shr(length)).unwrap_or(0);
    address.parse::<Ipv4Addr>().is_ok_and(|address| address.to_bits() | rest == u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_consist_of_networks() {
        for (range, expected) in [
            ("10.0.0.0-10.0.0.255", "10.0.0.0/24"),
            ("10.0.0.1-10.0.0.9", "10.0.0.1/32 10.0.0.2/31 10.0.0.4/30 10.0.0.8/31"),
            ("0.0.0.0-255.255.255.255", "0.0.0.0/0"),
            ("255.255.255.254-255.255.255.255", "255.255.255.254/31"),
            ("255.255.255.253-255.255.255.255", "255.255.255.253/32 255.255.255.254/31"),
            ("0.0.0.0-0.0.0.2", "0.0.0.0/31 0.0.0.2/32"),
        ] {
            let (first, last) = ends(range).unwrap();
            assert_eq!(networks_of(first, last).collect::<Vec<_>>().join(" "), expected, "{range}");
        }
        assert_eq!(ends("10.0.0.2-10.0.0.1"), None);
        assert_eq!(ends("10.0.0.2"), None);
    }
}
