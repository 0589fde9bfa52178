//! Measures the cost of an operation of `serow.shared`: in a process that is alone, and where other processes may have
//! the dictionary, as with `serow run`.
//!
//! `cargo run --release -p serow-scripts --features lua --example dictionary_cost [ROUNDS]`; a round has a thousand
//! operations. The cost of the loop around them is subtracted.

use std::{env, error::Error, fs, path::Path, process::Command};

use serow_message::{Request, TrustedProxies};
use serow_net::SharedMemory;
use serow_scripts::{Begun, DICTIONARY_BYTES, RouteChoice, Script, ScriptLimits, Servers, share_dictionary};

/// Operations on numbers and on a text of 100 bytes, one of 1,000 names at a time. The first is the loop alone.
const KINDS: [(&str, &str); 5] = [
    ("loop", "local _ = names[i]"),
    ("get", "serow.shared.get(names[i])"),
    ("set", "serow.shared.set(names[i], text)"),
    ("set with a lifetime", "serow.shared.set(names[i], text, 60)"),
    ("incr", "serow.shared.incr(numbers[i])"),
];

/// Operations of a round.
const OPERATIONS: u32 = 1_000;

/// The argument of the process that measures a shared dictionary: a process has one.
const SHARED: &str = "--shared";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let is_shared = arguments.iter().any(|argument| argument == SHARED);
    let rounds: u32 = arguments.iter().find(|argument| *argument != SHARED).map_or(Ok(1_000), |text| text.parse())?;
    if is_shared {
        share_dictionary(Some(SharedMemory::file(DICTIONARY_BYTES)?));
    }
    let path = env::temp_dir().join(format!("dictionary_cost-{}.lua", std::process::id()));
    let mut empty = 0.0;
    for (number, (kind, line)) in KINDS.into_iter().enumerate() {
        let cost = measure(&path, line, rounds)?;
        if number == 0 {
            empty = cost;
        } else {
            println!("{kind}, {}: {:.0} ns", if is_shared { "shared" } else { "of one process" }, cost - empty);
        }
    }
    fs::remove_file(&path)?;
    if !is_shared {
        Command::new(env::current_exe()?).args([&rounds.to_string(), SHARED]).status()?;
    }
    Ok(())
}

/// Nanoseconds of the processor for this line of Lua.
fn measure(path: &Path, line: &str, rounds: u32) -> Result<f64, Box<dyn Error>> {
    let text = format!(
        "local names, numbers, text = {{}}, {{}}, ('x'):rep(100)
        for i = 1, {OPERATIONS} do names[i] = 'name ' .. i numbers[i] = 'number ' .. i serow.shared.set(names[i], text) end
        return {{ request = function() for i = 1, {OPERATIONS} do {line} end end }}"
    );
    fs::write(path, text)?;
    let script = Script::read(path, ScriptLimits::default(), TrustedProxies::default(), Servers::default())?;
    let began = processor_time()?;
    for _ in 0..rounds {
        match script.begin(Request::get("/"), RouteChoice::Open) {
            Ok(Begun::Handle(..)) => {}
            _ => return Err("the request did not go on".into()),
        }
    }
    Ok((processor_time()? - began) / f64::from(rounds) / f64::from(OPERATIONS))
}

/// Nanoseconds that this thread has run: those of other programs do not count (proc_pid_schedstat(5)).
fn processor_time() -> Result<f64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}
