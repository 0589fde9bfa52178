//! Measures the cost of the function `request` of a script, without a server around it.
//!
//! `cargo run --release -p serow-scripts --features lua --example script_cost [ROUNDS [KIND]]`; with a KIND (empty, read,
//! write, none), only that runs: valgrind counts its instructions so, as the difference of two numbers of rounds.
#![allow(clippy::disallowed_methods, reason = "it measures real time")]

use std::{env, error::Error, fs, hint::black_box, time::Instant};

use serow_message::{Request, TrustedProxies};
use serow_scripts::{Begun, RouteChoice, Script, ScriptLimits, Servers};

/// Kinds of scripts. The last is the request alone.
const KINDS: [(&str, Option<&str>); 4] = [
    ("empty", Some("return { request = function() end }")),
    ("read", Some("return { request = function(r) if r.headers['x-a'] == 'b' then return 403 end end }")),
    ("write", Some("return { request = function(r) r.headers['x-b'] = r.headers['x-a'] or 'none' end }")),
    ("none", None),
];

fn main() -> Result<(), Box<dyn Error>> {
    let rounds: u32 = env::args().nth(1).map_or(Ok(300_000), |text| text.parse())?;
    let only = env::args().nth(2);
    for (kind, text) in KINDS.into_iter().filter(|(kind, _)| only.as_deref().is_none_or(|only| only == *kind)) {
        let script = text.map(read).transpose()?;
        let began = Instant::now();
        for _ in 0..rounds {
            let mut request = Request::get("/");
            request.headers.append("x-a", "c")?;
            match script.as_ref().map(|script| script.begin(black_box(request), RouteChoice::Open)) {
                None | Some(Ok(Begun::Handle(..))) => {}
                Some(_) => return Err("the request did not go on".into()),
            }
        }
        println!("{kind}: {:.0} ns", began.elapsed().as_secs_f64() / f64::from(rounds) * 1e9);
    }
    Ok(())
}

fn read(text: &str) -> Result<Script, Box<dyn Error>> {
    let path = env::temp_dir().join(format!("script_cost-{}.lua", std::process::id()));
    fs::write(&path, text)?;
    let script = Script::read(&path, ScriptLimits::default(), TrustedProxies::default(), Servers::default());
    fs::remove_file(&path)?;
    Ok(script?)
}
