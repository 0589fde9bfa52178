//! The same server for the same value.

use super::*;

/// Servers as Tengine's code had them beside this: with its rules for ids and weights.
fn tengine(fifth_weight: u16) -> Vec<Arc<Server>> {
    vec![
        named("127.0.0.1:9001", 1, None),
        named("127.0.0.1:9002", 2, None),
        named("127.0.0.1:9003", 1, Some("7")),
        named("unix:/run/app.sock", 3, Some("app")),
        named("[::1]:9005", fifth_weight, Some("65536")),
        named("10.0.0.6:80", 1, Some("65535")),
    ]
}

fn balancer(servers: &[Arc<Server>]) -> Balancer {
    Balancer::new(&Balancing::Hash(HashKey::Client), servers, 4)
}

fn owner(balancer: &mut Balancer, candidates: &[Candidate<'_>], text: &str) -> usize {
    let key = u64::from(serow_variables::murmur2(text.as_bytes()));
    candidates[balancer.choose(candidates, key, NOW).unwrap()].place
}

fn owners(servers: &[Arc<Server>], places: &[usize], count: usize) -> Vec<usize> {
    let (mut balancer, candidates) = (balancer(servers), candidates(servers, places));
    (0..count).map(|number| owner(&mut balancer, &candidates, &format!("/item/{number}"))).collect()
}

#[test]
fn values_have_the_servers_that_tengine_gives_them() {
    let servers = tengine(4);
    let (mut balancer, candidates) = (balancer(&servers), all(&servers));
    let found: String = (0..60)
        .map(|number| owner(&mut balancer, &candidates, &format!("10.0.{}.{number}", number % 7)).to_string())
        .collect();
    assert_eq!(found, "455433133444513414514444442245044544334011334302434243554404");
    // Its first point and its last one are of the same server; at 9,185,442, 12,565,658 and 14,799,071 are the points
    // of three.
    let keys =
        [(0, 4), (u32::MAX, 4), (9_185_442, 2), (9_185_443, 1), (12_565_658, 1), (12_565_659, 5), (14_799_071, 5)];
    for (key, place) in keys {
        assert_eq!(balancer.choose(&candidates, u64::from(key), NOW), Some(place), "{key}");
    }
    // A weight of more than 102 reaches the maximum of points.
    for (fifth_weight, counts, sum) in [
        (4, [8661, 15_629, 7926, 24_874, 34_241, 8669], 13_152_092_340_515_241_390),
        (103, [874, 1874, 911, 2785, 92_679, 877], 18_290_901_970_143_283_810),
    ] {
        let found = owners(&tengine(fifth_weight), &[0, 1, 2, 3, 4, 5], 100_000);
        assert_eq!(super::counts(&found, 6), counts);
        assert_eq!(found.iter().fold(0, |sum: u64, place| sum.wrapping_mul(31).wrapping_add(*place as u64)), sum);
    }
}

/// Tengine's `ngx_atoi` knows no signs and no white space.
#[test]
fn ids_that_are_no_numbers_count_for_nothing() {
    for id in ["", "a", "+7", "-7", " 7", "7 ", "65536", "4294967303"] {
        let with = [named("127.0.0.1:9001", 1, Some(id)), named("127.0.0.1:9002", 1, None)];
        assert_eq!(owners(&with, &[0, 1], 200), owners(&servers(&[1, 1]), &[0, 1], 200), "{id:?}");
    }
    let with = [named("127.0.0.1:9001", 1, Some("7")), named("127.0.0.1:9002", 1, None)];
    assert_ne!(owners(&with, &[0, 1], 200), owners(&servers(&[1, 1]), &[0, 1], 200));
}

#[test]
fn removed_servers_move_only_their_own_keys() {
    let servers = servers(&[1; 5]);
    let before = owners(&servers, &[0, 1, 2, 3, 4], 20_000);
    let without = owners(&servers, &[0, 1, 3, 4], 20_000);
    for (before, after) in before.iter().zip(&without) {
        assert!(before == after || *before == 2 && *after != 2, "{before} {after}");
    }
    let moved = counts(&before, 5)[2];
    assert!(moved < 20_000 / 5 * 5 / 4, "{moved}");
    // They are shared by all that are left.
    let heirs: Vec<_> =
        before.iter().zip(&without).filter(|(before, _)| **before == 2).map(|(_, after)| *after).collect();
    assert!(counts(&heirs, 5).iter().filter(|count| **count > moved / 10).count() == 4, "{:?}", counts(&heirs, 5));
    // The same holds without the server: the points of a server do not depend on the others.
    let fewer: Vec<_> = [0, 1, 3, 4].map(|place| Arc::clone(&servers[place])).to_vec();
    let places = [0, 1, 3, 4];
    assert_eq!(owners(&fewer, &[0, 1, 2, 3], 20_000).iter().map(|&place| places[place]).collect::<Vec<_>>(), without);
}

#[test]
fn a_popular_value_does_not_bring_its_server_down() {
    for (weights, requests) in [(&[1, 1, 1, 1][..], 400), (&[1, 2, 3, 4], 1000), (&[1, 9], 500)] {
        let servers = servers(weights);
        let (mut balancer, candidates) = (balancer(&servers), all(&servers));
        let leases: Vec<_> = (0..requests)
            .map(|_| Lease::take(&servers[owner(&mut balancer, &candidates, "/popular")]).unwrap())
            .collect();
        let total: f64 = weights.iter().copied().map(f64::from).sum();
        for (server, weight) in servers.iter().zip(weights) {
            let bound = (1.25 * f64::from(requests) * f64::from(*weight) / total).ceil();
            assert!(f64::from(server.active()) <= bound, "{} of {bound} for {weight}", server.active());
        }
        drop(leases);
    }
}

#[test]
fn the_load_bound_includes_the_new_request() {
    let servers = servers(&[1, 1]);
    let (mut balancer, candidates) = (balancer(&servers), all(&servers));
    let own = owner(&mut balancer, &candidates, "/popular");
    let _leases: Vec<_> =
        (0..23).map(|_| Lease::take(&servers[owner(&mut balancer, &candidates, "/popular")]).unwrap()).collect();
    // For the 23rd request, 5/4 of half of the requests are 14.4: a server with 14 may get one more.
    assert_eq!([servers[own].active(), servers[1 - own].active()], [15, 8]);
    assert_ne!(owner(&mut balancer, &candidates, "/popular"), own);
}

#[test]
fn few_requests_stay_together() {
    let servers = servers(&[1; 10]);
    let (mut balancer, candidates) = (balancer(&servers), all(&servers));
    let own = owner(&mut balancer, &candidates, "10.0.0.1");
    let leases: Vec<_> =
        (0..8).map(|_| Lease::take(&servers[owner(&mut balancer, &candidates, "10.0.0.1")]).unwrap()).collect();
    assert_eq!(servers[own].active(), 8);
    assert_ne!(owner(&mut balancer, &candidates, "10.0.0.1"), own);
    drop(leases);
    assert_eq!(owner(&mut balancer, &candidates, "10.0.0.1"), own);
}

#[test]
fn requests_without_a_value_go_everywhere() {
    let servers = servers(&[1, 1, 2]);
    let (mut balancer, candidates) = (balancer(&servers), all(&servers));
    let places: Vec<_> = (0..10_000).map(|_| balancer.choose(&candidates, hash_key::NO_KEY, NOW).unwrap()).collect();
    let counts = counts(&places, 3);
    assert!(counts.iter().zip([2500, 2500, 5000_usize]).all(|(count, share)| count.abs_diff(share) < share / 4));
}
