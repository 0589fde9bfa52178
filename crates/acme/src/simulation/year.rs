//! A simulated year: the authority fails at times.

use std::{
    collections::BTreeMap,
    env,
    time::{Duration, SystemTime},
};

use super::{
    DAY, HOUR, Simulation,
    authority::{Faults, SimulatedAuthority},
    now, validity,
};

/// The counters of a simulation.
#[derive(Debug)]
struct Outcome {
    /// Hours in which some name had an expired certificate, or none.
    expired: usize,
    /// Orders, and the certificates that came of them.
    orders: usize,
    issued: usize,
    /// Orders that were necessary: one at each half of a lifetime.
    necessary: usize,
    /// Answers that were faulty, or did not come.
    faults: usize,
}

/// So many names for so many days.
async fn simulate(names: usize, days: u32, lifetime: Duration, faults: Faults, has_windows: bool) -> Outcome {
    let mut simulation = Simulation::new(names);
    let names = simulation.names.clone();
    let authority = SimulatedAuthority::new(now, lifetime, faults, has_windows);
    let expired = simulation.run(&authority, async |control, table| {
        let mut expired = 0;
        // The first certificates have a day: the authority fails from the beginning, and delays after a rate limit begin
        // with an hour.
        tokio::time::sleep(DAY).await;
        for hour in 24..u64::from(days) * 24 {
            let now = now();
            let all = control.reports();
            for report in all.iter().filter(|report| report.expires.is_none_or(|expires| expires <= now)) {
                eprintln!("hour {hour}: {report:?}");
                expired += 1;
            }
            if hour % 24 == 0 {
                // Those that clients get, and not only those that are reported.
                let name = &names[hour as usize / 24 % names.len()];
                let validity = validity(&table, name).expect("a certificate");
                assert!(validity.contains(now), "{name} at {now:?}: {validity:?}");
            }
            tokio::time::sleep(HOUR).await;
        }
        expired
    });
    let expired = expired.await;
    let counts = authority.counts();
    let halves = (DAY * days).as_secs().div_ceil(lifetime.as_secs() / 2) as usize;
    Outcome {
        expired,
        orders: counts.orders,
        issued: counts.issued,
        necessary: names.len() * halves,
        faults: counts.faults,
    }
}

fn check(outcome: &Outcome) {
    eprintln!(
        "{outcome:?}: {:.3} orders for each that was necessary",
        outcome.orders as f64 / outcome.necessary as f64
    );
    assert_eq!(outcome.expired, 0, "{outcome:?}");
    assert!(outcome.orders as f64 <= 1.05 * outcome.necessary as f64, "{outcome:?}");
    assert!(outcome.faults > 100 && outcome.issued <= outcome.orders, "{outcome:?}");
}

/// How much of the whole simulation is run: `tests/certificates-year` runs 1,000 names for a year.
fn size(variable: &str, default: u32) -> u32 {
    env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A tenth of all answers is faulty, and for 36 hours there are none.
fn faults() -> Faults {
    let outage = SystemTime::UNIX_EPOCH + DAY * 20_010;
    Faults { of_hundred: 10, outages: BTreeMap::from([(outage, outage + 36 * HOUR)]) }
}

#[tokio::test(start_paused = true)]
async fn six_day_certificates_never_expire_with_faults_and_an_outage() {
    let (names, days) = (size("SEROW_ACME_NAMES", 8), size("SEROW_ACME_DAYS", 40));
    check(&simulate(names as usize, days, 6 * DAY, faults(), true).await);
}

#[tokio::test(start_paused = true)]
async fn certificates_of_an_authority_without_renewal_windows_never_expire() {
    let (names, days) = (size("SEROW_ACME_NAMES", 8), size("SEROW_ACME_DAYS", 40));
    check(&simulate(names as usize, days, 6 * DAY, faults(), false).await);
}
