use std::time::SystemTime;

use serow_client::Origin;

use super::*;
use crate::waterfall::{Ending, Piece, ResourceSpec, Signals};

/// A recording of two resources, from pieces: the second of arrival, the resource, and its bytes.
fn recording(pieces: &[(f64, usize, u64)]) -> Recording {
    let (origin, path) = Origin::of_url("a/").unwrap();
    let spec = ResourceSpec { path, priority: None, after: Duration::ZERO, changes: Vec::new() };
    let mut resources = vec![Resource::new(spec.clone()), Resource::new(spec)];
    for &(moment, resource, bytes) in pieces {
        resources[resource].asked = Some(Duration::ZERO);
        resources[resource].pieces.push(Piece { moment: Duration::from_secs_f64(moment), bytes, place: 0 });
    }
    Recording {
        origin,
        socket: None,
        signals: Signals::Rfc9218,
        version: http::Version::HTTP_2,
        connecting: Duration::ZERO,
        handshake: None,
        encryption: None,
        began: SystemTime::UNIX_EPOCH,
        clock: Duration::ZERO,
        resources,
        elapsed: Duration::from_secs_f64(pieces.iter().map(|piece| piece.0).fold(0.0, f64::max)),
        ending: Ending::Complete,
    }
}

fn near(found: &[f64], expected: &[f64]) {
    let is_near = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6);
    assert!(is_near && found.len() == expected.len(), "{found:?} instead of {expected:?}");
}

#[test]
fn lumps_are_carried_one_byte_after_the_other() {
    // A record of 2,000 bytes every two seconds: 1,000 bytes each second, whatever a short window shows.
    let lumps: Vec<_> = (1..=20).map(|number| (f64::from(number) * 2.0, number as usize % 2, 2000)).collect();
    let bandwidth = Bandwidth::of(&recording(&lumps)).unwrap();
    near(&[bandwidth.rate], &[1000.0]);
    near(&bandwidth.shares(None, Duration::from_secs(40), 10), &[1.0; 10]);
    near(&bandwidth.shares(Some(1), Duration::from_secs(40), 20), &[1.0, 0.0].repeat(10));
}

#[test]
fn bytes_that_waited_for_a_lost_packet_came_before() {
    // 100 bytes each tenth of a second; from 5 s to 6 s nothing can be used, then all at once.
    let steady = (1..=200_u32).map(|tenth| {
        let moment = if (50..60).contains(&tenth) { 6.0 } else { f64::from(tenth) / 10.0 };
        (moment, 0, 100)
    });
    let bandwidth = Bandwidth::of(&recording(&steady.collect::<Vec<_>>())).unwrap();
    near(&[bandwidth.rate], &[1000.0]);
    let shares = bandwidth.shares(None, Duration::from_secs(20), 20);
    assert!(shares.iter().all(|share| *share <= 1.0 + 1e-6), "{shares:?}");
    // Whole again behind the gap.
    let carried: f64 = shares.iter().map(|share| share * bandwidth.rate).sum();
    near(&[carried], &[20_000.0]);
    assert!(shares.iter().all(|share| *share > 0.9), "{shares:?}");
}

#[test]
fn a_faster_link_does_not_carry_before_its_time() {
    // Ten times as fast in the last second of a hundred.
    let slow = (1..=990_u32).map(|tenth| (f64::from(tenth) / 10.0, 0, 100));
    let fast = (1..=10_u32).map(|tenth| (99.0 + f64::from(tenth) / 10.0, 1, 1000));
    let bandwidth = Bandwidth::of(&recording(&slow.chain(fast).collect::<Vec<_>>())).unwrap();
    near(&[bandwidth.rate], &[1000.0]);
    let shares = bandwidth.shares(None, Duration::from_secs(100), 20);
    assert!(shares[..18].iter().all(|share| (share - 1.0).abs() < 0.01), "{shares:?}");
}

#[test]
fn an_idle_link_stays_idle() {
    let bandwidth =
        Bandwidth::of(&recording(&[(1.0, 0, 500), (2.0, 0, 1000), (9.0, 1, 100), (10.0, 1, 1000)])).unwrap();
    near(&[bandwidth.rate], &[1000.0]);
    let expected = [0.5, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 1.0];
    near(&bandwidth.shares(None, Duration::from_secs(10), 10), &expected);
}

#[test]
fn few_bytes() {
    assert!(Bandwidth::of(&recording(&[])).is_none());
    let bandwidth = Bandwidth::of(&recording(&[(2.0, 0, 500)])).unwrap();
    near(&[bandwidth.rate], &[250.0]);
    near(&bandwidth.shares(Some(0), Duration::from_secs(2), 4), &[1.0; 4]);
    near(&bandwidth.shares(Some(1), Duration::from_secs(2), 4), &[0.0; 4]);
    // Everything at the beginning.
    let bandwidth = Bandwidth::of(&recording(&[(0.0, 0, 500)])).unwrap();
    assert!(bandwidth.rate.is_finite());
    assert!(bandwidth.shares(None, Duration::ZERO, 4).iter().all(|share| share.is_finite()));
}
