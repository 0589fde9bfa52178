//! Draining real sockets: to the kernel, two lists of listeners are like two processes.

use std::{
    cell::Cell,
    net::{Ipv6Addr, TcpListener, TcpStream},
    os::fd::OwnedFd,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};

use rustix::{
    io::Errno,
    net::{SocketFlags, accept_with},
};

use super::*;
use crate::{Address, ListenOptions, socket_filter};

/// Some kernels demand a privilege for it, without which a port is closed as by a server that knows nothing of drains.
pub(crate) fn may_attach_filters() -> bool {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    serow_requirements::is_permitted(&crate::reuse_port::program::drop_all(&socket), "SO_ATTACH_FILTER")
}

/// Listening sockets of one process.
fn listen(address: SocketAddr, count: usize) -> Vec<Listener> {
    let options = ListenOptions { share: true, ..ListenOptions::default() };
    Listener::for_workers(&address.into(), &options, count).unwrap()
}

/// An address with a free port.
fn free(ip: &str) -> Option<SocketAddr> {
    TcpListener::bind((ip.parse::<std::net::IpAddr>().unwrap(), 0)).ok()?.local_addr().ok()
}

/// The address for clients.
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

/// Sockets that are connected or connecting to an IPv4 address, as proc_net_tcp(5) shows it.
fn clients_of(address: SocketAddr) -> usize {
    let SocketAddr::V4(address) = address else { panic!("{address} is not of IPv4") };
    let remote = format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port());
    let sockets = std::fs::read_to_string("/proc/thread-self/net/tcp").unwrap();
    sockets.lines().filter(|line| line.split_whitespace().nth(2) == Some(&remote)).count()
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let began = std::time::Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "waited in vain");
        thread::yield_now();
    }
}

fn connect(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(reachable(address)).unwrap()).collect()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Without accepted connections meanwhile.
async fn begin(drain: &mut PortDrain) {
    drain.begin(LIMIT, || 0).await;
}

/// Longer than any test waits.
const LIMIT: Duration = Duration::from_secs(20);

/// So many that each of a few sockets gets some.
const MANY: usize = 120;

