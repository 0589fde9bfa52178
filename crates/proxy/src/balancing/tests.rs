//! How requests are shared out, with made-up servers.

mod properties;
mod ring;

use std::time::Duration;

use super::*;
use crate::{
    ServerAddress,
    lease::Lease,
    settings::{HashKey, ServerSettings, UpstreamSettings},
};

const NOW: Moment = Moment::from_milliseconds(1_000_000);

/// Servers at ports from 9001 on.
fn servers(weights: &[u16]) -> Vec<Arc<Server>> {
    let of = |(port, &weight): (u16, &u16)| named(&format!("127.0.0.1:{port}"), weight, None);
    (9001..).zip(weights).map(of).collect()
}

fn named(address: &str, weight: u16, id: Option<&str>) -> Arc<Server> {
    let address: ServerAddress = address.parse().unwrap();
    let settings = ServerSettings { weight, id: id.map(str::to_owned), ..ServerSettings::new(address) };
    let upstream = crate::Upstream::new(UpstreamSettings::new("test", vec![settings]));
    Arc::clone(&upstream.servers()[0])
}

fn candidates<'a>(servers: &'a [Arc<Server>], places: &[usize]) -> Vec<Candidate<'a>> {
    let of = |&place: &usize| {
        let server = &*servers[place];
        Candidate { place, server, weight: u32::from(server.weight()) * WEIGHT_UNIT }
    };
    places.iter().map(of).collect()
}

fn all(servers: &[Arc<Server>]) -> Vec<Candidate<'_>> {
    candidates(servers, &(0..servers.len()).collect::<Vec<_>>())
}

/// The places that are chosen.
fn chosen(balancer: &mut Balancer, candidates: &[Candidate<'_>], count: u64) -> Vec<usize> {
    (0..count).map(|key| candidates[balancer.choose(candidates, key, NOW).unwrap()].place).collect()
}

fn counts(chosen: &[usize], servers: usize) -> Vec<usize> {
    (0..servers).map(|place| chosen.iter().filter(|other| **other == place).count()).collect()
}

fn methods() -> [Balancing; 4] {
    [Balancing::RoundRobin, Balancing::LeastRequests, Balancing::Latency, Balancing::Hash(HashKey::Client)]
}

#[test]
fn zero_or_one_candidates_need_no_choice() {
    for method in methods() {
        let servers = servers(&[1, 0, 3]);
        let mut balancer = Balancer::new(&method, &servers, 9);
        assert_eq!(balancer.choose(&[], 5, NOW), None);
        for place in 0..3 {
            assert_eq!(balancer.choose(&candidates(&servers, &[place]), 5, NOW), Some(0), "{method:?}");
        }
        let mut balancer = Balancer::new(&method, &[], 9);
        assert_eq!(balancer.choose(&[], 5, NOW), None);
        assert!(balancer.choose(&all(&servers), 5, NOW).is_some(), "servers that came later: {method:?}");
    }
}

#[test]
fn turns_are_smooth() {
    let cases: [(&[u16], &str); 5] = [
        (&[5, 1, 1], "aabacaa aabacaa"),
        (&[1, 1, 1], "abc abc"),
        (&[3, 1], "aaba aaba"),
        (&[1, 2, 3], "cbacbc cbacbc"),
        (&[4, 3, 2], "abcabacba abcabacba"),
    ];
    for (weights, expected) in cases {
        let servers = servers(weights);
        let mut balancer = Balancer::new(&Balancing::RoundRobin, &servers, 0);
        let expected: Vec<_> =
            expected.bytes().filter(|byte| *byte != b' ').map(|byte| usize::from(byte - b'a')).collect();
        assert_eq!(chosen(&mut balancer, &all(&servers), expected.len() as u64), expected, "{weights:?}");
    }
}

#[test]
fn rounds_are_exact() {
    let mut random = random::Random::new(3);
    for _ in 0..200 {
        let weights: Vec<u16> = (0..1 + random.below(8)).map(|_| 1 + random.below(30) as u16).collect();
        let servers = servers(&weights);
        let mut balancer = Balancer::new(&Balancing::RoundRobin, &servers, random.next());
        let round: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        for _ in 0..3 {
            let counts = counts(&chosen(&mut balancer, &all(&servers), round), weights.len());
            assert_eq!(counts, weights.iter().map(|weight| usize::from(*weight)).collect::<Vec<_>>());
        }
    }
}

#[test]
fn threads_begin_with_different_servers() {
    let servers = servers(&[1; 4]);
    for method in [Balancing::RoundRobin, Balancing::LeastRequests, Balancing::Latency] {
        let first = |seed| chosen(&mut Balancer::new(&method, &servers, seed), &all(&servers), 1)[0];
        let counts = counts(&(0..64).map(first).collect::<Vec<_>>(), 4);
        assert!(counts.iter().all(|count| *count > 4), "{method:?} {counts:?}");
    }
}

/// A server that returns gets no run of turns, and neither do the others.
#[test]
fn returning_servers_get_their_share_only() {
    for away in 1..200 {
        let servers = servers(&[7, 5, 1, 1]);
        let mut balancer = Balancer::new(&Balancing::RoundRobin, &servers, away);
        chosen(&mut balancer, &all(&servers), away % 17);
        chosen(&mut balancer, &candidates(&servers, &[1, 2]), away);
        let counts = counts(&chosen(&mut balancer, &all(&servers), 28), 4);
        let most = [7 * 3, 5 * 3, 3, 3];
        assert!(counts.iter().zip(most).all(|(count, most)| *count <= most && *count > 0), "{counts:?}");
    }
    // A hundred servers of which two stay: neither inherits credit or debt of the others.
    let servers = servers(&[1; 100]);
    for turns in 0..100 {
        let mut balancer = Balancer::new(&Balancing::RoundRobin, &servers, 0);
        chosen(&mut balancer, &all(&servers), turns);
        let counts = counts(&chosen(&mut balancer, &candidates(&servers, &[3, 96]), 20), 100);
        assert!((8..=12).contains(&counts[3]), "{} after {turns}", counts[3]);
    }
}

#[test]
fn weights_may_change_under_way() {
    let servers = servers(&[1000, 1]);
    let mut balancer = Balancer::new(&Balancing::RoundRobin, &servers, 500);
    chosen(&mut balancer, &all(&servers), 500);
    servers[0].set_weight(1);
    let counts = counts(&chosen(&mut balancer, &all(&servers), 20), 2);
    assert!((8..=12).contains(&counts[0]), "{counts:?}");
}

#[test]
fn shares_follow_the_weights() {
    for (weights, seed) in [(&[1, 1, 1][..], 1), (&[5, 1, 1], 2), (&[10, 20, 30, 40], 3)] {
        let servers = servers(weights);
        for method in methods() {
            let mut balancer = Balancer::new(&method, &servers, seed);
            let total: usize = weights.iter().map(|weight| usize::from(*weight)).sum();
            let places: Vec<_> = (0..20_000)
                .map(|key: u32| {
                    let key = u64::from(serow_variables::murmur2(&key.to_le_bytes()));
                    all(&servers)[balancer.choose(&all(&servers), key, NOW).unwrap()].place
                })
                .collect();
            for (count, weight) in counts(&places, weights.len()).into_iter().zip(weights) {
                let share = 20_000 * usize::from(*weight) / total;
                // The ring's points are chance; two choices among idle servers only know better and worse.
                let off = match method {
                    Balancing::Hash(_) => share / 4,
                    Balancing::Latency => continue,
                    _ => 1,
                };
                assert!(count.abs_diff(share) <= off, "{method:?} {weights:?}: {count} instead of {share}");
            }
        }
    }
}

#[test]
fn the_least_has_it() {
    // Weights, requests in flight, and the possible choices.
    let cases: [(&[u16], &[usize], &[usize]); 6] = [
        (&[1, 1, 1], &[1, 0, 2], &[1]),
        (&[1, 1, 1], &[2, 1, 1], &[1, 2]),
        (&[2, 1], &[3, 1], &[1]),
        (&[2, 1], &[1, 1], &[0]),
        (&[2, 1], &[2, 1], &[0, 1]),
        (&[3, 1], &[0, 0], &[0, 1]),
    ];
    for (weights, active, expected) in cases {
        let servers = servers(weights);
        let _leases = lease(&servers, active);
        let mut balancer = Balancer::new(&Balancing::LeastRequests, &servers, 5);
        let mut found = chosen(&mut balancer, &all(&servers), 12);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, expected, "{weights:?} {active:?}");
    }
}

