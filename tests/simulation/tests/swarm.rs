//! Random plans, and plans that have violated an invariant before.
//!
//! | variable | |
//! | --- | --- |
//! | `SWARM_SEEDS=10000` | runs so many plans |
//! | `SWARM_SEED=7` | begins with this seed |
//! | `SWARM_SHOW=1` | prints what happens |
//! | `SWARM_ABOUT=text` | looks only for violations with this text |
//! | `SWARM_ALL=1` | goes on behind a violation |

use std::{env, ops::Range};

use serow_simulation::{Kept, Plan, World, shrink};

/// A number in the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

fn seeds(count: u64) -> Range<u64> {
    let first = number("SWARM_SEED", 1);
    first..first + number("SWARM_SEEDS", count)
}

#[test]
fn random_plans_violate_nothing() {
    let shows = env::var_os("SWARM_SHOW").is_some();
    if shows {
        tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG).without_time().init();
    }
    let (goes_on, about) = (env::var_os("SWARM_ALL").is_some(), env::var("SWARM_ABOUT").unwrap_or_default());
    let (mut count, mut requests, mut failed) = (0, 0, Vec::new());
    for seed in seeds(200) {
        let plan = Plan::new(seed);
        let world = World::run(&plan, shows);
        (count, requests) = (count + 1, requests + plan.requests());
        print!("{}", world.trace);
        if world.violations.iter().any(|violation| violation.contains(&about)) {
            println!("seed {seed}: {:#?}", world.violations);
            failed.push(seed);
            if !goes_on {
                break;
            }
        }
    }
    println!("{count} plans, {requests} requests, {} failed", failed.len());
    if let Some(seed) = failed.first() {
        let plan = Plan::new(*seed);
        report(&plan, &shrink(&plan, &about));
    }
}

/// Fails with what a smaller plan violates, and how.
fn report(plan: &Plan, kept: &Kept) {
    let smaller = plan.kept(kept);
    let World { violations, trace } = World::run(&smaller, true);
    println!("{trace}\n{smaller}\nA line for tests/simulation/replayed.txt: {}", plan.line(kept));
    panic!("{violations:#?}");
}

#[test]
fn plans_that_failed_before_violate_nothing() {
    let lines = include_str!("../replayed.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines {
        let (plan, kept) = Plan::of_line(line).unwrap_or_else(|| panic!("not a seed and its requests: {line}"));
        if !World::run(&plan.kept(&kept), false).violations.is_empty() {
            report(&plan, &kept);
        }
    }
}

#[test]
fn a_seed_does_the_same_each_time() {
    for plan in seeds(20).map(Plan::new).filter(Plan::is_repeatable) {
        let [first, second] = [(); 2].map(|()| World::run(&plan, true).trace);
        let difference = first.lines().zip(second.lines()).position(|(first, second)| first != second);
        if let Some(line) = difference {
            let around =
                |trace: &str| trace.lines().skip(line.saturating_sub(5)).take(8).collect::<Vec<_>>().join("\n");
            panic!("seed {}, line {line}:\n{}\n\n{}", plan.seed(), around(&first), around(&second));
        }
    }
}
