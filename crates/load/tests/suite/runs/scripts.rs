//! Scripts say what is sent, over both versions.

use std::time::{Duration, Instant};

use serow_load::{
    LoadError, Plan, Requests, Results, Run,
    script::{Script, ScriptTarget},
};

use super::{VERSIONS, plan, server::Counting};

fn scripted(text: &str, plan: Plan) -> Result<Results, LoadError> {
    let target = ScriptTarget {
        url: "http://localhost/".to_owned(),
        scheme: "http".to_owned(),
        host: "localhost".to_owned(),
        port: None,
        path: "/".to_owned(),
        method: "GET".to_owned(),
        headers: Vec::new(),
        body: None,
        arguments: Vec::new(),
        address: None,
    };
    let requests = Requests::Script(Script::new("test.lua", text), Box::new(target));
    Run::new(Plan { requests, ..plan }).run(|_| {}, |results| results)
}

#[test]
fn the_requests_of_a_script_are_sent() {
    let text = "
        local number = 0
        request = function()
            number = number + 1
            return wrk.format('POST', '/echo', nil, string.rep('x', number % 7))
        end";
    for (version, streams) in VERSIONS {
        let server = Counting::start();
        let results =
            scripted(text, Plan { threads: 1, count: Some(70), ..plan(server.tcp(), version, streams) }).unwrap();
        assert_eq!((results.requests, results.errors.all(), server.count()), (70, 0, 70), "{version:?}");
        assert_eq!(server.received(), 10 * (1 + 2 + 3 + 4 + 5 + 6), "{version:?}");
    }
}

#[test]
fn a_script_may_see_the_responses_and_stop() {
    // `done` runs where the threads' values can be asked for; an error tells what it found.
    let text = "
        local threads = {}
        function setup(thread) table.insert(threads, thread) end
        function init() seen = 0 end
        function response(status, headers, body)
            if status == 200 and body == 'Hello, World!' and headers['content-length'] == '13' then seen = seen + 1 end
            if seen == 25 then wrk.thread:stop() end
        end
        function done() error('seen ' .. threads[1]:get('seen')) end";
    for (version, _) in VERSIONS {
        let server = Counting::start();
        let plan = Plan {
            threads: 1,
            connections: 1,
            count: None,
            duration: Some(Duration::from_secs(100)),
            ..plan(server.tcp(), version, 1)
        };
        let line = scripted(text, plan).unwrap_err().to_string();
        assert!(line.ends_with("seen 25"), "{version:?}: {line}");
        assert_eq!(server.count(), 25, "{version:?}");
    }
}

#[test]
fn a_pipeline_is_sent_in_one_go() {
    let text = "
        function init()
            local requests = {}
            for path = 1, 5 do requests[path] = wrk.format(nil, '/' .. path) end
            all = table.concat(requests)
        end
        function request() return all end";
    for (version, streams) in VERSIONS {
        let server = Counting::start();
        let plan = Plan { threads: 1, count: Some(20), ..plan(server.tcp(), version, streams) };
        let results = scripted(text, plan).unwrap();
        assert_eq!((results.requests, results.errors.all(), server.count()), (100, 0, 100), "{version:?}");
    }
}

#[test]
fn delays_are_waited_for() {
    for (version, _) in VERSIONS {
        let server = Counting::start();
        let plan = Plan { threads: 1, connections: 1, count: Some(5), ..plan(server.tcp(), version, 1) };
        let results = scripted("function delay() return 40 end", plan).unwrap();
        assert_eq!(results.requests, 5, "{version:?}");
        assert!(results.elapsed >= Duration::from_millis(200), "{version:?}: {:?}", results.elapsed);
        assert!(results.latencies.most() < 40_000_000, "{version:?}: not a part of the latency");
    }
}

#[test]
fn the_end_of_a_run_does_not_wait_for_a_delay() {
    for (version, _) in VERSIONS {
        let server = Counting::start();
        let duration = Some(Duration::from_millis(200));
        let began = Instant::now();
        let plan = Plan { count: None, duration, ..plan(server.tcp(), version, 1) };
        let results = scripted("function delay() return 60000 end", plan).unwrap();
        assert_eq!((results.requests, server.count()), (0, 0), "{version:?}");
        assert!(began.elapsed() < Duration::from_secs(20), "{version:?}");
    }
}

#[test]
fn mistakes_end_the_run() {
    for (text, expected) in [
        ("function request() return nil end", "test.lua"),
        ("function request() return 'nonsense\\r\\n\\r\\n' end", "the script's request cannot be sent: "),
        ("function init() error('no') end", "test.lua:1: no"),
        ("function request(", "test.lua:1: "),
    ] {
        for (version, streams) in VERSIONS {
            let server = Counting::start();
            let line = scripted(text, plan(server.tcp(), version, streams)).unwrap_err().to_string();
            assert!(line.contains(expected), "{version:?} {text}: {line}");
        }
    }
}
