//! Runs each fuzz target with its seeds, and with mutations of them.
//!
//! `FUZZING_SEED=2 FUZZING_MUTATIONS=100000 cargo test … -p serow-fuzzing frames` makes other mutations, and more.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod corpus;
mod lists;
mod mutation;
mod run;

macro_rules! targets {
    ($($name:ident: $mutations:literal,)*) => {
        const TARGETS: &[&str] = &[$(stringify!($name)),*];

        $(mod $name {
            #[test]
            fn seeds_and_mutations_break_no_promise() {
                crate::run::run(stringify!($name), serow_fuzzing::$name::target, $mutations);
            }
        })*
    };
}

// So many mutations that a target takes less than half a second of one core.
targets! {
    cgi_response: 10_000,
    chunked: 25_000,
    client_hello: 5_000,
    client_split: 30_000,
    dns: 100_000,
    dns_updates: 50_000,
    fastcgi_request: 10_000,
    fastcgi_response: 10_000,
    files: 1_500,
    frames: 60_000,
    headers: 80_000,
    hpack_decode: 25_000,
    hpack_roundtrip: 20_000,
    http3_connection: 50_000,
    http3_streams: 15_000,
    nginx: 400,
    operations: 80_000,
    priority: 80_000,
    proxy_protocol: 80_000,
    qpack_decode: 50_000,
    qpack_roundtrip: 30_000,
    roundtrip: 4_000,
    routes: 3_000,
    scheduler: 8_000,
    server_split: 15_000,
    target: 100_000,
    tls_records: 700,
    variables: 10_000,
    webdav_destination: 100_000,
    webdav_if: 100_000,
    webdav_xml: 40_000,
}
