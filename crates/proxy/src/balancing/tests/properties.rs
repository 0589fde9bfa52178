//! Properties that hold for any servers, weights and candidates.

use proptest::{collection::vec, prelude::*};

use super::*;

/// A change between two choices.
#[derive(Clone, Debug)]
struct Step {
    /// Which servers are candidates: a bit for each.
    present: u16,
    /// A server gets this weight.
    weight: (usize, u32),
    key: u64,
    /// Whether the requests in flight end.
    ends: bool,
    milliseconds: u64,
}

fn step() -> impl Strategy<Value = Step> {
    let weight = (0..12_usize, prop_oneof![0..=3_u32, 0..=65_535 * WEIGHT_UNIT]);
    let key = prop_oneof![any::<u32>().prop_map(u64::from), Just(hash_key::NO_KEY), any::<u64>()];
    (any::<u16>(), weight, key, prop::bool::weighted(0.1), 0..100_000_u64)
        .prop_map(|(present, weight, key, ends, milliseconds)| Step { present, weight, key, ends, milliseconds })
}

fn weight() -> impl Strategy<Value = u16> {
    prop_oneof![9 => 0..=5_u16, 1 => any::<u16>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_candidate_is_chosen_where_there_is_one(
        weights in vec(weight(), 1..12),
        steps in vec(step(), 1..60),
        seed in any::<u64>(),
    ) {
        let servers = servers(&weights);
        for method in methods() {
            let mut balancer = Balancer::new(&method, &servers, seed);
            let mut shares: Vec<_> = weights.iter().map(|weight| u32::from(*weight) * WEIGHT_UNIT).collect();
            let (mut leases, mut now) = (Vec::new(), NOW);
            for step in &steps {
                now = now + Duration::from_millis(step.milliseconds);
                if let Some(share) = shares.get_mut(step.weight.0) {
                    *share = step.weight.1;
                }
                let candidates: Vec<_> = (0..servers.len())
                    .filter(|place| step.present & 1 << place != 0)
                    .map(|place| Candidate { place, server: &servers[place], weight: shares[place] })
                    .collect();
                let chosen = balancer.choose(&candidates, step.key, now);
                prop_assert_eq!(chosen.is_some(), !candidates.is_empty(), "{:?} {:?}", &method, step);
                let Some(candidate) = chosen.map(|index| candidates.get(index)) else { continue };
                prop_assert!(candidate.is_some(), "{:?} {:?}", &method, step);
                let server = &servers[candidate.unwrap().place];
                leases.extend(Lease::take(server));
                server.load.latency.note(Duration::from_micros(step.key % 1_000_000), now);
                if step.ends {
                    leases.clear();
                }
            }
        }
    }

    /// Every permanent candidate gets a turn within one round.
    #[test]
    fn every_server_gets_a_turn_within_a_round(weights in vec(1..20_u16, 2..8), before in vec(any::<u16>(), 0..50)) {
        let servers = servers(&weights);
        let mut balancer = Balancer::new(&Balancing::RoundRobin, &servers, 0);
        for present in before {
            let places: Vec<_> = (0..servers.len()).filter(|place| present & 1 << place != 0).collect();
            balancer.choose(&candidates(&servers, &places), 0, NOW);
        }
        let round: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let counts = counts(&chosen(&mut balancer, &all(&servers), 3 * round), weights.len());
        for (count, weight) in counts.into_iter().zip(weights) {
            // Earlier credit or debt is at most one round.
            let weight = usize::from(weight);
            prop_assert!((1..=6 * weight).contains(&count), "{} of {}", count, weight);
        }
    }
}
