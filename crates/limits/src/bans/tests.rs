use std::net::Ipv4Addr;

use serow_message::Network;

use super::*;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn client(number: u32) -> ClientNetwork {
    ClientNetwork::of(Ipv4Addr::from_bits(number).into())
}

fn add(bans: &Bans, number: u32, length: u64, origin: BanOrigin, now: u64) {
    bans.add(client(number), seconds(length), "a", origin, seconds(now)).unwrap();
}

fn is_banned(bans: &Bans, number: u32, now: u64) -> bool {
    bans.is_banned(Ipv4Addr::from_bits(number).into(), seconds(now))
}

#[test]
fn bans_end_are_extended_and_are_lifted() {
    let bans = Bans::default();
    assert!(bans.is_empty() && !is_banned(&bans, 1, 0));
    add(&bans, 1, 60, BanOrigin::Limit, 10);
    for (number, now, expected) in [(1, 10, true), (1, 69, true), (1, 70, false), (2, 10, false)] {
        assert_eq!(is_banned(&bans, number, now), expected, "{number} {now}");
    }
    // A shorter ban by a limit or by another server does not replace a longer one; an administrator's does.
    for (origin, length, ends) in
        [(BanOrigin::Limit, 5, 70), (BanOrigin::Fleet, 90, 110), (BanOrigin::Administrator, 10, 30)]
    {
        add(&bans, 1, length, origin, 20);
        assert_eq!([is_banned(&bans, 1, ends - 1), is_banned(&bans, 1, ends)], [true, false], "{origin:?}");
    }
    assert!(!bans.remove(client(2), BanOrigin::Administrator, seconds(25)));
    assert!(bans.remove(client(1), BanOrigin::Administrator, seconds(25)));
    assert!(bans.is_empty());
    add(&bans, 1, 60, BanOrigin::Limit, 10);
    assert_eq!(bans.counts(seconds(69)).banned, 1);
    let counts = bans.counts(seconds(70));
    assert_eq!((counts.banned, counts.added, bans.is_empty()), (0, [2, 1, 1], true));
}

#[test]
fn trusted_proxies_are_never_banned() {
    let trusted = ["10.0.0.0/8", "2001:db8::7/128", "fd00::/8", "unix"];
    let trusted: TrustedProxies = trusted.iter().map(|network| network.parse::<Network>().unwrap()).collect();
    let bans = Bans::new(trusted);
    for (address, expected) in
        [("10.1.2.3", false), ("11.1.2.3", true), ("2001:db8::1", false), ("2001:db8:0:1::1", true), ("fd12::1", false)]
    {
        let address: IpAddr = address.parse().unwrap();
        let outcome = bans.add(ClientNetwork::of(address), seconds(9), "", BanOrigin::Administrator, seconds(1));
        assert_eq!((outcome.is_ok(), bans.is_banned(address, seconds(1))), (expected, expected), "{address}");
        bans.restore(&format!("9000 limit {address} a\n"), seconds(2));
        assert_eq!(bans.is_banned(address, seconds(2)), expected, "{address} in a snapshot");
    }
}

#[test]
fn the_ban_that_ends_first_makes_room() {
    let bans = Bans { shared: Arc::new(BanState::new(TrustedProxies::default(), 3)) };
    for (number, length) in [(1, 50), (2, 10), (3, 90), (4, 30), (4, 40)] {
        add(&bans, number, length, BanOrigin::Limit, 0);
    }
    assert_eq!([1, 2, 3, 4].map(|number| is_banned(&bans, number, 1)), [true, false, true, true]);
    let list: Vec<_> = bans.list(2, seconds(1)).iter().map(|ban| ban.client).collect();
    assert_eq!((list, bans.counts(seconds(1)).displaced), (vec![client(3), client(1)], 1));
    // One that has ended makes room without displacing another.
    add(&bans, 5, 90, BanOrigin::Limit, 45);
    assert_eq!(bans.counts(seconds(46)).displaced, 1);
}

#[test]
fn subscribers_learn_of_changes_by_others() {
    let bans = Bans::default();
    let (sender, receiver) = std::sync::mpsc::channel();
    // A subscriber may use the bans.
    let inner = bans.clone();
    bans.subscribe(move |change| sender.send((change.clone(), inner.list(9, seconds(1)).len())).unwrap());
    add(&bans, 1, 60, BanOrigin::Limit, 1);
    add(&bans, 1, 30, BanOrigin::Limit, 1);
    bans.restore(&bans.snapshot(seconds(1)), seconds(1));
    bans.remove(client(1), BanOrigin::Fleet, seconds(1));
    bans.remove(client(1), BanOrigin::Fleet, seconds(1));
    let ban = Ban { client: client(1), until: seconds(61), reason: "a".into(), origin: BanOrigin::Limit };
    let expected = [(BanChange::Added(ban), 1), (BanChange::Removed(client(1), BanOrigin::Fleet), 0)];
    assert_eq!(receiver.try_iter().collect::<Vec<_>>(), expected);
}

#[test]
fn another_process_continues_with_a_snapshot() {
    let bans = Bans::default();
    bans.add("2001:db8::/64".parse().unwrap(), seconds(60), "two words", BanOrigin::Administrator, seconds(5)).unwrap();
    add(&bans, 1, 10, BanOrigin::Limit, 5);
    let snapshot = bans.snapshot(seconds(10));
    assert_eq!(snapshot, "65000 administrator 2001:db8::/64 two words\n15000 limit 0.0.0.1 a\n");
    let other = Bans::default();
    other.restore(&snapshot, seconds(10));
    assert_eq!(other.list(9, seconds(10)), bans.list(9, seconds(10)));
    let late = Bans::default();
    late.restore(&snapshot, seconds(20));
    assert_eq!(late.list(9, seconds(20)).len(), 1);
    for text in
        ["", "\n", "1", "x limit 192.0.2.1 a", "99 nobody 192.0.2.1 a", "99000 limit 192.0.2.0/24 a", "99 limit"]
    {
        let none = Bans::default();
        none.restore(text, seconds(1));
        assert!(none.is_empty(), "{text}");
    }
    // A compromised process cannot ban for ever.
    late.restore("18446744073709551615 limit 192.0.2.9 a", seconds(20));
    assert!(!late.is_banned("192.0.2.9".parse().unwrap(), seconds(20)));
}

#[test]
fn a_flood_of_addresses_takes_bounded_memory() {
    let bans = Bans::default();
    for number in 0..200_000 {
        add(&bans, number, 60, BanOrigin::Limit, 0);
    }
    assert_eq!(bans.counts(seconds(1)).banned, 65_536);
}
