//! What the functions of a script cost: `cargo run --release -p serow-scripts --example script_cost`.
use std::{sync::Arc, time::Instant};

use serow_message::{Request, TrustedProxies};
use serow_scripts::{Begun, NoFetch, Script, ScriptLimits};

fn main() {
    let rounds: u32 = std::env::args().nth(1).map_or(300_000, |text| text.parse().expect("a number"));
    let only: Option<usize> = std::env::args().nth(2).map(|text| text.parse().expect("a number"));
    let mut number = 0;
    let folder = std::env::temp_dir();
    for (name, text) in [
        ("an empty function", "return { request = function() end }"),
        (
            "one header",
            "return { request = function(request) if request.headers['x-a'] == 'b' then return 403 end end }",
        ),
        (
            "one header, and one set",
            "return { request = function(request) request.headers['x-b'] = request.headers['x-a'] or 'none' end }",
        ),
    ] {
        number += 1;
        if only.is_some_and(|only| only != number) {
            continue;
        }
        let path = folder.join("script_cost.lua");
        std::fs::write(&path, text).unwrap();
        let script =
            Script::read(&path, ScriptLimits::default(), TrustedProxies::default(), Arc::new(NoFetch)).unwrap();
        let mut best = f64::MAX;
        for _ in 0..1 {
            let began = Instant::now();
            for _ in 0..rounds {
                let mut request = Request::get("/");
                request.headers.append("x-a", "c").unwrap();
                match script.begin(request) {
                    Ok(Begun::Handle(request, _)) => drop(std::hint::black_box(request)),
                    _ => panic!("it goes on"),
                }
            }
            best = best.min(began.elapsed().as_secs_f64());
        }
        println!("{name}: {:.0} ns", best / f64::from(rounds) * 1e9);
    }
    let began = Instant::now();
    for _ in 0..rounds {
        let mut request = Request::get("/");
        request.headers.append("x-a", "c").unwrap();
        drop(std::hint::black_box(request));
    }
    println!("the request alone: {:.0} ns", began.elapsed().as_secs_f64() / f64::from(rounds) * 1e9);
}
