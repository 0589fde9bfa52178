//! Certificates that are due for renewal as soon as they were issued.

use std::time::{Duration, SystemTime};

use tokio::time::sleep;

use super::{
    DAY, HOUR, Simulation,
    authority::{Faults, SimulatedAuthority, Suggestion},
    now,
};

/// The clock of the authority, which the server's is ahead of by four days.
fn behind() -> SystemTime {
    now() - DAY * 4
}

/// How many certificates are issued in so many hours, by a server that is restarted each hour, or never.
async fn issued(authority: &SimulatedAuthority, hours: u32, is_restarted: bool) -> (usize, u32, Option<String>) {
    let mut simulation = Simulation::new(1);
    let (runs, time) = if is_restarted { (hours, HOUR) } else { (1, HOUR * hours) };
    let mut reports = Vec::new();
    for _ in 0..runs {
        reports = simulation
            .run(authority, async |control, _| {
                sleep(time).await;
                control.reports()
            })
            .await;
    }
    (authority.counts().orders, reports[0].failures, reports[0].last_error.clone())
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_ahead_leads_to_few_orders_and_an_error() {
    for is_restarted in [false, true] {
        // After 0, 1, 3, 7 and 15 hours.
        let authority = SimulatedAuthority::new(behind, DAY * 6, Faults::default(), false);
        let (orders, failures, error) = issued(&authority, 16, is_restarted).await;
        assert_eq!((orders, failures), (5, 5), "restarted: {is_restarted}");
        assert!(error.as_ref().is_some_and(|error| error.contains("set the clock")), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn windows_that_have_passed_lead_to_few_orders() {
    let at_once: Suggestion = |issued, _| (issued, issued + Duration::from_secs(60));
    let long_ago: Suggestion = |issued, _| (issued - DAY * 2, issued - DAY);
    let (half, reversed): (Suggestion, Suggestion) =
        (|issued, life| (issued + life / 2, issued + life / 2 + HOUR), |issued, _| (issued, issued - DAY));
    for (case, suggestion, lifetime, hours, expected) in [
        ("at once", at_once, DAY * 90, 16, 5),
        ("at once, with a short life", at_once, DAY * 6, 16, 5),
        ("before the certificate", long_ago, DAY * 90, 16, 1),
        ("the end before the start", reversed, DAY * 90, 16, 1),
        ("the half of a life of two hours", half, HOUR * 2, 8, 6),
    ] {
        for is_restarted in [false, true] {
            let authority = SimulatedAuthority::new(now, lifetime, Faults::default(), true);
            authority.suggest(suggestion);
            let orders = issued(&authority, hours, is_restarted).await.0;
            assert!(orders.abs_diff(expected) <= usize::from(lifetime < DAY), "{case}, {is_restarted}: {orders}");
        }
    }
}

/// Names that change belong to another certificate.
#[tokio::test(start_paused = true)]
async fn a_certificate_for_other_names_is_ordered_at_once() {
    let authority = SimulatedAuthority::new(now, DAY * 90, Faults::default(), true);
    let mut simulation = Simulation::new(2);
    let all = simulation.settings.certificates.clone();
    for (names, orders) in [(1, 1), (2, 2), (2, 2)] {
        simulation.settings.certificates = all[..names].to_vec();
        simulation.run(&authority, async |_, _| sleep(HOUR / 6).await).await;
        assert_eq!(authority.counts().orders, orders, "{names}");
    }
}
