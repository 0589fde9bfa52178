//! Files that were half written, or damaged by others: the server starts, and obtains what it needs.

use std::fs;

use super::{
    HOUR, Simulation,
    authority::{Faults, SimulatedAuthority},
    now, validity,
};
use serow_tls::CertificateTable;

use crate::CertificateControl;

/// A change of the files between two runs.
type Damage = fn(&mut String);

#[tokio::test(start_paused = true)]
async fn damaged_files_are_replaced_and_only_a_lost_certificate_is_ordered_again() {
    let cases: &[(&str, &str, Damage, usize)] = &[
        ("nothing", "certificates/n0.example.com.pem", |_| {}, 1),
        ("an empty certificate", "certificates/n0.example.com.pem", String::clear, 2),
        ("half a key", "certificates/n0.example.com.pem", |text| text.truncate(100), 2),
        ("half a certificate", "certificates/n0.example.com.pem", |text| text.truncate(text.len() / 2), 2),
        ("no certificate", "certificates/n0.example.com.pem", |text| text.truncate(end_of_key(text)), 2),
        ("no key", "certificates/n0.example.com.pem", |text| drop(text.drain(..end_of_key(text))), 2),
        ("another key", "certificates/n0.example.com.pem", other_key, 2),
        ("not UTF-8 in the sense of PEM", "certificates/n0.example.com.pem", |text| text.push('\0'), 1),
        ("an order that is not JSON", "orders/n0.example.com.pem.json", |text| text.push_str("{\"url\""), 1),
        ("an order elsewhere", "orders/n0.example.com.pem.json", |text| text.push_str(ELSEWHERE), 1),
        ("failures that are not JSON", "failures/n0.example.com.pem.json", |text| text.push_str("[["), 1),
        ("an account that is not JSON", "account.json", |text| text.truncate(10), 1),
    ];
    for (case, file, damage, orders) in cases {
        let mut simulation = Simulation::new(1);
        let authority = SimulatedAuthority::new(now, 90 * super::DAY, Faults::default(), true);
        let name = simulation.names[0].clone();
        let wait = async |_: CertificateControl, table: CertificateTable| {
            tokio::time::sleep(HOUR).await;
            validity(&table, &name)
        };
        assert!(simulation.run(&authority, wait).await.is_some(), "{case}");
        let path = simulation.files().join(file);
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        damage(&mut text);
        fs::write(&path, text).unwrap();
        let validity = simulation.run(&authority, wait).await;
        assert!(validity.is_some_and(|validity| validity.contains(now())), "{case}");
        assert_eq!(authority.counts().orders, *orders, "{case}");
    }
}

/// The end of the key, which is in front of the certificates.
fn end_of_key(text: &str) -> usize {
    let end = "-----END PRIVATE KEY-----\n";
    text.find(end).expect("a key") + end.len()
}

fn other_key(text: &mut String) {
    let key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    text.replace_range(..end_of_key(text), &key);
}

/// An order of an authority that is not this one.
const ELSEWHERE: &str = r#"{"url":"https://other.example/order/1","key":"none"}"#;
