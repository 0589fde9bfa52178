//! The API table by table: what scripts find, in their own words; and what becomes of what they do.

use bytes::Bytes;

use super::{
    samples::parts,
    stage::{Run, results, target},
};

/// Calls of `wrk.format`, each with the first line, the fields in order of the alphabet, and the body.
const FORMATS: &[(&str, &str)] = &[
    ("", "GET /path?query HTTP/1.1|A: 1|Host: 127.0.0.1:8080||"),
    ("nil, '/other'", "GET /other HTTP/1.1|A: 1|Host: 127.0.0.1:8080||"),
    ("'PUT', '/', nil, 'text'", "PUT / HTTP/1.1|A: 1|Content-Length: 4|Host: 127.0.0.1:8080||text"),
    ("'POST', '/', nil, ''", "POST / HTTP/1.1|A: 1|Content-Length: 0|Host: 127.0.0.1:8080||"),
    ("'POST', '/', nil, 12", "POST / HTTP/1.1|A: 1|Content-Length: 2|Host: 127.0.0.1:8080||12"),
    ("'GET', '/', {}", "GET / HTTP/1.1|Host: 127.0.0.1:8080||"),
    ("'GET', '/', { B = 2, C = true, D = 0.5 }", "GET / HTTP/1.1|B: 2|C: true|D: 0.5|Host: 127.0.0.1:8080||"),
    ("'GET', 5, { [7] = 'seven' }", "GET 5 HTTP/1.1|7: seven|Host: 127.0.0.1:8080||"),
    ("'GET', '/', { Host = 'other' }", "GET / HTTP/1.1|Host: other||"),
    ("'GET', '/', { hOST = 'other' }", "GET / HTTP/1.1|hOST: other||"),
    ("'GET', '/', { ['content-LENGTH'] = 9 }", "GET / HTTP/1.1|Host: 127.0.0.1:8080||"),
    ("'GET', '/', { ['Content-Length'] = 9 }, 'a'", "GET / HTTP/1.1|Content-Length: 1|Host: 127.0.0.1:8080||a"),
    ("false, false, false, false", "GET /path?query HTTP/1.1|A: 1|Host: 127.0.0.1:8080||"),
    ("'GET', '/', {}, 'a\\0\\255\\r\\n'", "GET / HTTP/1.1|Content-Length: 5|Host: 127.0.0.1:8080||a\0\u{fffd}\r\n"),
];

