//! An authority that deceives: the certificate in use stays, and the authority gets few orders.

use crate::CertificateControl;

use super::{
    DAY, HOUR, Simulation,
    authority::{Faults, Lie, SimulatedAuthority},
    now, validity,
};

#[tokio::test(start_paused = true)]
async fn an_authority_that_deceives_gets_few_orders_and_the_certificate_in_use_stays() {
    for (lie, expected) in [
        (Lie::OtherKey, "unusable"),
        (Lie::OtherName, "lacks names that were ordered"),
        (Lie::Expired, "set the clock"),
        (Lie::Damaged, "unusable"),
        (Lie::OtherText, "is not a certificate"),
        (Lie::NoCertificate, "the authority"),
        (Lie::NeverFinished, "has not finished the order in time"),
        (Lie::Invalid, "the authority"),
    ] {
        let mut simulation = Simulation::new(1);
        let authority = SimulatedAuthority::new(now, 6 * DAY, Faults::default(), true);
        let (name, deceiver) = (simulation.names[0].clone(), authority.clone());
        let scene = async |control: CertificateControl, table| {
            tokio::time::sleep(HOUR).await;
            let first = validity(&table, &name).expect("a certificate");
            deceiver.deceive(Some(lie));
            // It is renewed when half of the six days are left.
            tokio::time::sleep(4 * DAY).await;
            assert_eq!(validity(&table, &name), Some(first), "{lie:?}");
            let [report] = &control.reports()[..] else { panic!("{lie:?}: one certificate") };
            let error = report.last_error.as_deref().unwrap_or_default();
            assert!(error.contains(expected), "{lie:?}: {error}");
            assert!(!error.contains('\n'), "{lie:?}: {error}");
            // The delays double from two minutes on: ten fit into a day and a half. The first order was honest.
            let orders = deceiver.counts().orders;
            assert!((2..=12).contains(&orders), "{lie:?}: {orders} orders");
            deceiver.deceive(None);
            tokio::time::sleep(DAY).await;
            let second = validity(&table, &name).expect("a certificate");
            assert!(second.not_after > first.not_after, "{lie:?}: {:?}", control.reports());
        };
        simulation.run(&authority, scene).await;
    }
}
