//! An error in a script ends the run with one line that says where it is.

use std::path::Path;

use serow_load::script::{Conductor, Script};

use super::stage::{Run, target};

/// Scripts, and their error messages.
const CASES: &[(&str, &str)] = &[
    // At the beginning.
    ("\nlocal x = = 1", "script.lua:2: unexpected symbol near '='"),
    ("\n\nerror('no more')", "script.lua:3: no more"),
    ("error('no\\n  more')", "script.lua:1: no more"),
    ("error('at the top', 0)", "script.lua:1: at the top"),
    ("nothing.here = 1", "script.lua:1: attempt to index global 'nothing' (a nil value)"),
    ("\x1bLJ\x02", "script.lua: attempt to load a binary chunk (mode is 't')"),
    ("if wrk.host then error('in ' .. type(wrk.thread)) end", "script.lua:1: in nil"),
    // setup, in the main thread.
    (
        "function setup(thread)\n thread:get('x')\n nothing() end",
        "script.lua:3: attempt to call global 'nothing' (a nil value)",
    ),
    (
        "function setup(thread) thread:set('f', print) end",
        "script.lua:1: cannot hand a function over to another thread",
    ),
    (
        "function setup(thread) local t = {}\n t.t = { t }\n thread:set('t', t) end",
        "script.lua:3: cannot hand over a table that is nested too deeply, or contains itself",
    ),
    (
        "function setup(thread)\n return thread:get('print') end",
        "script.lua:1: cannot hand a function over to another thread",
    ),
    (
        "function setup(thread)\n thread.addr = '127.0.0.1:80' end",
        "script.lua:2: an address of wrk.lookup is needed, not a string value",
    ),
    ("function setup(thread)\n thread.name = 'x' end", "script.lua:2: attempt to set an unknown field 'name'"),
    ("function setup()\n wrk.connect(5) end", "script.lua:2: an address of wrk.lookup is needed, not a number value"),
    (
        "function setup()\n wrk.lookup(wrk.host, 'gopherspace') end",
        "script.lua:2: unknown service \"gopherspace\": give the number of a port instead",
    ),
    // init, in a worker's thread.
    ("function init()\n error('not now') end", "script.lua:2: not now"),
    ("function init()\n return wrk.format({}) end", "script.lua:1: the method must be text, not a table value"),
    ("wrk.body = {}", "script.lua: the body must be text, not a table value"),
    ("wrk.headers = { X = print }", "script.lua: X must be text, not a function value"),
    ("wrk.headers = nil", "script.lua: attempt to index field 'headers' (a nil value)"),
    (
        "function init()\n require('ffi')\n end",
        "script.lua:2: scripts cannot use ffi here, since nothing would be safe from it",
    ),
    // request, delay and response, while the run goes on.
    ("function request() local x\n return x.y end", "script.lua:2: attempt to index local 'x' (a nil value)"),
    ("\nfunction request() end", "script.lua:2: request() must return the text of a request, and returned a nil value"),
    ("function request() return 5 end", "script.lua:1: request() must return the text of a request, and returned 5"),
    ("function request()\n return wrk.format(nil, {}) end", "script.lua:1: the path must be text, not a table value"),
    (
        "function request()\n local r = wrk.format(nil, {}) return r end",
        "script.lua:2: the path must be text, not a table value",
    ),
    (
        "function request()\n local r = wrk.format('GET', nil, 'X: y') return r end",
        "script.lua:2: headers must be a table, not a string value",
    ),
    ("function request() return request() + 1 end", "script.lua:1: stack overflow"),
    (
        "function request() error(setmetatable({}, { __tostring = function() return 'odd' end })) end",
        "script.lua:1: odd",
    ),
    ("function request() error() end", "script.lua:1: nil"),
    ("\nfunction delay() return 'soon' end", "script.lua:2: delay() must return milliseconds, and returned \"soon\""),
    ("function delay() return 0/0 end", "script.lua:1: delay() must return milliseconds, and returned NaN"),
    ("function delay() return 1/0 end", "script.lua:1: delay() must return milliseconds, and returned inf"),
    ("function response(status) error('got ' .. status) end", "script.lua:1: got 200"),
    // done, in the main thread again.
    ("function done() error('enough') end", "script.lua:1: enough"),
    (
        "function done(summary, latency)\n latency:percentile() end",
        "script.lua:2: expected number or string coercible to number, not nil",
    ),
    (
        "function setup(thread) all = thread end\nfunction done()\n all:get('print') end",
        "script.lua:3: cannot hand a function over to another thread",
    ),
];

#[test]
fn one_line_that_says_where() {
    for (script, expected) in CASES {
        let error = Run::of(script).play().expect_err(script);
        assert_eq!(&error, expected, "{script}");
    }
}

#[test]
fn a_file_that_is_not_there() {
    let error = Script::read(Path::new("no/such.lua")).expect_err("there is none");
    assert_eq!(error.to_string(), "cannot read the script no/such.lua: No such file or directory (os error 2)");
}

#[test]
fn a_thread_that_ends_too_early() {
    let mut conductor = Conductor::load(&Script::new("script.lua", ""), target()).expect("no script");
    let (handle, seat) = conductor.thread();
    drop(seat);
    assert_eq!(conductor.set_up(handle).expect_err("nobody is there").to_string(), "the thread has ended");
}

#[test]
fn threads_of_a_run_that_does_not_take_place_end() {
    let script = Script::new("script.lua", "function setup() n = (n or 0) + 1 assert(n < 2, 'enough') end");
    let mut conductor = Conductor::load(&script, target()).expect("a script without errors");
    let mut workers = Vec::new();
    let results: Vec<_> = (0..2)
        .map(|_| {
            let (handle, seat) = conductor.thread();
            workers.push(std::thread::spawn(move || seat.into_runner().is_none()));
            conductor.set_up(handle).map_err(|error| error.to_string())
        })
        .collect();
    assert_eq!(results, [Ok(()), Err("script.lua:1: enough".into())]);
    drop(conductor);
    assert!(workers.into_iter().all(|worker| worker.join().expect("no panic")));
}
