//! `split_clients` and `geo`: values of shares of all texts, and of networks.

use std::net::Ipv4Addr;

use serow_nginx_syntax::directive::Directive;

use super::{
    process::network,
    text::{Text, Use, Variables},
};
use crate::{
    report::Notes,
    settings::{table::Table, value::Value},
};

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
    let (mut networks, mut default) = (Vec::<(String, &str, &Directive)>::new(), None);
    for line in directive.children() {
        let (name, value) = (line.name(), line.word(0).unwrap_or_default());
        if name == "default" {
            default = Some(value);
            // It is for all addresses, and of equal networks, the last counts.
            networks.retain(|(other, ..)| !["0.0.0.0/0", "::/0"].contains(&other.as_str()));
            continue;
        }
        if ["ranges", "proxy", "proxy_recursive"].contains(&name) {
            return Err(match name {
                "ranges" => "Serow compares networks, not ranges of addresses".to_owned(),
                _ => "the trusted proxies are those of the whole server: `trust`".to_owned(),
            });
        }
        let key = if name == "delete" { value } else { name };
        let network = network(key).filter(|network| !network.starts_with("::ffff:"));
        let network = network.ok_or_else(|| format!("{key} is not a network"))?;
        // Of equal ones, the last counts.
        networks.retain(|(other, ..)| *other != network);
        if name != "delete" {
            networks.push((network, value, line));
        }
    }
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

/// Whether a network has the address 255.255.255.255.
fn has_last(network: &str) -> bool {
    let (address, length) = network.split_once('/').unwrap_or((network, "32"));
    let rest = length.parse().ok().and_then(|length| u32::MAX.checked_shr(length)).unwrap_or(0);
    address.parse::<Ipv4Addr>().is_ok_and(|address| address.to_bits() | rest == u32::MAX)
}
