//! Random plans, and those that have failed before.
//!
//! `SWARM_SEEDS=10000 SWARM_SEED=1 cargo test … --test swarm` runs so many from there; `SWARM_SHOW=1` prints what happens.

use std::env;

use serow_simulation::{Plan, World, shrink};

#[test]
fn random_plans_violate_nothing() {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, count) = (number("SWARM_SEED").unwrap_or(1), number("SWARM_SEEDS").unwrap_or(100));
    let shows = env::var_os("SWARM_SHOW").is_some();
    if shows {
        tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::DEBUG).without_time().init();
    }
    let goes_on = env::var_os("SWARM_ALL").is_some();
    // Only violations that say so.
    let about = env::var("SWARM_ABOUT").unwrap_or_default();
    let mut requests = 0;
    let mut failed = Vec::new();
    for seed in first..first + count {
        let plan = Plan::new(seed);
        requests += plan.requests();
        let world = World::run(&plan, shows);
        print!("{}", world.trace);
        if world.violations.iter().any(|violation| violation.contains(&about)) {
            println!("seed {seed}: {:#?}", world.violations);
            failed.push(seed);
            if !goes_on {
                break;
            }
        }
    }
    println!("{count} seeds, {requests} requests, {} failed", failed.len());
    if let Some(seed) = failed.first() {
        let plan = Plan::new(*seed);
        let kept = shrink(&plan, &about);
        let smaller = plan.kept(&kept);
        let world = World::run(&smaller, true);
        println!("seed {seed}: {:#?}\n{}\nleft of it: {smaller}", world.violations, world.trace);
        panic!("seed {seed}");
    }
}

#[test]
fn a_seed_does_the_same_each_time() {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("SWARM_SEED").unwrap_or(1);
    for seed in first..first + number("SWARM_SEEDS").unwrap_or(20) {
        let [first, second] = [(); 2].map(|()| World::run(&Plan::new(seed), true).trace);
        let difference = first.lines().zip(second.lines()).position(|(first, second)| first != second);
        if let Some(line) = difference {
            let around =
                |trace: &str| trace.lines().skip(line.saturating_sub(5)).take(8).collect::<Vec<_>>().join("\n");
            panic!("seed {seed}, line {line}:\n{}\n\n{}", around(&first), around(&second));
        }
    }
}
