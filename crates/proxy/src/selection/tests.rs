//! Server selection, with servers in every state.

use std::{
    collections::BTreeSet,
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
    time::Duration,
};

use serow_net::Moment;

use super::*;
use crate::{
    CheckKind, CheckSettings, CheckStart, PassiveSettings, ServerAddress, ServerSettings, Upstream, UpstreamSettings,
    outlier::Outcome,
};

/// The state of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Up,
    Backup,
    Weightless,
    Draining,
    Down,
    /// The checks say so.
    Unwell,
    Ejected,
    Full,
    Tried,
}

use State::{Backup, Down, Draining, Ejected, Full, Tried, Unwell, Up, Weightless};

/// The possible choices: places, or none for one of two reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    Servers(BTreeSet<usize>),
    Busy,
    Nobody,
}

fn some<const COUNT: usize>(places: [usize; COUNT]) -> Found {
    Found::Servers(places.into())
}

fn check() -> CheckSettings {
    CheckSettings {
        kind: CheckKind::Tcp,
        interval: Duration::from_secs(5),
        timeout: Duration::from_secs(1),
        rise: 1,
        fall: 1,
        start: CheckStart::Up,
        port: None,
    }
}

/// An upstream with servers in these states, those at their limit included.
fn upstream(states: &[State]) -> (Upstream, Vec<Lease>) {
    let servers = (9001..).zip(states).map(|(port, state)| {
        let address: ServerAddress = format!("127.0.0.1:{port}").parse().unwrap();
        let max_requests = (*state == Full).then_some(1);
        let weight = u16::from(*state != Weightless);
        ServerSettings { max_requests, weight, backup: *state == Backup, ..ServerSettings::new(address) }
    });
    let upstream =
        Upstream::new(UpstreamSettings { check: Some(check()), ..UpstreamSettings::new("test", servers.collect()) });
    let servers = upstream.servers();
    let now = serow_net::Clock::new().now();
    let leases = states.iter().zip(&*servers).filter_map(|(state, server)| put(server, *state, now)).collect();
    (upstream, leases)
}

fn put(server: &Arc<Server>, state: State, now: Moment) -> Option<Lease> {
    match state {
        Up | Backup | Weightless | Tried => {}
        Draining => server.set_administration(Administration::Draining, now),
        Down => server.set_administration(Administration::Down, now),
        Unwell => drop(server.health.note(Err("silence".to_owned()), &check(), now)),
        Ejected => {
            let settings = PassiveSettings { failures: 1, ejection: Duration::from_secs(100) };
            assert!(server.outlier.note(Outcome::Failure, now, &settings, || true).is_some());
        }
        Full => return Lease::take(server),
    }
    None
}

/// The choices for many requests of this kind.
fn select(states: &[State], session: Option<usize>, only_session: bool) -> Found {
    let (upstream, _leases) = upstream(states);
    let number = |place: usize| upstream.servers()[place].number();
    let tried = (0..states.len()).filter(|place| states[*place] == Tried).map(number).collect();
    let requirements = Requirements { session: session.map(number), only_session, tried, ..Requirements::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let local = LocalUpstream::of(&upstream);
        let mut places = BTreeSet::new();
        for _ in 0..20 {
            match local.select(&requirements) {
                Selection::Chosen(lease) => {
                    let is_it = |server: &Arc<Server>| server.number() == lease.server().number();
                    places.extend(upstream.servers().iter().position(is_it));
                }
                Selection::Busy => return Found::Busy,
                Selection::Nobody => return Found::Nobody,
            }
        }
        Found::Servers(places)
    })
}

#[test]
fn only_eligible_servers_are_selected() {
    let cases: [(&[State], Found); 21] = [
        (&[], Found::Nobody),
        (&[Up], some([0])),
        (&[Up, Up], some([0, 1])),
        (&[Up, Weightless], some([0])),
        (&[Up, Draining, Down, Unwell], some([0])),
        (&[Draining], Found::Nobody),
        (&[Down, Weightless], Found::Nobody),
        (&[Unwell, Unwell], Found::Nobody),
        (&[Up, Backup], some([0])),
        (&[Down, Backup, Backup], some([1, 2])),
        (&[Full, Backup], some([1])),
        (&[Full, Up], some([1])),
        (&[Full, Down], Found::Busy),
        (&[Up, Ejected], some([0])),
        (&[Ejected, Backup], some([1])),
        (&[Ejected, Down], some([0])),
        (&[Ejected, Full], Found::Busy),
        (&[Up, Tried], some([0])),
        (&[Tried, Backup], some([1])),
        (&[Tried, Ejected], some([1])),
        (&[Tried, Unwell], some([0])),
    ];
    for (states, expected) in cases {
        assert_eq!(select(states, None, false), expected, "{states:?}");
    }
}

#[test]
fn where_sessions_go() {
    // The session's server, and where its requests go with and without another one's help.
    let cases = [
        (Up, some([0]), some([0])),
        (Backup, some([0]), some([0])),
        (Weightless, some([0]), some([0])),
        (Draining, some([0]), some([0])),
        (Full, Found::Busy, Found::Busy),
        (Down, some([1]), Found::Nobody),
        (Unwell, some([1]), Found::Nobody),
        (Ejected, some([1]), Found::Nobody),
        (Tried, some([1]), Found::Nobody),
    ];
    for (own, helped, alone) in cases {
        assert_eq!(select(&[own, Up], Some(0), false), helped, "{own:?}");
        assert_eq!(select(&[own, Up], Some(0), true), alone, "{own:?}");
    }
}

#[test]
fn whether_there_is_another() {
    let cases: [(&[State], bool); 7] = [
        (&[Tried], false),
        (&[Tried, Tried], false),
        (&[Tried, Up], true),
        (&[Tried, Backup], true),
        (&[Tried, Full], true),
        (&[Tried, Down], false),
        (&[Tried, Draining, Unwell], false),
    ];
    for (states, expected) in cases {
        let (upstream, _leases) = upstream(states);
        let servers = upstream.servers();
        let tried = servers.iter().zip(states).filter(|(_, state)| **state == Tried);
        let requirements =
            Requirements { tried: tried.map(|(server, _)| server.number()).collect(), ..Requirements::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            assert_eq!(LocalUpstream::of(&upstream).has_another(&requirements), expected, "{states:?}");
            let bound = Requirements { only_session: true, ..requirements };
            assert!(!LocalUpstream::of(&upstream).has_another(&bound), "{states:?}");
        });
    }
}

fn poll<F: Future>(future: &mut Pin<&mut F>) -> Poll<F::Output> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn a_new_request_does_not_overtake_one_that_waits() {
    let (upstream, leases) = upstream(&[Full]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let (local, requirements) = (LocalUpstream::of(&upstream), Requirements::default());
        assert!(local.select_at_once(&requirements).is_none());
        let mut first = pin!(local.select_in_turn(&requirements));
        assert!(poll(&mut first).is_pending());
        drop(leases);
        assert!(local.select_at_once(&requirements).is_none(), "the place belongs to the first");
        let mut second = pin!(local.select_in_turn(&requirements));
        assert!(poll(&mut second).is_pending());
        let Poll::Ready(Ok(lease)) = poll(&mut first) else { panic!("the first waits") };
        assert!(poll(&mut second).is_pending());
        drop(lease);
        assert!(poll(&mut second).is_ready());
        assert_eq!(upstream.room().waiting(), 0);
    });
}