#[test]
fn new_connections_go_to_the_other_processes() {
    if !may_attach_filters() {
        return;
    }
    // Sockets of others that joined before, ours, and others that joined behind.
    let counts = [(0, 1, 1), (0, 2, 3), (2, 2, 0), (1, 2, 1), (0, 4, 2), (0, 5, 1), (2, 1, 2), (1, 66, 2), (0, 3, 70)];
    for ip in ["127.0.0.1", "0.0.0.0", "::", "::1"] {
        for (before, ours, behind) in counts {
            let Some(address) = free(ip) else { continue };
            let mut others = listen(address, before.max(1));
            others.truncate(before);
            let mut draining = listen(address, ours);
            others.extend((behind > 0).then(|| listen(address, behind)).into_iter().flatten());
            let mut drain = PortDrain::of(&mut draining).unwrap();
            run(async {
                begin(&mut drain).await;
                accept_all(&others);
                let _clients = connect(address, MANY);
                assert!(accept_all(&draining).iter().all(|count| *count == 0), "{ip} {before} {ours} {behind}");
                assert_eq!(accept_all(&others).iter().sum::<usize>(), MANY);
                drop(draining);
                drain.finish().await;
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
fn queued_connections_are_still_accepted() {
    let address = free("127.0.0.1").unwrap();
    let (mut draining, others) = (listen(address, 2), listen(address, 2));
    let clients = connect(address, MANY);
    let mut drain = PortDrain::of(&mut draining).unwrap();
    run(begin(&mut drain));
    let (left, kept): (usize, usize) = (accept_all(&draining).iter().sum(), accept_all(&others).iter().sum());
    // Possibly with a probing connection.
    assert!((MANY..MANY + 2).contains(&(left + kept)) && left > 0, "{left} {kept}");
    drop(clients);
}

#[test]
fn the_drain_waits_for_a_slow_handshake() {
    if !may_attach_filters() {
        return;
    }
    let address = free("127.0.0.1").unwrap();
    let (mut draining, _others) = (listen(address, 1), listen(address, 1));
    // Each goes to one of the two sockets; of eight, some go to ours.
    let clients: Vec<OwnedFd> = (0..8).map(|_| handshakes::unresponsive_client(address)).collect();
    let mut drain = PortDrain::of(&mut draining).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| clients.iter().for_each(|client| socket_filter::detach_filter(client).unwrap()));
        // The kernel retransmits its SYN-ACK after a second.
        run(begin(&mut drain));
    });
    let waiting: usize = accept_all(&draining).iter().sum();
    assert!(waiting > 0, "256 runs would miss it once");
}

#[test]
fn the_drain_stops_waiting_at_its_limit() {
    if !may_attach_filters() {
        return;
    }
    let address = free("127.0.0.1").unwrap();
    let (mut draining, _others) = (listen(address, 1), listen(address, 1));
    let _client = handshakes::unresponsive_client(address);
    let mut drain = PortDrain::of(&mut draining).unwrap();
    let began = std::time::Instant::now();
    run(drain.begin(Duration::from_millis(300), || 0));
    assert!(began.elapsed() >= Duration::from_millis(300) && began.elapsed() < LIMIT);
}

#[test]
fn a_foreign_program_makes_the_drain_start_again() {
    if !may_attach_filters() {
        return;
    }
    let address = free("127.0.0.1").unwrap();
    let (mut draining, others) = (listen(address, 2), listen(address, 2));
    let mut drain = PortDrain::of(&mut draining).unwrap();
    let looks = Cell::new(0);
    run(drain.begin(LIMIT, || {
        looks.set(looks.get() + 1);
        // At the first query another process selects our sockets.
        if looks.get() == 1 {
            program::redirect(&others[0], &[0]).unwrap();
        }
        u64::from(looks.get() > 1)
    }));
    assert_eq!(looks.get(), 4, "twice two looks");
    accept_all(&others);
    let _clients = connect(address, MANY);
    assert_eq!(accept_all(&draining), [0, 0]);
}

#[test]
fn two_processes_drain_one_after_the_other() {
    for ip in ["127.0.0.1", "::"] {
        let Some(address) = free(ip) else { continue };
        let mut groups: Vec<_> = (0..3).map(|_| listen(address, 2)).collect();
        let staying = groups.pop().unwrap();
        run(async {
            let leave = async |mut draining: Vec<Listener>| {
                let mut drain = PortDrain::of(&mut draining).unwrap();
                begin(&mut drain).await;
                drop(draining);
                drain.finish().await;
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
fn a_single_process_drains_at_once() {
    let address = free("127.0.0.1").unwrap();
    let mut draining = listen(address, 2);
    let mut drain = PortDrain::of(&mut draining).unwrap();
    run(async {
        drain.begin(LIMIT, || panic!("nobody looks")).await;
        let _clients = connect(address, MANY);
        assert_eq!(accept_all(&draining).iter().sum::<usize>(), MANY);
        drop(draining);
        drain.finish().await;
    });
    TcpStream::connect(address).unwrap_err();
}

#[test]
fn unshared_ports_are_closed_with_their_listeners() {
    let options = ListenOptions::default();
    let mut listeners = Listener::for_workers(&"127.0.0.1:0".parse().unwrap(), &options, 2).unwrap();
    let address = match listeners[0].local_address() {
        Address::Tcp(address) => *address,
        other => panic!("{other}"),
    };
    let drain = PortDrain::of(&mut listeners).unwrap();
    drop(listeners);
    TcpStream::connect(address).unwrap_err();
    run(drain.finish());
}

#[test]
fn late_connections_are_retried_on_another_socket() {
    if !may_attach_filters() {
        return;
    }
    let address = free("127.0.0.1").unwrap();
    let (mut draining, others) = (listen(address, 2), listen(address, 2));
    let mut drain = PortDrain::of(&mut draining).unwrap();
    run(begin(&mut drain));
    // Another process removes the program at the last moment.
    socket_filter::detach_reuseport_program(&others[0]).unwrap();
    thread::scope(|scope| {
        let connecting: Vec<_> = (0..20).map(|_| scope.spawn(|| TcpStream::connect(address).unwrap())).collect();
        wait_until(|| clients_of(address) >= connecting.len());
        assert_eq!(accept_all(&draining), [0, 0]);
        drop((drain, draining));
        let clients: Vec<_> = connecting.into_iter().map(|client| client.join().unwrap()).collect();
        let accepted: usize = accept_all(&others).iter().sum();
        // Possibly with a probing connection.
        assert!((clients.len()..clients.len() + 2).contains(&accepted), "{accepted}");
    });
}

#[test]
fn closing_many_sockets_delays_no_connection() {
    if !may_attach_filters() {
        return;
    }
    let late: usize = (0..5).map(|_| late_while_sockets_close(&free("127.0.0.1").unwrap())).sum();
    // When the last socket closes, the group is without a program for an instant.
    assert!(late <= 1, "{late}");
}

/// How many clients had to retransmit a SYN while a hundred sockets closed, and two that joined after them stayed.
fn late_while_sockets_close(address: &SocketAddr) -> usize {
    let (mut draining, staying) = (listen(*address, 100), listen(*address, 2));
    let mut drain = PortDrain::of(&mut draining).unwrap();
    run(begin(&mut drain));
    let (is_over, knocks) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let knocking = scope.spawn(|| {
            let mut late = 0;
            while !is_over.load(Ordering::Relaxed) {
                let began = std::time::Instant::now();
                TcpStream::connect(address).unwrap();
                accept_all(&staying);
                knocks.fetch_add(1, Ordering::Relaxed);
                late += usize::from(began.elapsed() > Duration::from_millis(900));
            }
            late
        });
        wait_until(|| knocks.load(Ordering::Relaxed) > 10);
        drop((draining, drain));
        is_over.store(true, Ordering::Relaxed);
        knocking.join().unwrap()
    })
}

#[test]
fn dropping_a_drain_half_way_restores_the_group() {
    let address = free("127.0.0.1").unwrap();
    let (mut draining, others) = (listen(address, 2), listen(address, 3));
    let mut drain = PortDrain::of(&mut draining).unwrap();
    run(begin(&mut drain));
    drop((drain, draining));
    accept_all(&others);
    let _clients = connect(address, MANY);
    let shares = accept_all(&others);
    assert!(shares.iter().all(|count| *count > 0), "{shares:?}");
}

#[test]
fn joining_a_group_removes_a_stale_program() {
    let address = free("127.0.0.1").unwrap();
    let old = listen(address, 2);
    program::redirect(&old[0], &[1]).unwrap();
    let new = listen(address, 2);
    let _clients = connect(address, MANY);
    let shares = [accept_all(&old), accept_all(&new)].concat();
    assert!(shares.iter().all(|count| *count > 0), "{shares:?}");
}
