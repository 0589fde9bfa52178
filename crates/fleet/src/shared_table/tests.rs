use serow_limits::Limit;

use super::*;

const SECOND: u64 = 1_000_000_000;

fn table(rate: &str, burst: u32, keys: usize) -> SharedTable {
    let peers = Peers::new(1);
    peers.note_exchange(u64::MAX);
    SharedTable::new("a", Limit::new(rate.parse().unwrap()).with_burst(burst), keys, Arc::new(peers))
}

fn is_allowed(table: &SharedTable, key: &[u8], now: u64) -> bool {
    table.decide(key, 1, now).1.is_allowed()
}

#[test]
fn an_entry_has_the_documented_size() {
    assert_eq!(size_of::<Slot>(), 72);
}

#[test]
fn consumption_is_collected_once() {
    let table = table("10/s", 1, 100);
    let outcomes = [0, 0, 0, 1].map(|tenth| is_allowed(&table, b"a", SECOND + tenth * SECOND / 10));
    assert_eq!(outcomes, [true, true, false, true]);
    let (key, _) = table.decide(b"b", 1, SECOND);
    table.charge(key, -1, SECOND);
    let mut collected = table.collect(10, SECOND * 6 / 5);
    collected.sort_by_key(|(_, consumption)| consumption.admitted);
    let [(_, b), (_, a)] = collected.try_into().unwrap();
    assert_eq!((a.admitted, a.demand, a.span, a.ahead), (3, 4, 200_000, 100_000));
    assert_eq!((b.admitted, b.demand, b.ahead), (0, 1, -200_000));
    assert_ne!(a.name, b.name);
    assert_eq!(a.name, name_of(b"a"));
    assert_eq!(table.collect(10, SECOND * 2), []);
    // A refused request is reported to Redis, too.
    assert!(is_allowed(&table, b"b", SECOND * 2));
    assert!(is_allowed(&table, b"b", SECOND * 2));
    table.collect(10, SECOND * 2);
    assert!(!is_allowed(&table, b"b", SECOND * 2));
    assert_eq!(table.collect(10, SECOND * 2).len(), 1);
}

#[test]
fn requests_of_other_servers_count() {
    for (ahead, wait, expected) in [
        // In milliseconds: how far ahead the others are, when the next request comes, and whether it is served.
        (1000, 0, false),
        (1000, 899, false),
        (1000, 900, true),
        (100, 0, true),
        (101, 0, false),
        (-5000, 0, true),
        // It is bounded, whatever Redis says: two bursts and a second.
        (i64::MAX, 1299, false),
        (i64::MAX, 1300, true),
        (i64::MIN, 0, true),
    ] {
        let table = table("10/s", 1, 100);
        assert!(is_allowed(&table, b"a", SECOND));
        let (key, sent) = table.collect(1, SECOND)[0];
        table.merge(key, &sent, Standing { ahead: i64::saturating_mul(ahead, 1000), total: 1 });
        let later = SECOND + wait * SECOND / 1000;
        assert_eq!(is_allowed(&table, b"a", later), expected, "{ahead} {wait}");
    }
}

#[test]
fn a_server_keeps_its_counts_when_redis_loses_them() {
    let table = table("1/s", 0, 100);
    assert!(is_allowed(&table, b"a", SECOND));
    let (key, sent) = table.collect(1, SECOND)[0];
    table.merge(key, &sent, Standing { ahead: 1_900_000, total: 2 });
    assert!(!is_allowed(&table, b"a", SECOND * 2));
    let (key, sent) = table.collect(1, SECOND * 2)[0];
    assert_eq!(sent.ahead, 900_000);
    table.merge(key, &sent, Standing { ahead: 0, total: 0 });
    assert!(!is_allowed(&table, b"a", SECOND * 2 + SECOND / 2));
}

#[test]
fn the_demand_of_others_is_expected_to_go_on() {
    let table = table("1000/s", 9, 100);
    // Nine requests of others for each of this server's, all below the limit, every 25 ms.
    let mut now = SECOND;
    for round in 1..=40 {
        assert!(is_allowed(&table, b"a", now));
        let (key, sent) = table.collect(1, now)[0];
        table.merge(key, &sent, Standing { ahead: -1000, total: round * 10 });
        now += SECOND / 40;
    }
    // One stands for ten, and the burst has room for one.
    assert!(is_allowed(&table, b"a", now));
    assert!(!is_allowed(&table, b"a", now));
    // Not for long, if nothing confirms it.
    let later = now + 2 * SECOND;
    assert_eq!((0..20).filter(|_| is_allowed(&table, b"a", later)).count(), 10);
}

