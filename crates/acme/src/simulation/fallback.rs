//! A fallback while the first authority fails: it gets an order only when the certificate is urgent.

use std::{collections::BTreeMap, time::Duration};

use serow_tls::CertificateTable;
use tokio::time::sleep;

use super::{
    DAY, HOUR, Simulation,
    authority::{Faults, SimulatedAuthority},
    now, validity,
};
use crate::CertificateControl;

const LIFETIME: Duration = Duration::from_secs(90 * 24 * 3600);

/// The first authority, which nobody reaches between these days of the simulation, and a fallback.
fn authorities(outage: Option<(u32, u32)>) -> (Simulation, SimulatedAuthority, SimulatedAuthority) {
    let simulation = Simulation::new(1);
    let outages = outage.map(|(start, end)| (now() + DAY * start, now() + DAY * end)).into_iter().collect();
    let first = SimulatedAuthority::new(now, LIFETIME, Faults { of_hundred: 0, outages }, true);
    let fallback = SimulatedAuthority::new(now, LIFETIME, Faults::default(), true).other();
    (simulation.with_fallback(&fallback), first, fallback)
}

#[tokio::test(start_paused = true)]
async fn the_fallback_issues_only_while_the_certificate_is_urgent() {
    // The authority's window begins in the middle of the 90 days: half of the reserve has passed on day 67.
    for (case, outage, days, of_first, of_fallback) in [
        ("no outage", None, 80, 2, 0),
        ("an outage at the first start", Some((0, 1)), 2, 0, 1),
        ("the first authority renews what the fallback has issued", Some((0, 1)), 60, 1, 1),
        ("an outage with time left", Some((40, 60)), 80, 2, 0),
        ("an outage without time left", Some((40, 80)), 70, 1, 1),
    ] {
        let (mut simulation, first, fallback) = authorities(outage);
        let name = simulation.names[0].clone();
        let wait = async |_: CertificateControl, table: CertificateTable| {
            sleep(HOUR).await;
            assert!(validity(&table, &name).is_some_and(|validity| validity.contains(now())), "{case}: no certificate");
            sleep(DAY * days).await;
            validity(&table, &name)
        };
        let last = simulation.run(&first, wait).await;
        assert!(last.is_some_and(|validity| validity.contains(now())), "{case}");
        assert_eq!((first.counts().issued, fallback.counts().issued), (of_first, of_fallback), "{case}");
        assert_eq!((first.counts().strays, fallback.counts().strays), (0, 0), "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_restart_the_issuer_of_a_certificate_is_known() {
    let (mut simulation, first, fallback) = authorities(Some((0, 1)));
    let name = simulation.names[0].clone();
    let wait = async |_: CertificateControl, table: CertificateTable| {
        sleep(DAY * 2).await;
        validity(&table, &name)
    };
    let issued = simulation.run(&first, wait).await;
    assert!(issued.is_some());
    assert_eq!(simulation.run(&first, wait).await, issued);
    // Without the fallback, Serow requests no renewal window for its certificate.
    simulation.settings.fallback = None;
    assert_eq!(simulation.run(&first, wait).await, issued);
    assert_eq!((first.counts().orders, fallback.counts().issued), (0, 1));
    assert_eq!((first.counts().strays, fallback.counts().strays), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_order_that_the_first_authority_has_not_finished_never_reaches_the_fallback() {
    let (mut simulation, first, fallback) = authorities(None);
    let name = simulation.names[0].clone();
    first.deceive(Some(super::authority::Lie::NeverFinished));
    let files = simulation.files().join("orders");
    let wait = async |_: CertificateControl, table: CertificateTable| {
        sleep(HOUR).await;
        validity(&table, &name)
    };
    assert!(simulation.run(&first, wait).await.is_some());
    assert_eq!((first.counts().orders, fallback.counts().issued), (1, 1));
    assert_eq!((first.counts().strays, fallback.counts().strays), (0, 0));
    assert_eq!(std::fs::read_dir(files).unwrap().count(), 0, "the order of the first authority is left");
}

#[tokio::test(start_paused = true)]
async fn the_failures_of_both_authorities_are_reported() {
    let (simulation, first, _) = authorities(Some((0, 10)));
    let outages = BTreeMap::from([(now(), now() + DAY * 10)]);
    let fallback = SimulatedAuthority::new(now, LIFETIME, Faults { of_hundred: 0, outages }, true).other();
    let mut simulation = simulation.with_fallback(&fallback);
    let scene = async |control: CertificateControl, _: CertificateTable| {
        sleep(HOUR).await;
        control.reports()
    };
    let reports = simulation.run(&first, scene).await;
    let error = reports[0].last_error.clone().unwrap_or_default();
    assert!(
        error.contains("connection refused; the fallback https://other.example/dir: connection refused"),
        "{error}"
    );
    assert!(reports[0].failures >= 4, "{reports:?}");
}
