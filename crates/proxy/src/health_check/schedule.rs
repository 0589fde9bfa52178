//! Checking servers again and again.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use serow_client::Buffers;
use serow_net::Clock;
use tokio::{
    task::{AbortHandle, spawn_local},
    time::{Instant, sleep, sleep_until},
};

use super::check::check;
use crate::{health::Change, server::Server, settings::CheckSettings, upstream::Upstream};

/// Checks the servers of an upstream, those as well that come later, until this is dropped.
pub(crate) async fn check_servers(upstream: Upstream, buffers: Rc<Buffers>) {
    let Some(settings) = upstream.settings().check.clone() else { return };
    let mut under_check: HashMap<u64, Checking> = HashMap::new();
    loop {
        let mut changed = Box::pin(upstream.changed());
        changed.as_mut().enable();
        let servers = upstream.servers();
        under_check.retain(|number, _| servers.iter().any(|server| server.number() == *number));
        let new: Vec<_> = servers.iter().filter(|server| !under_check.contains_key(&server.number())).collect();
        for (place, server) in new.iter().enumerate() {
            let pause = first_pause(place, new.len(), settings.interval);
            let checks =
                check_forever(upstream.clone(), Arc::clone(server), settings.clone(), Rc::clone(&buffers), pause);
            under_check.insert(server.number(), Checking(spawn_local(checks).abort_handle()));
        }
        changed.await;
    }
}

/// The checks of a server, until this is dropped.
struct Checking(AbortHandle);

impl Drop for Checking {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// One check after the other, so that there is never more than one at a time.
async fn check_forever(
    upstream: Upstream,
    server: Arc<Server>,
    settings: CheckSettings,
    buffers: Rc<Buffers>,
    pause: Duration,
) {
    let (clock, random) = (Clock::new(), RandomState::new());
    sleep(pause).await;
    for number in 0_u64.. {
        let next = Instant::now() + around(settings.interval, random.hash_one(number));
        let result = check(&server, upstream.settings(), &settings, &buffers).await;
        clock.update();
        let change = server.health.note(result.map_err(|failure| failure.to_string()), &settings, clock.now());
        if change == Some(Change::CameUp) {
            server.outlier.shorten();
            server.note_up(clock.now());
        }
        log_change(change, &upstream, &server, &settings);
        sleep_until(next).await;
    }
}

fn log_change(change: Option<Change>, upstream: &Upstream, server: &Server, settings: &CheckSettings) {
    let (upstream, name) = (&upstream.settings().name, server.name());
    match change {
        None => {}
        Some(Change::CameUp) => tracing::warn!(upstream, "{name} is up ({})", checks(settings.rise)),
        Some(Change::WentDown) => {
            let failure = server.health.report().failure.unwrap_or_default();
            tracing::warn!(upstream, "{name} is down: {failure} ({})", checks(settings.fall));
        }
    }
}

fn checks(count: u32) -> String {
    if count == 1 { "1 check".to_owned() } else { format!("{count} checks") }
}

/// How long the first check of a server waits: a few are checked at once, many one after the other, all within an
/// interval.
fn first_pause(place: usize, of: usize, interval: Duration) -> Duration {
    let (place, of) = (u32::try_from(place).unwrap_or(u32::MAX), u32::try_from(of).unwrap_or(u32::MAX).max(1));
    (interval / of).min(PACE).saturating_mul(place)
}

/// Varies the interval by up to a tenth, by a random number.
fn around(interval: Duration, random: u64) -> Duration {
    interval.mul_f64(0.9 + 0.2 * (random as f64 / u64::MAX as f64))
}

/// The pause between the first checks of two servers: a hundred a second are not a burden.
const PACE: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BackgroundTasks, CheckKind, ServerSettings, UpstreamSettings};

    /// A server whose port is closed, so that a check fails at once.
    fn refusing(upstream: &Upstream, port: u16) -> Arc<Server> {
        let address = std::net::SocketAddr::from(([127, 0, 0, 1], port));
        let settings = ServerSettings::new(address.to_string().parse().unwrap());
        upstream.new_server(settings, serow_client::Destination::Tcp(address))
    }

    fn wait_until(is_so: impl Fn() -> bool) {
        let began = std::time::Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(10), "that takes too long");
            std::thread::yield_now();
        }
    }

    #[test]
    fn added_servers_are_checked_and_removed_ones_are_not() {
        let mut settings = UpstreamSettings::new("app", Vec::new());
        let interval = Duration::from_millis(1);
        settings.check = Some(CheckSettings { interval, fall: 1, ..CheckSettings::new(CheckKind::Tcp) });
        let upstream = Upstream::new(settings);
        let _background_tasks = BackgroundTasks::start(vec![upstream.clone()]).unwrap();
        let (first, second) = (refusing(&upstream, 1), refusing(&upstream, 2));
        assert!(first.health.is_up() && second.health.is_up());
        upstream.change_servers(|_| vec![Arc::clone(&first)]);
        wait_until(|| !first.health.is_up());
        upstream.change_servers(|_| vec![Arc::clone(&second)]);
        wait_until(|| !second.health.is_up());
        // The running check is cancelled, and no other follows.
        let fall = first.health.report().fall;
        let seen = second.health.report().fall;
        wait_until(|| second.health.report().fall > seen + 5);
        assert_eq!(first.health.report().fall, fall);
    }

    #[test]
    fn first_checks_are_spread() {
        let second = Duration::from_secs(1);
        let cases = [
            (0, 1, second, 0),
            (0, 5, second, 0),
            (4, 5, second, 40),
            (99, 100, second, 990),
            (999, 1000, second, 999),
            (4, 5, Duration::from_millis(10), 8),
        ];
        for (place, of, interval, expected) in cases {
            let pause = first_pause(place, of, interval);
            assert_eq!(pause, Duration::from_millis(expected), "{place} of {of}");
            assert!(pause < interval);
        }
    }

    #[test]
    fn intervals_differ_by_a_tenth() {
        let interval = Duration::from_secs(10);
        for (random, expected) in [(0, 9000), (u64::MAX / 2, 10_000), (u64::MAX, 11_000)] {
            assert_eq!(around(interval, random).as_millis(), expected, "{random}");
        }
    }
}
