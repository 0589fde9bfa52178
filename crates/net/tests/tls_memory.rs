//! Memory that an established session takes of the heap while it is idle.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]
#![allow(clippy::disallowed_methods, reason = "tests measure real time")]

#[path = "../../tls/tests/suite/authority.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod authority;
#[path = "../../tls/tests/suite/ends.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod ends;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use serow_tls::{TlsSession, TlsVersion};

use ends::{Delivery, Ours, Server, Site, converse, exchange};

/// Counts what each thread has taken and not given back.
struct Counting;

thread_local! {
    static TAKEN: Cell<isize> = const { Cell::new(0) };
    static PIECES: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: all is left to the system's allocator; counting touches no memory of the heap.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.set(TAKEN.get() + layout.size().cast_signed());
        PIECES.set(PIECES.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        TAKEN.set(TAKEN.get() - layout.size().cast_signed());
        PIECES.set(PIECES.get() - 1);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that the C library's allocator has given out, to Rust and to the ciphers, whose keys it holds.
fn taken_in_c() -> usize {
    // SAFETY: only reads the allocator's counters.
    unsafe { libc::mallinfo2() }.uordblks
}

/// One test, because the C library counts the memory of all threads together.
#[test]
fn idle_sessions_stay_within_the_memory_limit() {
    let site = Site::new();
    let acceptor = site.acceptor();
    for (version, most_of_server, most_of_client) in
        [(TlsVersion::Tls12, MAX_TLS12, MAX_TLS12), (TlsVersion::Tls13, MAX_TLS13, MAX_CLIENT_TLS13)]
    {
        check(&format!("a server of {version:?}"), most_of_server, || {
            let (mut client, mut server) = (site.client(version, "example.com"), Server::new(&acceptor));
            exchange(&mut client, &mut server, Delivery::Whole).unwrap();
            server.session.seal(b"hello", 100, &mut server.sealed).unwrap();
            server.session
        });
        let connector = site.connector(version);
        check(&format!("a client of {version:?}"), most_of_client, || {
            let (mut client, mut server) = (Ours::connect(&connector, "example.com"), Server::new(&acceptor));
            converse(&mut client, &mut server, Delivery::Whole).unwrap();
            client.session.seal(b"hello", 100, &mut client.sealed).unwrap();
            client.session
        });
    }
}

/// Measures the memory that is freed when sessions are dropped.
fn check(whose: &str, most: usize, mut connect: impl FnMut() -> TlsSession) {
    // The first session also makes what all of them share.
    drop(connect());
    let sessions: Vec<_> = (0..SESSIONS).map(|_| connect()).collect();
    let (taken, pieces, taken_in_c) = (TAKEN.get(), PIECES.get(), self::taken_in_c());
    drop(sessions);
    let of_each = |difference: isize| difference / SESSIONS.cast_signed();
    let (bytes, pieces) = (of_each(taken - TAKEN.get()), of_each(pieces - PIECES.get()));
    let all = (taken_in_c - self::taken_in_c()) / SESSIONS;
    println!("{whose}: {bytes} bytes in {pieces} pieces, {all} with the keys of the ciphers");
    assert!(bytes > 0 && all <= most, "{whose}: {bytes}, {all}");
}

const SESSIONS: usize = 200;

// As measured with glibc, and a tenth more.
const MAX_TLS12: usize = 1600;
const MAX_TLS13: usize = 2500;
// With a server's certificate of 400 bytes: the library keeps it for the tickets to come.
const MAX_CLIENT_TLS13: usize = 3150;
