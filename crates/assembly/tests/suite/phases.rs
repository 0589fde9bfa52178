//! Property test: random settings and random requests, through the handler of the settings to real sockets.
//!
//! | invariant | |
//! | --- | --- |
//! | a refused request reaches nothing | no script, mirror, cache, application or other server behind the refusal |
//! | the identity at a server or an application is the verified one | whatever the client sends as fields, tokens, cookies, in `Connection` and as a target |
//! | each setting has its effect | or the settings are refused |
//!
//! A model of its own (`verdicts.rs`) decides about each request. Most sites are handlers that the test calls; some are behind a
//! real server, with clients over HTTP/1.1, HTTP/2 and HTTP/3 (`connections.rs`).
//!
//! `PHASES_REQUESTS=1000000 cargo test --release -p serow-assembly phases` is the long run; `PHASES_SEED` repeats one.

mod answering;
mod application;
mod clients;
mod connections;
mod contents;
mod credentials;
mod exchanges;
mod issuer;
mod judgement;
mod listener;
mod random;
mod received;
mod rules;
mod servers;
mod sessions;
mod sites;
mod verdicts;

use std::{env, panic::resume_unwind, thread};

use tokio::task::LocalSet;

use self::{answering::Answering, random::Random, servers::Servers, sites::RandomSite};

#[test]
fn random_requests_pass_the_phases_of_random_settings_in_order() {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (requests, seed) = (number("PHASES_REQUESTS").unwrap_or(4_000), number("PHASES_SEED").unwrap_or(1));
    let has_python = serow_requirements::are_met(&["program:/usr/bin/python3"]);
    let (mut sent, mut refused_settings) = (0, 0);
    for seed in seed.. {
        if sent >= requests {
            break;
        }
        // Handlers keep connections for the thread that they are in.
        match thread::spawn(move || run(seed, has_python)).join() {
            Ok(Some(count)) => sent += count,
            Ok(None) => refused_settings += 1,
            Err(violation) => {
                println!("seed {seed}");
                resume_unwind(violation)
            }
        }
    }
    println!("{sent} requests, {refused_settings} settings refused");
    // A generator whose settings are refused tests nothing.
    assert!(refused_settings * 2 < seed + sent / REQUESTS);
}

/// Sends requests to a site with random settings; `None` if these are refused.
fn run(seed: u64, has_python: bool) -> Option<u64> {
    let mut random = Random::new(seed);
    let folder = tempfile::tempdir().unwrap();
    let runtime = serow_net::thread_runtime().unwrap();
    runtime.block_on(LocalSet::new().run_until(async {
        let servers = Servers::start(folder.path());
        let site = RandomSite::new(&mut random, folder.path(), has_python);
        let configuration = match site.read(folder.path()) {
            Ok(configuration) => configuration,
            Err(error) => {
                assert!(error.contains("has no effect"), "seed {seed}: {error}\n{}", site.text);
                return None;
            }
        };
        let mut answering = Answering::start(configuration, random.once_in(CONNECTED));
        for number in 0..REQUESTS {
            let (head, asked) = clients::request(&mut random, number, answering.is_connected());
            let shown = format!("{head:?}");
            if env::var_os("PHASES_SHOW").is_some() {
                println!("seed {seed}: {shown}\n{}", site.text);
            }
            let response = answering.response(head, &asked).await;
            let verdict = site.verdict(&asked);
            servers.settle(number, site.is_copied(&asked, &verdict) == Some(true)).await;
            let seen = servers.take(number);
            if let Err(violation) = site.judge(&asked, &verdict, &response, &seen) {
                panic!(
                    "seed {seed}, request {number}: {violation}\n{shown}\n{asked:?}\n{response:?}\n{seen:?}\n{}",
                    site.text
                );
            }
        }
        drop(answering);
        let late = servers.late().await;
        assert!(late.is_empty(), "seed {seed}: requests arrive late: {late:?}\n{}", site.text);
        Some(REQUESTS)
    }))
}

/// Requests to each site.
const REQUESTS: u64 = 50;

/// One site in so many has a real server, and clients with connections of each version.
const CONNECTED: u64 = 4;
