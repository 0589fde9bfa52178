//! Bans that the servers of a fleet tell one another.

use std::{sync::Arc, time::Duration};

use serow_fleet::{Event, Fleet};
use serow_limits::{Ban, BanChange, BanOrigin, Bans};
use serow_message::ClientNetwork;
use serow_net::monotonic;

/// Tells the other servers which clients are banned here, and bans those that they ban. Bans of other servers are not
/// published again.
pub(super) fn share(bans: &Bans, fleet: &Arc<Fleet>) {
    let publisher = Arc::clone(fleet);
    bans.subscribe(move |change| {
        if let Some(payload) = payload(change, monotonic()) {
            publisher.events().publish(KIND, payload.as_bytes());
        }
    });
    let bans = bans.clone();
    fleet.events().subscribe(KIND, move |event| apply(&bans, event, monotonic()));
}

/// The message to the others about a change; `None` if it comes from them.
fn payload(change: &BanChange, now: Duration) -> Option<String> {
    match change {
        BanChange::Added(Ban { origin: BanOrigin::Fleet, .. }) | BanChange::Removed(_, BanOrigin::Fleet) => None,
        BanChange::Added(ban) => {
            let verb = if ban.origin == BanOrigin::Administrator { "set" } else { "add" };
            Some(format!("{verb} {} {} {}", ban.client, ban.remaining(now).as_millis(), ban.reason))
        }
        BanChange::Removed(client, _) => Some(format!("remove {client}")),
    }
}

/// Does what another server has told. Anything that can write to Redis may have written it: invalid payloads are skipped, and
/// trusted proxies are never banned.
fn apply(bans: &Bans, event: &Event, now: Duration) {
    let Ok(text) = std::str::from_utf8(&event.payload) else { return };
    let mut words = text.splitn(4, ' ');
    let (verb, client) = (words.next(), words.next().and_then(|client| client.parse::<ClientNetwork>().ok()));
    let Some(client) = client else { return };
    if verb == Some("remove") {
        bans.remove(client, BanOrigin::Fleet, now);
        return;
    }
    let milliseconds = words.next().and_then(|number| number.parse().ok());
    let Some(length) = milliseconds.map(Duration::from_millis) else { return };
    // It may have been told long ago.
    let left = length.saturating_sub(event.age);
    if verb == Some("set") {
        // An administrator may have shortened it.
        bans.remove(client, BanOrigin::Fleet, now);
    }
    if matches!(verb, Some("add" | "set")) && left > Duration::ZERO {
        // Here, the client may be a proxy that is trusted.
        let _ = bans.add(client, left, words.next().unwrap_or_default(), BanOrigin::Fleet, now);
    }
}

/// Of the events of bans.
const KIND: &str = "ban";

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    const NOW: Duration = Duration::from_secs(1000);

    fn event(payload: &[u8], age: u64) -> Event {
        Event { kind: KIND.to_owned(), payload: payload.to_vec(), age: Duration::from_secs(age) }
    }

    /// The bans, as client and seconds.
    fn list(bans: &Bans) -> Vec<String> {
        let mut found: Vec<_> = bans
            .list(10, NOW)
            .iter()
            .map(|ban| format!("{} {} {}", ban.client, ban.remaining(NOW).as_secs(), ban.reason))
            .collect();
        found.sort();
        found
    }

    #[test]
    fn bans_of_others_are_applied_and_nothing_else() {
        let bans = Bans::default();
        for (payload, age, expected) in [
            (&b"add 192.0.2.1 60000 a limit"[..], 10, &["192.0.2.1 50 a limit"][..]),
            (b"add 192.0.2.1 30000 shorter", 0, &["192.0.2.1 50 a limit"]),
            (b"set 192.0.2.1 30000 shorter", 0, &["192.0.2.1 30 shorter"]),
            (b"add 192.0.2.2 60000 too old", 60, &["192.0.2.1 30 shorter"]),
            (b"add 192.0.2.2 99999999999999999999 a", 0, &["192.0.2.1 30 shorter"]),
            (b"add 192.0.2.2 -1 a", 0, &["192.0.2.1 30 shorter"]),
            (b"add 192.0.2.2", 0, &["192.0.2.1 30 shorter"]),
            (b"add nobody 60000 a", 0, &["192.0.2.1 30 shorter"]),
            (b"\xff", 0, &["192.0.2.1 30 shorter"]),
            (b"", 0, &["192.0.2.1 30 shorter"]),
            (b"remove 192.0.2.1", 0, &[]),
        ] {
            apply(&bans, &event(payload, age), NOW);
            assert_eq!(list(&bans), expected, "{}", String::from_utf8_lossy(payload));
        }
    }

    #[test]
    fn bans_of_other_servers_are_not_published_again() {
        let (bans, told) = (Bans::default(), Arc::new(Mutex::new(Vec::new())));
        let sink = Arc::clone(&told);
        bans.subscribe(move |change| sink.lock().unwrap().extend(payload(change, NOW)));
        let client = "192.0.2.1".parse().unwrap();
        bans.add(client, Duration::from_secs(5), "logins", BanOrigin::Limit, NOW).unwrap();
        bans.add(client, Duration::from_secs(3), "by hand", BanOrigin::Administrator, NOW).unwrap();
        bans.remove(client, BanOrigin::Administrator, NOW);
        for payload in ["add 192.0.2.9 60000 a", "set 192.0.2.9 30000 a", "remove 192.0.2.9"] {
            apply(&bans, &event(payload.as_bytes(), 0), NOW);
        }
        let expected = ["add 192.0.2.1 5000 logins", "set 192.0.2.1 3000 by hand", "remove 192.0.2.1"];
        assert_eq!(*told.lock().unwrap(), expected);
    }
}
