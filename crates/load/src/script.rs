//! Scripts as wrk has them: what is sent, and what is made of the responses, is up to Lua.
//!
//! Scripts for wrk 4 run as they are, in LuaJIT. The main thread and each worker have a state of their own, in which
//! the same script was loaded:
//!
//! | what a script defines | where and when it is called |
//! | --- | --- |
//! | `setup(thread)` | in the main thread for each worker, after that has loaded the script |
//! | `init(args)` | in the worker, after that; `args[0]` is the URL, the others stand behind it on the command line |
//! | `delay()` | in the worker before a request: milliseconds to wait |
//! | `request()` | in the worker: the text of a request, or of several to be sent in one go |
//! | `response(status, headers, body)` | in the worker, with each response |
//! | `done(summary, latency, requests)` | in the main thread, after the run |
//!
//! | what a script finds | |
//! | --- | --- |
//! | `wrk.scheme` `.host` `.port` `.method` `.path` `.headers` `.body` | what requests are made of that say nothing else |
//! | `wrk.format(method, path, headers, body)` | the text of a request; what is nil is taken from `wrk` |
//! | `wrk.request()` | in workers, from `init` on: the text of the request that `wrk.format()` made after `init` |
//! | `wrk.lookup(host, service)` | a list of addresses |
//! | `wrk.connect(address)` | whether somebody listens there |
//! | `wrk.thread` | in workers, from `init` on: the thread |
//! | `thread.addr` | where its connections go; can be set |
//! | `thread:get(name)`, `thread:set(name, value)` | globals of its state: nil, booleans, numbers, strings, and tables of these |
//! | `thread:stop()` | ends it |
//! | `summary.duration` `.requests` `.bytes` `.errors.connect` `.read` `.write` `.status` `.timeout` | totals; the duration in microseconds |
//! | `latency.min` `.max` `.mean` `.stdev`, `latency:percentile(p)` | microseconds |
//! | `latency(i)`, `#latency` | the i-th value with its count, and how many values there are |
//! | `requests` | the same of requests each second of each thread, sampled ten times a second |
//!
//! # Differences from wrk
//!
//! - An error in a script ends the run with a line that says where, instead of a crash or of a run without the script.
//! - Names of header fields are found in any spelling, in `wrk.headers` and in responses, as with wrk 4.2; they are sent as
//!   they were spelled. `Host` and `Content-Length` are not added to tables of the caller.
//! - `request` is not called once more before the run to count its requests: the first is the first that is sent.
//! - `thread:stop()` works at any time. wrk knows it only in workers during the run.
//! - Tables within tables can be handed over, and strings with a zero byte.
//! - `delay()` may return fractions.
//! - Latencies are known to three digits, and in `latency(i)` they are whole microseconds as wrk's are.
//! - `tostring` of an IPv6 address has brackets.
//! - Modules in C and `ffi` cannot be loaded, since nothing would be safe from them; of `debug` there are `traceback` and
//!   `getinfo`.
//!
//! # How the generator runs one
//!
//! ```
//! use serow_load::script::{Conductor, Script, ScriptError, ScriptTarget};
//!
//! fn run(script: &Script, target: ScriptTarget) -> Result<(), ScriptError> {
//!     let mut conductor = Conductor::load(script, target)?;
//!     let (handle, seat) = conductor.thread();
//!     let worker = std::thread::spawn(move || {
//!         // None: there will be no run, for a reason that the main thread has been told.
//!         let Some(mut runner) = seat.into_runner() else { return };
//!         if let Ok(text) = runner.request() {
//!             assert!(text.starts_with(b"GET /0 "));
//!         }
//!         runner.serve_until_released();
//!     });
//!     conductor.set_up(handle)?;
//!     conductor.begin()?;
//!     // When the workers serve, `conductor.done(&results)` comes; or else it is dropped, which releases them too.
//!     drop(conductor);
//!     worker.join().expect("a thread that does not panic");
//!     Ok(())
//! }
//!
//! let script = "local n = -1; function request() n = n + 1 return wrk.format(nil, '/' .. n) end";
//! let target = ScriptTarget {
//!     url: "http://127.0.0.1:8080/".into(),
//!     scheme: "http".into(),
//!     host: "127.0.0.1".into(),
//!     port: Some("8080".into()),
//!     path: "/".into(),
//!     method: "GET".into(),
//!     headers: Vec::new(),
//!     body: None,
//!     arguments: Vec::new(),
//!     address: Some(([127, 0, 0, 1], 8080).into()),
//! };
//! run(&Script::new("script.lua", script), target).expect("a script without errors");
//! ```
//!
//! # Where things are
//!
//! | what | file |
//! | --- | --- |
//! | the main thread's part: threads are set up, the run begins, and ends | `conductor.rs` |
//! | a worker's part before the run, and during it | `seat.rs`, `runner.rs` |
//! | what they say to each other, and threads as scripts see them | `thread.rs`, `portable.rs` |
//! | a state and what is in it | `state.rs`, `prelude.lua`, `address.rs`, `debug.rs` |
//! | responses and results as scripts see them | `fields.rs`, `statistics.rs` |
//! | text and errors of scripts | `source.rs`, `error.rs` |

mod address;
mod conductor;
mod debug;
mod error;
mod fields;
mod portable;
mod runner;
mod seat;
mod source;
mod state;
mod statistics;
mod thread;

pub use self::{
    conductor::{Conductor, ThreadHandle},
    error::ScriptError,
    runner::ScriptRunner,
    seat::Seat,
    source::{Script, ScriptTarget},
};

/// Lua's name for the type of a value. It has one type of numbers.
fn kind(value: &mlua::Value) -> &'static str {
    if value.is_integer() { "number" } else { value.type_name() }
}