fn lease(servers: &[Arc<Server>], active: &[usize]) -> Vec<Lease> {
    let of = |(server, count)| std::iter::repeat_with(move || Lease::take(server).unwrap()).take(count);
    servers.iter().zip(active.iter().copied()).flat_map(of).collect()
}

#[test]
fn the_cheaper_of_two_has_it() {
    // Weights, microseconds, requests in flight, and the choice; 0 microseconds: never measured.
    let cases = [
        ([1, 1], [500, 900], [0, 0], 0),
        ([1, 1], [900, 500], [0, 0], 1),
        ([1, 1], [500, 900], [1, 0], 1),
        ([3, 1], [900, 500], [0, 0], 0),
        ([1, 1], [1, 0], [0, 0], 1),
        ([1, 1], [900_000, 0], [9, 1], 0),
        ([1, 1], [0, 0], [2, 1], 1),
        ([1, 1], [0, 0], [1, 0], 1),
        ([1, 65_535], [3_600_000_000, 3_599_999_999], [3, 0], 1),
    ];
    for (weights, latencies, active, expected) in cases {
        let servers = servers(&weights);
        for (server, latency) in servers.iter().zip(latencies).filter(|(_, latency)| *latency > 0) {
            server.load.latency.note(Duration::from_micros(latency), NOW);
        }
        let _leases = lease(&servers, &active);
        let mut balancer = Balancer::new(&Balancing::Latency, &servers, 5);
        let found = chosen(&mut balancer, &all(&servers), 20);
        assert!(found.iter().all(|place| *place == expected), "{latencies:?} {active:?}: {found:?}");
    }
}

#[test]
fn slow_servers_are_avoided_for_a_while() {
    let servers = servers(&[1; 4]);
    for (server, milliseconds) in servers.iter().zip([1, 1, 1, 100]) {
        server.load.latency.note(Duration::from_millis(milliseconds), NOW);
    }
    let mut balancer = Balancer::new(&Balancing::Latency, &servers, 5);
    let mut asked = |after: Duration| {
        let now = NOW + after;
        for server in &servers[..3] {
            server.load.latency.note(Duration::from_millis(1), now);
        }
        let candidates = all(&servers);
        (0..1000).filter(|_| balancer.choose(&candidates, 0, now) == Some(3)).count()
    };
    assert_eq!(asked(Duration::ZERO), 0);
    assert_eq!(asked(Duration::from_secs(40)), 0);
    assert!(asked(Duration::from_secs(50)) > 400);
}

#[test]
fn choosing_takes_no_memory() {
    let servers = servers(&[3, 1, 2]);
    let candidates = all(&servers);
    for method in methods() {
        let mut balancer = Balancer::new(&method, &servers, 1);
        let counted = allocation_counter::measure(|| {
            for key in 0..100 {
                assert!(balancer.choose(&candidates, key << 24, NOW).is_some());
            }
        });
        assert_eq!(counted.count_total, 0, "{method:?}");
    }
}
