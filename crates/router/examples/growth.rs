//! How the cost of routing grows with the number of routes: `cargo run --profile dist -p serow-router --example growth`, or
//! with a kind, a number of routes and a number of requests behind `--`, that work alone: the difference of two such runs
//! under callgrind is the instructions of the requests.
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use std::{env, error::Error, hint::black_box, time::Instant};

use serow_message::Request;
use serow_router::{Action, Conditions, Route, Router, Site};

/// A kind of route: its name, whether it is an expression, its path, and a path of requests; `N` is its number.
const KINDS: [(&str, bool, &str, &str); 8] = [
    ("exact", false, "/a/N", "/a/N"),
    ("prefix", false, "/aN/*", "/aN/b"),
    ("suffix", false, "*.aN", "/b.aN"),
    ("middle", false, "/shop/*/aN/*", "/shop/b/aN/c"),
    ("regex", true, "^/aN/([0-9]+)$", "/aN/7"),
    ("regex-case", true, "(?i)^/aN/", "/AN/7"),
    ("regex-inner", true, "^/(en|de)/[a-z]+/aN/", "/de/shop/aN/"),
    ("regex-without-literals", true, "^/[a-z]+[0-9]{N}$", "/x"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [kind, count, requests] = &arguments[..] {
        return run(kind, count.parse()?, requests.parse()?).map(drop);
    }
    for (kind, ..) in KINDS {
        for count in [1, 10, 100, 1_000, 10_000] {
            // Many numbers would make these too large.
            if kind != "regex-without-literals" || count <= 100 {
                println!("{kind}, {count} routes: {:.0} ns", run(kind, count, REQUESTS)?);
            }
        }
    }
    Ok(())
}

/// The nanoseconds of a request to one of so many routes.
fn run(kind: &str, count: usize, requests: usize) -> Result<f64, Box<dyn Error>> {
    let (_, is_expression, path, asked) =
        KINDS.into_iter().find(|(name, ..)| *name == kind).ok_or("an unknown kind")?;
    let numbered = |text: &str, number: usize| text.replace('N', &number.to_string());
    let route = |number| -> Result<Route<()>, Box<dyn Error>> {
        let path = numbered(path, number);
        Ok(match is_expression {
            false => Route::new(path.parse()?, Action::Handle(())),
            true => {
                let conditions = Conditions { path: Some(path.parse()?), ..Conditions::default() };
                Route { conditions, ..Route::new("/*".parse()?, Action::Handle(())) }
            }
        })
    };
    let routes = (0..count).map(route).collect::<Result<Vec<_>, _>>()?;
    let router = Router::new(vec![Site::new(routes)])?;
    let targets: Vec<String> = (0..count.min(ASKED)).map(|place| numbered(asked, place * 7919 % count)).collect();
    let began = Instant::now();
    for target in targets.iter().cycle().take(requests) {
        let mut request = Request::try_get(target.clone())?;
        drop(black_box(router.route(&mut request, |(), _| None)));
    }
    Ok(began.elapsed().as_nanos() as f64 / requests as f64)
}

const REQUESTS: usize = 100_000;

/// Different paths: so many that the processor's caches do not hold what all of them need.
const ASKED: usize = 5_000;
