//! From the result of a DNS lookup to the servers of an upstream.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use serow_client::Destination;
use serow_dns::Service;
use serow_net::Clock;

use crate::{
    server::{Administration, Server},
    settings::ServerSettings,
    upstream::Upstream,
};

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

    /// An address of one of the hosts of a service. Hosts without the best priority are backups; a weight of 0 stands
    /// for a very small share (RFC 2782).
    pub(super) fn of_service(address: IpAddr, service: &Service, best: u16, settings: &ServerSettings) -> Self {
        Self {
            address: SocketAddr::new(address, service.port),
            weight: service.weight.max(1).saturating_mul(settings.weight),
            backup: settings.backup || service.priority > best,
        }
    }

    /// Whether this server has the same address and rank.
    fn is(&self, server: &Server) -> bool {
        *server.destination() == Destination::Tcp(self.address) && server.settings().backup == self.backup
    }
}

/// Name servers shuffle their replies; equal replies have the same order here.
pub(super) fn ordered(mut members: Vec<Member>) -> Vec<Member> {
    members.sort_by_key(|member| (member.address, member.backup));
    members.dedup_by_key(|member| member.address);
    members
}

impl Upstream {
    /// Replaces the servers of a name. A server that stays keeps its counters and its health; a removed one finishes
    /// its requests.
    pub(super) fn replace_members(&self, named: &Arc<ServerSettings>, before: &[Member], members: &[Member]) {
        if before == members {
            return;
        }
        let rank = |server: &Server| self.rank(server.settings());
        self.change_servers(|servers| {
            let is_of_name = |server: &&Arc<Server>| server.settings().address == named.address;
            // It may have been taken out while it was looked up.
            if !self.named().iter().any(|other| Arc::ptr_eq(other, named)) {
                return servers.to_vec();
            }
            let mut kept: Vec<_> = servers.iter().filter(|server| !is_of_name(server)).cloned().collect();
            // An administrative state that all servers of the name have applies to new ones as well.
            let wanted = servers.iter().filter(is_of_name).map(|server| server.administration());
            let wanted = wanted.reduce(|one, other| if one == other { one } else { Administration::Up });
            for member in members {
                let known = servers.iter().filter(is_of_name).find(|server| member.is(server));
                kept.push(known.cloned().unwrap_or_else(|| self.new_member(named, member, wanted)));
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
        tracing::info!(upstream = self.settings().name, "{} resolved to {}", named.address, names.join(", "));
    }

    fn new_member(&self, named: &ServerSettings, member: &Member, wanted: Option<Administration>) -> Arc<Server> {
        let settings = ServerSettings { weight: member.weight, backup: member.backup, ..ServerSettings::clone(named) };
        let server = self.new_server(settings, Destination::Tcp(member.address));
        if let Some(wanted) = wanted.filter(|wanted| *wanted != Administration::Up) {
            server.set_administration(wanted, Clock::new().now());
        }
        server
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;
    use crate::{BackgroundTasks, UpstreamSettings};

    #[test]
    fn administrative_state_of_a_name_applies_to_new_servers() {
        let upstream = Upstream::new(UpstreamSettings::new("app", Vec::new()));
        let name = Arc::new(ServerSettings::new("app.example:1".parse().unwrap()));
        upstream.change_named(|named| named.push(Arc::clone(&name)));
        let member = |last| Member::of_host([192, 0, 2, last].into(), 1, &name);
        let wanted = || upstream.servers().iter().map(|server| server.administration()).collect::<Vec<_>>();
        upstream.replace_members(&name, &[], &[member(1), member(2)]);
        upstream.administrate("app.example:1", Administration::Draining).unwrap();
        upstream.replace_members(&name, &[member(1), member(2)], &[member(1), member(2), member(3)]);
        assert_eq!(wanted(), [Administration::Draining; 3]);
        upstream.administrate("192.0.2.2:1", Administration::Up).unwrap();
        upstream.replace_members(&name, &[member(1), member(2), member(3)], &[member(1), member(2), member(4)]);
        assert_eq!(wanted(), [Administration::Draining, Administration::Up, Administration::Up]);
    }

    #[test]
    fn names_come_and_go_while_the_proxy_runs() {
        let upstream = Upstream::new(UpstreamSettings::new("app", Vec::new()));
        let _background_tasks = BackgroundTasks::start(vec![upstream.clone()]).unwrap();
        let name = ServerSettings::new("localhost:1".parse().unwrap());
        for _ in 0..3 {
            upstream.change_named(|named| named.push(Arc::new(name.clone())));
            let began = Instant::now();
            while upstream.servers().is_empty() {
                assert!(began.elapsed().as_secs() < 10, "that takes too long");
                std::thread::yield_now();
            }
            assert!(upstream.servers().iter().any(|server| server.name() == "127.0.0.1:1"));
            upstream.change_named(Vec::clear);
            assert!(upstream.servers().is_empty());
        }
    }

    /// The results of successive lookups, and the servers that they lead to; a server that stays is the same object.
    #[test]
    fn members_become_servers() {
        let settings =
            ["127.0.0.9:9", "app:1", "127.0.0.8:8"].map(|server| ServerSettings::new(server.parse().unwrap()));
        let member = |last: u8| Member::of_host(IpAddr::from([127, 0, 0, last]), 1, &settings[1]);
        let members = |lasts: &[u8]| ordered(lasts.iter().map(|last| member(*last)).collect());
        let upstream = Upstream::new(UpstreamSettings::new("app", settings.to_vec()));
        let named = upstream.named().remove(0);
        let mut before = Vec::new();
        let mut known: Vec<Arc<Server>> = upstream.servers().to_vec();
        for lasts in [&[2, 1][..], &[1, 2, 2], &[3, 2], &[2, 3], &[], &[4]] {
            let (now, version) = (members(lasts), upstream.version());
            upstream.replace_members(&named, &before, &now);
            let is_change = before != now;
            assert_eq!(upstream.version(), version + u64::from(is_change), "{lasts:?}");
            let servers = upstream.servers();
            let names: Vec<_> = servers.iter().map(|server| server.name().to_owned()).collect();
            let found = now.iter().map(|member| member.address.to_string());
            let expected: Vec<_> =
                ["127.0.0.9:9".to_owned()].into_iter().chain(found).chain(["127.0.0.8:8".to_owned()]).collect();
            assert_eq!(names, expected);
            for server in servers.iter() {
                let same_name = known.iter().find(|other| other.name() == server.name());
                assert!(same_name.is_none_or(|other| Arc::ptr_eq(other, server)), "{} is new", server.name());
            }
            (before, known) = (now, servers.to_vec());
        }
    }
}
