//! Servers at a single address of a port that others have at all addresses: a port has one listener.

use std::collections::{BTreeMap, HashSet};

use serow_nginx_syntax::directive::Directive;
use serow_settings_writer::{
    matching::{Condition, Match},
    route::Route,
};

use super::{
    handler::Handler,
    import::Import,
    listeners::{Listen, port},
};

/// The servers that get requests at single addresses of a listener for all.
#[derive(Debug, Default)]
pub(crate) struct Overlapping {
    /// The addresses of each.
    addresses: BTreeMap<usize, Vec<String>>,
    /// The names of the other servers, which these do not take from them.
    other_names: HashSet<String>,
}

impl Overlapping {
    /// Replaces the addresses of such servers by the listener, and drops those of servers that also have others.
    pub(super) fn of(
        import: &Import<'_>,
        listens: &mut [Vec<Listen<'_>>],
        tls: &BTreeMap<String, bool>,
        servers: &[&Directive],
    ) -> Self {
        let all: HashSet<String> = listens
            .iter()
            .flatten()
            .filter(|own| own.address.starts_with(':'))
            .map(|own| own.address.clone())
            .collect();
        let wide = |address: &str| {
            let port = port(address).filter(|_| !address.starts_with(':'))?;
            Some(format!(":{port}")).filter(|wide| all.contains(wide))
        };
        let mut this = Self::default();
        for (position, own) in listens.iter_mut().enumerate() {
            let wide_of_own: Vec<Option<String>> = own.iter().map(|listen| wide(&listen.address)).collect();
            let Some(Some(first)) = wide_of_own.iter().find(|wide| wide.is_some()).cloned() else { continue };
            let is_refusable = own
                .iter()
                .zip(&wide_of_own)
                .all(|(listen, wide)| wide.as_ref() == Some(&first) && tls.get(&listen.address) == tls.get(&first));
            note(import, own, &wide_of_own, is_refusable);
            if is_refusable {
                let hosts = own.iter().filter_map(|listen| Some(listen.address.rsplit_once(':')?.0.to_owned()));
                this.addresses.insert(position, hosts.collect());
                own.truncate(1);
                own.iter_mut().for_each(|listen| listen.address.clone_from(&first));
            } else {
                own.retain(|listen| wide(&listen.address).is_none());
            }
        }
        if !this.addresses.is_empty() {
            this.other_names = this.names_of_others(servers);
        }
        this
    }

    fn names_of_others(&self, servers: &[&Directive]) -> HashSet<String> {
        let others = servers.iter().enumerate().filter(|(position, _)| !self.addresses.contains_key(position));
        let lines = others.flat_map(|(_, server)| server.children()).filter(|inner| inner.name() == "server_name");
        lines.flat_map(|line| line.texts()).map(str::to_ascii_lowercase).collect()
    }

    /// Changes the hosts of a server to those that it gets at the listener.
    pub(super) fn change_hosts(&self, position: usize, hosts: &mut Vec<String>) {
        let Some(addresses) = self.addresses.get(&position) else { return };
        hosts.retain(|host| !self.other_names.contains(host));
        for address in addresses {
            hosts.push(address.clone());
            if matches!(address.as_str(), "127.0.0.1" | "[::1]") && !hosts.iter().any(|host| host == "localhost") {
                hosts.push("localhost".to_owned());
            }
        }
    }

    /// The route that refuses the hosts of a server at other addresses than its own.
    pub(crate) fn refusal_elsewhere(&self, position: usize) -> Option<Route> {
        let addresses = self.addresses.get(&position)?.iter();
        let patterns = addresses.map(|address| format!("!{}", address.trim_matches(['[', ']']))).collect();
        let elsewhere = Condition { kind: "variable", name: "server_addr".to_owned(), patterns };
        let mut route = Route::new(Match::all().and(elsewhere));
        route.table.set("respond", Handler::responding(421).table.into_value());
        Some(route)
    }
}

/// Notes the outcome of each address of a server whose port a listener for all addresses has, too.
fn note(import: &Import<'_>, own: &[Listen<'_>], wide: &[Option<String>], is_refusable: bool) {
    for (Listen { address, directive }, wide) in own.iter().zip(wide) {
        let (Some(directive), Some(wide)) = (directive, wide) else { continue };
        let has_wide = own.iter().any(|other| other.address == *wide);
        match (has_wide, is_refusable) {
            (true, _) => {
                let why =
                    format!("requests to it get to all servers at {wide}; nginx has those with this address alone");
                import.notes.differs(directive, why);
            }
            (false, true) => {
                let why = format!(
                    "{wide} is for all addresses: the hosts of this server are refused at others than {address}, where other \
                     hosts get the sites at {wide}"
                );
                import.notes.differs(directive, why);
            }
            (false, false) => {
                let why =
                    format!("Serow cannot listen on {address} and, for another server, on all addresses at {wide}");
                import.notes.lost(directive, why);
            }
        }
    }
}