/// Scripts that find out themselves whether all is as it should be.
const SCRIPTS: &[(&str, &str)] = &[
    (
        "the table wrk",
        "assert(wrk.scheme == 'http' and wrk.host == '127.0.0.1' and wrk.port == '8080' and wrk.method == 'GET')
        assert(wrk.path == '/path?query' and wrk.body == nil and wrk.headers.A == '1' and wrk.thread == nil)
        assert(not wrk.headers.Host)
        function init() assert(wrk.headers.Host == '127.0.0.1:8080' and wrk.headers.host) end",
    ),
    (
        "LuaJIT's dialect",
        "assert(jit and _VERSION == 'Lua 5.1' and bit.band(7, 10) == 2 and require('bit') == bit)
        assert(string.format('%d', 1.5) == '1' and loadstring('return 0x10')() == 16)
        goto past
        error('not past')
        ::past::
        assert(not pcall(require, 'ffi'))",
    ),
    (
        "where a script is",
        "local here = debug.getinfo(1, 'Sl')
        assert(here.source == '@script.lua' and here.short_src == 'script.lua' and here.currentline == 1)
        local function named() return debug.getinfo(1).name, 1 end
        assert(named() == 'named')
        assert(debug.getinfo(named).linedefined == 3 and debug.getinfo(print).what == 'C' and not debug.getinfo(99))
        local _, message = xpcall(function() error('oh') end, debug.traceback)
        assert(message:match('^script.lua:6: oh\\nstack traceback:\\n'))
        assert(debug.traceback(named) == named)",
    ),
    (
        "fields in any spelling",
        "wrk.headers['X-Name'] = 'a'
        assert(wrk.headers['x-name'] == 'a' and rawget(wrk.headers, 'X-Name') == 'a')
        wrk.headers['x-NAME'] = 'b'
        assert(wrk.headers['X-Name'] == 'b' and rawget(wrk.headers, 'x-NAME') == nil)
        wrk.headers['x-name'] = nil
        assert(rawget(wrk.headers, 'X-Name') == nil and wrk.headers[1] == nil)",
    ),
    (
        "tables of the caller remain as they are",
        "function init()
            local mine = { ['X-A'] = 1 }
            wrk.format('POST', '/', mine, 'body')
            local count = 0
            for _ in pairs(mine) do count = count + 1 end
            assert(count == 1)
            wrk.format('POST', '/', nil, 'body')
            assert(wrk.headers['Content-Length'] == nil)
        end",
    ),
    (
        "arguments of init",
        "function init(args)
            assert(args[0] == 'http://127.0.0.1:8080/path?query' and args[1] == 'one' and args[2] == 'two' and #args == 2)
        end",
    ),
    (
        "the request that does not change",
        "function init() assert(not wrk.request) wrk.path = '/late' end
        function request() assert(wrk.request():match('^GET /late ') and wrk.request() == wrk.format()) return 'text' end",
    ),
    (
        "addresses",
        "local addresses = wrk.lookup('127.0.0.1', 'http')
        assert(#addresses == 1 and tostring(addresses[1]) == '127.0.0.1:80' and type(addresses[1]) == 'userdata')
        assert(tostring(wrk.lookup('127.0.0.1', 81)[1]) == '127.0.0.1:81')
        assert(tostring(wrk.lookup('::1', '82')[1]) == '[::1]:82')
        assert(wrk.lookup('127.0.0.1', 'http')[1] == addresses[1] and wrk.lookup('127.0.0.1', '1')[1] ~= addresses[1])
        assert(wrk.connect(wrk.lookup('127.0.0.1', 1)[1]) == false)",
    ),
    (
        "values on their way to a thread and back",
        "local threads = {}
        function setup(thread)
            table.insert(threads, thread)
            thread:set('n', 1.5) thread:set('s', 'a\\0b') thread:set('no', false) thread:set('gone', nil)
            thread:set('t', { 1, 'two', { deep = { true } }, [2.5] = 'x', [false] = 'y' })
            thread:set('big', ('x'):rep(100000))
            assert(thread:get('n') == 1.5 and thread:get('s') == 'a\\0b' and thread:get('no') == false)
            assert(thread:get('nothing') == nil and #thread:get('big') == 100000)
            local t = thread:get('t')
            assert(t[1] == 1 and t[2] == 'two' and t[3].deep[1] == true and t[2.5] == 'x' and t[false] == 'y')
            t[1] = 'changed here'
            assert(thread:get('t')[1] == 1)
            -- Threads that were set up before can be reached as well.
            threads[1]:set('last', #threads)
        end
        gone = 'not yet'
        function init()
            assert(n == 1.5 and s == 'a\\0b' and no == false and gone == nil and t[3].deep[1])
            wrk.thread:set('own', { 1 })
            assert(own[1] == 1 and wrk.thread:get('own')[1] == 1 and wrk.thread:get('n') == 1.5)
        end
        function request() made = (made or 0) + 1 return wrk.request() end
        function done()
            assert(threads[1]:get('last') == 2 and threads[1]:get('made') == 3 and threads[2]:get('made') == 3)
            threads[2]:set('late', 'yes')
            assert(threads[2]:get('late') == 'yes' and threads[1]:get('late') == nil)
        end",
    ),
    (
        "the address of a thread",
        "function setup(thread)
            assert(tostring(thread.addr) == '127.0.0.1:8080' and thread.unknown == nil)
            thread.addr = wrk.lookup('127.0.0.1', 81)[1]
            assert(tostring(thread.addr) == '127.0.0.1:81')
        end
        function init()
            assert(tostring(wrk.thread.addr) == '127.0.0.1:81')
            wrk.thread.addr = wrk.lookup('127.0.0.1', 82)[1]
        end
        function request() assert(tostring(wrk.thread.addr) == '127.0.0.1:82') return 'text' end",
    ),
    (
        "responses",
        "local kept
        function response(status, headers, body)
            assert(status == 201 and body == 'a\\0b' and headers['Set-Cookie'] == 'b=2' and headers['set-cookie'] == 'b=2')
            assert(headers['X-Empty'] == '' and headers.None == nil and next(headers))
            headers['X-Empty'] = 'changed'
            assert(kept ~= headers)
            kept = headers
        end",
    ),
    (
        "functions that change while it runs",
        "function request() request = second return 'first' end
        function second() request = nil return 'second' end
        local seen = 0
        function response() seen = seen + 1 response = nil end
        function delay() delay = nil return 1 end",
    ),
    (
        "a coroutine that makes requests",
        "request = coroutine.wrap(function() for i = 1, 3 do coroutine.yield(wrk.format(nil, '/' .. i)) end end)",
    ),
    (
        "results",
        "function done(summary, latency, requests)
            assert(summary.duration == 2000000 and summary.requests == 4 and summary.bytes == 400)
            local errors = summary.errors
            assert(errors.connect == 1 and errors.read == 7 and errors.write == 3 and errors.timeout == 4)
            assert(errors.status == 6)
            local function about(value, wanted)
                assert(math.abs(value - wanted) <= wanted / 1000, value)
            end
            about(latency.min, 1000) about(latency.max, 10000) about(latency.mean, 3750) about(latency.stdev, 3631.46)
            about(latency:percentile(50), 2000) about(latency:percentile(99.9), 10000) about(latency:percentile(0), 1000)
            assert(#latency == 3 and latency.unknown == nil)
            local total = 0
            for i = 1, #latency do
                local value, count = latency(i)
                assert(value % 1 == 0)
                total = total + count
            end
            assert(total == 4 and latency(4) == 0 and latency(0) == 0 and latency(-1) == 0)
            assert(requests.min == 100 and requests.max == 300 and requests.mean == 200 and #requests == 2)
            local value, count = requests(2)
            assert(value == 300 and count == 1 and type(latency) == 'userdata')
        end",
    ),
];

#[test]
fn formats() {
    for (arguments, expected) in FORMATS {
        let script = format!("function request() return wrk.format({arguments}) end");
        let mut run = Run::of(&script);
        run.target.headers = vec![("A".into(), "1".into())];
        let (head, body) = parts(&run.play().expect(&script)[0].requests[0]);
        assert_eq!(format!("{}||{body}", head.join("|")), *expected, "{arguments}");
    }
}

#[test]
fn scripts_that_check_themselves() {
    for (name, script) in SCRIPTS {
        let mut run = Run::of(script);
        run.target.headers = vec![("A".into(), "1".into())];
        run.target.arguments = vec!["one".into(), "two".into()];
        run.answer = |_| (201, vec![("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Empty", "")], b"a\0b");
        let result = run.play_with(&results());
        assert!(result.is_ok(), "{name}: {}", result.err().unwrap_or_default());
    }
}

#[test]
fn requests_have_the_method_headers_and_body_of_the_command_line() {
    let mut run = Run::of("");
    run.target.method = "POST".into();
    run.target.body = Some(Bytes::from_static(b"a\0b"));
    run.target.headers = vec![("X".into(), "1".into()), ("host".into(), "name".into()), ("X".into(), "2".into())];
    let (head, body) = parts(&run.play().expect("no script")[1].requests[2]);
    assert_eq!(head, ["POST /path?query HTTP/1.1", "Content-Length: 3", "X: 2", "host: name"]);
    assert_eq!(body, "a\0b");
}

#[test]
fn the_host_of_the_url() {
    for (host, port, expected) in [
        ("name", None, "Host: name"),
        ("name", Some("80"), "Host: name:80"),
        ("::1", None, "Host: [::1]"),
        ("::1", Some("8080"), "Host: [::1]:8080"),
    ] {
        let mut run = Run::of("");
        (run.target.host, run.target.port) = (host.into(), port.map(str::to_owned));
        assert_eq!(parts(&run.play().expect("no script")[0].requests[0]).0[1], expected);
    }
}

#[test]
fn requests_change_when_the_script_has_others() {
    let script = "function request() request = nil return 'first' end function init() wrk.path = '/fixed' end";
    let played = Run::of(script).play().expect("a script without errors");
    let first_lines: Vec<_> =
        played[0].requests.iter().map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    assert_eq!(first_lines[0], "first");
    assert!(first_lines[1].starts_with("GET /fixed ") && first_lines[1] == first_lines[2]);
}

#[test]
fn delays() {
    for (delay, milliseconds) in
        [("10", 10.0), ("0.5", 0.5), ("'20'", 20.0), ("-3", 0.0), ("nil", 0.0), ("1e3", 1000.0)]
    {
        let played = Run::of(&format!("function delay() return {delay} end")).play().expect(delay);
        assert_eq!(played[0].delays[2].as_secs_f64() * 1000.0, milliseconds, "{delay}");
    }
}

#[test]
fn a_thread_that_is_stopped_before_it_begins() {
    let script = "local n = 0 function setup(thread) n = n + 1 if n == 1 then thread:stop() end end";
    let made = Run::of(script).play().expect("a script without errors");
    assert_eq!(made.iter().map(|played| played.requests.len()).collect::<Vec<_>>(), [0, 3]);
}

#[test]
fn without_a_tcp_address() {
    let mut run = Run::of("function setup(thread) assert(thread.addr == nil) end");
    run.target = serow_load::script::ScriptTarget { address: None, ..target() };
    assert_eq!(run.play().expect("a script without errors")[0].address, None);
}
