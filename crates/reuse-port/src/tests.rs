//! Leaving, with real sockets: two groups of sockets are two processes to the kernel.

use std::{
    cell::Cell,
    net::{Ipv6Addr, TcpListener, TcpStream},
    os::fd::OwnedFd,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use rustix::{
    io::Errno,
    net::{SocketFlags, accept_with},
};

use super::*;
use serow_net::{Address, ListenOptions, socket_filter};

/// Some sockets that listen, of one process.
fn listen(address: SocketAddr, count: usize) -> Vec<Listener> {
    let options = ListenOptions { share: true, ..ListenOptions::default() };
    Listener::for_workers(&address.into(), &options, count).unwrap()
}

/// An address of this kind with a port that is free.
fn free(ip: &str) -> Option<SocketAddr> {
    TcpListener::bind((ip.parse::<std::net::IpAddr>().unwrap(), 0)).ok()?.local_addr().ok()
}

/// Where a client finds it.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(if address.is_ipv4() { [127, 0, 0, 1].into() } else { Ipv6Addr::LOCALHOST.into() });
    }
    address
}

/// How many connections each socket has in its queue.
fn accept_all(listeners: &[Listener]) -> Vec<usize> {
    let accept = |listener| match accept_with(listener, SocketFlags::CLOEXEC) {
        Ok(_) => true,
        Err(Errno::AGAIN) => false,
        Err(error) => panic!("{error}"),
    };
    listeners
        .iter()
        .map(|listener| std::iter::repeat_with(|| accept(listener)).take_while(|more| *more).count())
        .collect()
}

fn connect(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(reachable(address)).unwrap()).collect()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Nobody accepts meanwhile, as far as is said.
async fn begin(departure: &mut Departure) {
    departure.begin(LIMIT, || 0).await;
}

/// No test waits so long.
const LIMIT: Duration = Duration::from_secs(20);

/// So many that none of a few sockets has none by chance.
const MANY: usize = 120;

#[test]
fn nobody_is_led_to_who_leaves() {
    // Sockets of others that joined before, ours, and others that joined behind.
    let counts = [(0, 1, 1), (0, 2, 3), (2, 2, 0), (1, 2, 1), (0, 4, 2), (0, 5, 1), (2, 1, 2), (1, 66, 2), (0, 3, 70)];
    for ip in ["127.0.0.1", "0.0.0.0", "::", "::1"] {
        for (before, ours, behind) in counts {
            let Some(address) = free(ip) else { continue };
            let mut others = listen(address, before.max(1));
            others.truncate(before);
            let mut leaving = listen(address, ours);
            others.extend((behind > 0).then(|| listen(address, behind)).into_iter().flatten());
            let mut departure = Departure::of(&mut leaving).unwrap();
            run(async {
                begin(&mut departure).await;
                accept_all(&others);
                let _clients = connect(address, MANY);
                assert!(accept_all(&leaving).iter().all(|count| *count == 0), "{ip} {before} {ours} {behind}");
                assert_eq!(accept_all(&others).iter().sum::<usize>(), MANY);
                drop(leaving);
                departure.finish().await;
            });
            let clients = if others.len() > 10 { 40 * others.len() } else { MANY };
            let _clients = connect(address, clients);
            let shares = accept_all(&others);
            assert_eq!(shares.iter().sum::<usize>(), clients);
            assert!(shares.iter().all(|count| *count > 0), "{ip} {before} {ours} {behind}: {shares:?}");
        }
    }
}

#[test]
fn what_is_queued_is_still_accepted() {
    let address = free("127.0.0.1").unwrap();
    let (mut leaving, others) = (listen(address, 2), listen(address, 2));
    let clients = connect(address, MANY);
    let mut departure = Departure::of(&mut leaving).unwrap();
    run(begin(&mut departure));
    let (left, kept): (usize, usize) = (accept_all(&leaving).iter().sum(), accept_all(&others).iter().sum());
    // The one that was tried to find out which sockets are ours, if any.
    assert!((MANY..MANY + 2).contains(&(left + kept)) && left > 0, "{left} {kept}");
    drop(clients);
}

#[test]
fn a_slow_handshake_is_awaited() {
    let address = free("127.0.0.1").unwrap();
    let (mut leaving, _others) = (listen(address, 1), listen(address, 1));
    // It knocks at one of the two; of eight, some knock at ours.
    let clients: Vec<OwnedFd> = (0..8).map(|_| handshakes::deaf(address)).collect();
    let mut departure = Departure::of(&mut leaving).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| clients.iter().for_each(|client| socket_filter::detach_filter(client).unwrap()));
        // The kernel says its part again after a second.
        run(begin(&mut departure));
    });
    let waiting: usize = accept_all(&leaving).iter().sum();
    assert!(waiting > 0, "256 runs would miss it once");
}

#[test]
fn who_never_goes_on_is_not_awaited_for_ever() {
    let address = free("127.0.0.1").unwrap();
    let (mut leaving, _others) = (listen(address, 1), listen(address, 1));
    let _client = handshakes::deaf(address);
    let mut departure = Departure::of(&mut leaving).unwrap();
    let began = std::time::Instant::now();
    run(departure.begin(Duration::from_millis(300), || 0));
    assert!(began.elapsed() >= Duration::from_millis(300) && began.elapsed() < LIMIT);
}