#[test]
fn without_contact_each_has_its_share() {
    let peers = Arc::new(Peers::new(5));
    let table = SharedTable::new("a", Limit::new("10/s".parse().unwrap()), 10, Arc::clone(&peers));
    let served = (0..1000).filter(|tick| is_allowed(&table, b"a", SECOND + tick * SECOND / 100)).count();
    assert_eq!(served, 20);
    peers.note_exchange(100 * SECOND);
    let served = (0..10).filter(|tick| is_allowed(&table, b"a", 100 * SECOND + tick * SECOND / 100)).count();
    assert_eq!(served, 1);
}

#[test]
fn a_flood_of_keys_fills_the_list_and_no_more() {
    let table = table("10/s", 9, 1_000_000);
    for number in 0..200_000_u32 {
        assert!(is_allowed(&table, &number.to_be_bytes(), SECOND));
    }
    let waiting: usize = (0..SHARDS).map(|shard| table.lock(shard).listed.len()).sum();
    assert!(waiting <= MAX_LISTED, "{waiting}");
    assert_eq!(table.collect(1000, SECOND).len(), 1000);
    assert_eq!(table.collect(usize::MAX, SECOND).len(), waiting - 1000);
}

#[test]
fn held_keys_keep_their_place_among_keys_that_are_used_once() {
    let table = table("10/s", 9, 1000);
    for number in 0..10_u32 {
        (0..10).for_each(|_| assert!(is_allowed(&table, &number.to_be_bytes(), SECOND)));
    }
    for number in 100..20_000_u32 {
        assert!(is_allowed(&table, &number.to_be_bytes(), SECOND));
    }
    assert_eq!((0..10_u32).filter(|number| !is_allowed(&table, &number.to_be_bytes(), SECOND)).count(), 10);
    assert!(table.displaced() > 10_000, "{}", table.displaced());
}

#[test]
fn nothing_that_redis_says_overflows() {
    for rate in ["1/d", "1000000000/s"] {
        for burst in [0, 1_000_000] {
            for now in [0, 1, SECOND, u64::MAX / 4] {
                let table = table(rate, burst, 10);
                for ahead in [i64::MIN, -1, 0, 1, i64::MAX] {
                    for total in [0, 1, u32::MAX] {
                        let (key, _) = table.decide(b"a", u32::MAX, now);
                        table.charge(key, i32::MIN, now);
                        let _ = table.decide(b"a", 1, now);
                        for (key, sent) in table.collect(10, now) {
                            table.merge(key, &sent, Standing { ahead, total });
                        }
                        table.charge(key, i32::MAX, now);
                    }
                }
            }
        }
    }
}

/// `cargo test --release -p serow-fleet cost_of -- --ignored --nocapture`
#[test]
#[ignore = "measures"]
fn cost_of_a_decision() {
    let shared = table("1000000/s", 1_000_000, 100_000);
    let (own, limit) = (serow_limits::KeyTable::new(100_000), *shared.limit());
    let names: Vec<[u8; 4]> = (0..1000_u32).map(u32::to_be_bytes).collect();
    // The fastest of ten rounds: others use the machine, too.
    let cost = |decide: &dyn Fn(&[u8], u64) -> bool| {
        let rounds = (1..=10).map(|round| {
            let begun = std::time::Instant::now();
            let allowed = (0..1000).flat_map(|_| &names).filter(|name| decide(&name[..], round * SECOND)).count();
            assert!(allowed > 0);
            begun.elapsed().as_nanos() as u64 / 1_000_000
        });
        rounds.min().unwrap()
    };
    let alone = cost(&|name, now| own.decide(&limit, own.key(name), 1, now).is_allowed());
    let together = cost(&|name, now| shared.decide(name, 1, now).1.is_allowed());
    println!("a decision: {alone} ns for a limit of this server, {together} ns for a shared one");
    assert!(together < alone + 1000);
}
