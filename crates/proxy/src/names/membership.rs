//! From what was found of a name to servers of an upstream.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use serow_client::Destination;

use super::resolver::Service;
use crate::{server::Server, settings::ServerSettings, upstream::Upstream};

/// A server that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    address: SocketAddr,
    weight: u16,
    backup: bool,
}

impl Member {
    /// An address of a host.
    pub(super) fn of_host(address: IpAddr, port: u16, settings: &ServerSettings) -> Self {
        let ServerSettings { weight, backup, .. } = *settings;
        Self { address: SocketAddr::new(address, port), weight, backup }
    }

    /// An address of one of the hosts of a service. Those that do not have the best priority are asked only where no other
    /// can be; a weight of 0 stands for a very small share (RFC 2782).
    pub(super) fn of_service(address: IpAddr, service: &Service, best: u16, settings: &ServerSettings) -> Self {
        Self {
            address: SocketAddr::new(address, service.port),
            weight: service.weight.max(1).saturating_mul(settings.weight),
            backup: settings.backup || service.priority > best,
        }
    }

    /// Whether this server is it.
    fn is(&self, server: &Server) -> bool {
        *server.destination() == Destination::Tcp(self.address) && server.settings().backup == self.backup
    }
}

/// Name servers shuffle what they answer; the same answer has the same order here.
pub(super) fn ordered(mut members: Vec<Member>) -> Vec<Member> {
    members.sort_by_key(|member| (member.address, member.backup));
    members.dedup_by_key(|member| member.address);
    members
}

impl Upstream {
    /// The servers that a name stands for are these from now on; before, they were those. One that stays is the same as before, with
    /// its counts and its health; one that is gone finishes what it has.
    pub(super) fn replace_members(&self, named: &ServerSettings, before: &[Member], members: &[Member]) {
        if before == members {
            return;
        }
        let rank = |server: &Server| self.rank(server.settings());
        self.change_servers(|servers| {
            let is_of_name = |server: &&Arc<Server>| server.settings().address == named.address;
            let mut kept: Vec<_> = servers.iter().filter(|server| !is_of_name(server)).cloned().collect();
            for member in members {
                let known = servers.iter().filter(is_of_name).find(|server| member.is(server));
                kept.push(known.cloned().unwrap_or_else(|| self.new_member(named, member)));
                if let Some(server) = known
                    && before.iter().any(|old| old.address == member.address && old.weight != member.weight)
                {
                    server.set_weight(member.weight);
                }
            }
            // Where the name stands among the settings, there stand its servers.
            kept.sort_by_key(|server| rank(server));
            kept
        });
        let names: Vec<_> = members.iter().map(|member| member.address.to_string()).collect();
        tracing::info!(upstream = self.settings().name, "{} is at {}", named.address, names.join(", "));
    }

    fn new_member(&self, named: &ServerSettings, member: &Member) -> Arc<Server> {
        let settings = ServerSettings { weight: member.weight, backup: member.backup, ..named.clone() };
        self.new_server(settings, Destination::Tcp(member.address))
    }
}