#[test]
fn who_meddles_is_noticed() {
    let address = free("127.0.0.1").unwrap();
    let (mut leaving, others) = (listen(address, 2), listen(address, 2));
    let mut departure = Departure::of(&mut leaving).unwrap();
    let looks = Cell::new(0);
    run(departure.begin(LIMIT, || {
        looks.set(looks.get() + 1);
        // The first time that it is looked, somebody chooses ours.
        if looks.get() == 1 {
            program::steer(&others[0], &[0]).unwrap();
        }
        u64::from(looks.get() > 1)
    }));
    assert_eq!(looks.get(), 4, "twice two looks");
    accept_all(&others);
    let _clients = connect(address, MANY);
    assert_eq!(accept_all(&leaving), [0, 0]);
}

#[test]
fn one_leaves_after_the_other() {
    for ip in ["127.0.0.1", "::"] {
        let Some(address) = free(ip) else { continue };
        let mut groups: Vec<_> = (0..3).map(|_| listen(address, 2)).collect();
        let staying = groups.pop().unwrap();
        run(async {
            let leave = async |mut leaving: Vec<Listener>| {
                let mut departure = Departure::of(&mut leaving).unwrap();
                begin(&mut departure).await;
                drop(leaving);
                departure.finish().await;
            };
            let [one, other] = <[_; 2]>::try_from(groups).unwrap();
            tokio::join!(leave(one), leave(other));
        });
        accept_all(&staying);
        let _clients = connect(address, MANY);
        let shares = accept_all(&staying);
        assert_eq!(shares.iter().sum::<usize>(), MANY);
        assert!(shares.iter().all(|count| *count > 0), "{shares:?}");
    }
}

#[test]
fn who_is_alone_just_leaves() {
    let address = free("127.0.0.1").unwrap();
    let mut leaving = listen(address, 2);
    let mut departure = Departure::of(&mut leaving).unwrap();
    run(async {
        departure.begin(LIMIT, || panic!("nobody looks")).await;
        let _clients = connect(address, MANY);
        assert_eq!(accept_all(&leaving).iter().sum::<usize>(), MANY);
        drop(leaving);
        departure.finish().await;
    });
    TcpStream::connect(address).unwrap_err();
}

#[test]
fn what_shares_nothing_is_not_kept_open() {
    let options = ListenOptions::default();
    let mut listeners = Listener::for_workers(&"127.0.0.1:0".parse().unwrap(), &options, 2).unwrap();
    let address = match listeners[0].local_address() {
        Address::Tcp(address) => *address,
        other => panic!("{other}"),
    };
    let departure = Departure::of(&mut listeners).unwrap();
    drop(listeners);
    TcpStream::connect(address).unwrap_err();
    run(departure.finish());
}

#[test]
fn who_is_led_to_us_all_the_same_comes_again() {
    let address = free("127.0.0.1").unwrap();
    let (mut leaving, others) = (listen(address, 2), listen(address, 2));
    let mut departure = Departure::of(&mut leaving).unwrap();
    run(begin(&mut departure));
    // Somebody meddles in the last moment.
    socket_filter::detach_reuseport_program(&others[0]).unwrap();
    thread::scope(|scope| {
        let connecting: Vec<_> = (0..20).map(|_| scope.spawn(|| TcpStream::connect(address).unwrap())).collect();
        thread::sleep(Duration::from_millis(50));
        assert_eq!(accept_all(&leaving), [0, 0]);
        drop((departure, leaving));
        let clients: Vec<_> = connecting.into_iter().map(|client| client.join().unwrap()).collect();
        let accepted: usize = accept_all(&others).iter().sum();
        // With the one that was tried.
        assert!((clients.len()..clients.len() + 2).contains(&accepted), "{accepted}");
    });
}

#[test]
fn nobody_is_late_while_many_sockets_close() {
    let late: usize = (0..5).map(|_| late_while_sockets_close(&free("127.0.0.1").unwrap())).sum();
    // When the last one closes, there is an instant.
    assert!(late <= 1, "{late}");
}

/// How many clients had to come again while a hundred sockets closed, and two that joined behind them stayed.
fn late_while_sockets_close(address: &SocketAddr) -> usize {
    let (mut leaving, staying) = (listen(*address, 100), listen(*address, 2));
    let mut departure = Departure::of(&mut leaving).unwrap();
    run(begin(&mut departure));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let knocking = scope.spawn(|| {
            let mut late = 0;
            while !is_over.load(Ordering::Relaxed) {
                let began = std::time::Instant::now();
                TcpStream::connect(address).unwrap();
                accept_all(&staying);
                late += usize::from(began.elapsed() > Duration::from_millis(900));
            }
            late
        });
        thread::sleep(Duration::from_millis(5));
        drop((leaving, departure));
        is_over.store(true, Ordering::Relaxed);
        knocking.join().unwrap()
    })
}

#[test]
fn dropped_half_way_it_leaves_nothing_behind() {
    let address = free("127.0.0.1").unwrap();
    let (mut leaving, others) = (listen(address, 2), listen(address, 3));
    let mut departure = Departure::of(&mut leaving).unwrap();
    run(begin(&mut departure));
    drop((departure, leaving));
    accept_all(&others);
    let _clients = connect(address, MANY);
    let shares = accept_all(&others);
    assert!(shares.iter().all(|count| *count > 0), "{shares:?}");
}

#[test]
fn who_joins_removes_what_the_dead_left() {
    let address = free("127.0.0.1").unwrap();
    let old = listen(address, 2);
    program::steer(&old[0], &[1]).unwrap();
    let new = listen(address, 2);
    let _clients = connect(address, MANY);
    let shares = [accept_all(&old), accept_all(&new)].concat();
    assert!(shares.iter().all(|count| *count > 0), "{shares:?}");
}
